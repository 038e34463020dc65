"""Numbers in a Markdown text: found where a reader sees one, and written again in the same manner."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

WORDS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
SUPERSCRIPT = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
MINUS = "−"

# Code, comments, images, targets of links, and names with a number: no reader takes them for a measurement.
HIDDEN = re.compile(
    r"^```.*?^```|<!--.*?-->|`[^`\n]+`|!\[[^\]]*\]\([^)]*\)|(?<=\])\([^)\s]*\)|^ *\d+\. |https?://\S+"
    r"|\b(?:Algorithm|Appendix|Corollary|Figure|Lemma|License|Proposition|Python|Section|Table|Theorem|Version)"
    r"\s\d+(?:\.\d+)*",
    re.MULTILINE | re.DOTALL,
)
# A digit inside a name (CUB-50, ViT-B/16, float64, d^3, 3.11.7) is no number.
NUMBER = re.compile(
    rf"""(?<![\w./^])(?<!\w-)
    (?:(?P<sign>(?<![\w)])[-+{MINUS}])?
       (?P<digits>\d{{1,3}}(?:,\d{{3}})+|\d+)(?P<point>\.\d+)?(?P<power>e[-+]?\d+|[⁻⁰-⁹¹²³]+)?
       (?!\w|[.,]\d)
     |(?P<word>\b(?:{"|".join(WORDS)})\b))""",
    re.VERBOSE | re.IGNORECASE,
)

# What captions say of several class orders, filled in with one.
ALONE = re.compile(r"(?:means?(?: ± standard deviation)? over )?\b1 class orders\b")


def one_order(caption: str) -> str:
    """Return a caption that says of one class order no plural, and no mean or deviation."""
    return ALONE.sub("one class order", caption)


@dataclass(frozen=True)
class Number:
    """A number of a text: from character ``start`` to ``end``, as it is written."""

    start: int
    end: int
    text: str

    @property
    def value(self) -> float:
        """What is written, as a number."""
        found = NUMBER.fullmatch(self.text)
        assert found is not None  # noqa: S101 - `numbers` found it by this pattern
        if found["word"]:
            return float(WORDS.index(found["word"].lower()) + 2)
        size = float(found["digits"].replace(",", "") + (found["point"] or ""))
        if power := found["power"]:
            size = (
                float(f"{size}{power}")
                if power[0] == "e"
                else size ** int(power.translate(SUPERSCRIPT))
            )
        return -size if found["sign"] in ("-", MINUS) else size

    def written(self, value: float) -> str:
        """Return another value as this number is written: as a word or in digits, with as many decimals."""
        found = NUMBER.fullmatch(self.text)
        assert found is not None  # noqa: S101
        if found["power"]:
            return self.text if abs(value - self.value) <= 1e-9 * abs(value) else f"{value:.3g}"
        whole = f"{value:.0f}"
        if found["word"] and float(whole) == value and 2 <= value < len(WORDS) + 2:
            word = WORDS[int(value) - 2]
            return word.capitalize() if self.text[0].isupper() else word
        decimals = len(found["point"] or ".") - 1
        grouped = "," in self.text or abs(self.value) < 1000
        body = f"{abs(value):{',' if grouped else ''}.{decimals}f}"
        if value < 0 and float(body.replace(",", "")) > 0:
            return ("-" if found["sign"] == "-" else MINUS) + body
        return ("+" if found["sign"] == "+" else "") + body


def visible(text: str) -> str:
    """Return a text of the same length in which blanks stand for all that is no running text; lines stay."""
    return HIDDEN.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)


def numbers(seen: str, start: int = 0, end: int | None = None) -> Iterator[Number]:
    """Yield the numbers of a `visible` text between two positions."""
    for match in NUMBER.finditer(seen, start, len(seen) if end is None else end):
        yield Number(match.start(), match.end(), match[0])
