"""Numbers as a reader sees them in Markdown."""

from study.report.numerals import Number, numbers, visible


def found(text: str) -> list[str]:
    return [number.text for number in numbers(visible(text))]


def test_names_code_links_and_comments_hold_no_numbers() -> None:
    text = "CUB-50 and CIFAR-100-150, ViT-B/16, d^3, float64, 3.11.7, `x = 5`, [a](b7.md), <!-- 8 -->, ![9](10.png)"
    assert found(text) == []
    assert found("```\n12\n```\n1. 13 rows") == ["13"]


def test_numbers_of_all_kinds_are_found_whole() -> None:
    text = "in all three, 1,280 of 14 (−0.37, +0.00 ± 0.2), 95%, 1e-12 and 10⁻⁸, 18.3."
    values = [number.value for number in numbers(visible(text))]
    assert values == [3, 1280, 14, -0.37, 0, 0.2, 95, 1e-12, 1e-8, 18.3]


def test_another_value_is_written_in_the_same_manner() -> None:
    for text, value, written in (
        ("66.2", 67.04, "67.0"), ("5", 5.4, "5"), ("1,280", 2000, "2,000"), ("900", 12345, "12,345"),
        ("0.3", -0.26, "−0.3"), ("-0.3", -0.46, "-0.5"), ("+0.1", 0.24, "+0.2"), ("−0.1", -0.01, "0.0"),
        ("Three", 4, "Four"), ("three", 15, "15"), ("10⁻⁸", 1e-8, "10⁻⁸"),
    ):  # fmt: skip
        assert Number(0, len(text), text).written(value) == written
