"""Any label that the settings allow prints everywhere; another is refused by its character."""

import re
from pathlib import Path

import pytest
from copies import ROOT
from docutils.core import publish_parts
from jinja2 import Template
from matplotlib.font_manager import FontProperties, findfont, get_font

from drawing.conftest import METHODS, compared
from drawing.test_figures import overlapping
from figures import main_table, render, sessions, style
from figures.markup import escape, markdown
from sparcl.base.errors import InputError
from study.pipeline.configuration import read
from study.pipeline.problems import malformed
from study.report.letters import LATEX, unprintable

AWKWARD = ["α of P(y|x)", "$1-$2 & 50%", "Müller_x #1 ~ {a} ^", "σ² ≤ 3 *bold* _it_ \\alpha"]


def test_latex_is_ascii_and_the_font_has_every_character() -> None:
    assert len(LATEX) > 150
    assert [c for c, latex in LATEX.items() if not latex.isascii()] == []
    face = get_font(findfont(FontProperties(family=style.SETTINGS["font.family"])))
    assert [c for c in LATEX if face.get_char_index(ord(c)) == 0] == []


def test_no_mark_of_latex_is_left() -> None:
    for text in AWKWARD:
        bare = re.sub(r"\$\\?[a-zA-Z^{} 0-9-]+\$|\\[a-zA-Z]+\{\}|\\.(\{\w?\})?", "", escape(text))
        assert not set(bare) & set("&%$#_{}\\~^|"), (text, escape(text))


def test_a_cell_of_markdown_stays_one_cell() -> None:
    assert markdown("P(y|x)") == r"P(y\|x)"
    assert markdown("$1-$2") == r"\$1-\$2"
    assert markdown("A_bar, _it_") == r"A_bar, \_it\_"
    assert markdown("A&B, &lt; and 1 < 2") == "A&B, &amp;lt; and 1 &lt; 2"


def test_a_figure_writes_dollars_as_they_are(tmp_path: Path, frames: dict, options: dict) -> None:
    told = options | {
        "methods": {m: {"label": t, "short": t} for m, t in zip(METHODS, AWKWARD, strict=True)}
    }
    figure = sessions.draw(compared(frames), style.literal(told))
    for ax in figure.axes:
        for text in ax.texts:
            # what is left after the escaped ones opens no formula
            assert text.get_text().replace(r"\$", "").count("$") == 0
    written = [text.get_text() for text in figure.axes[0].texts]
    assert [text for text in written if r"\$1-\$2 & 50%" in text]
    assert overlapping(figure) == []
    given = [tmp_path / "sessions.csv", tmp_path / "differences.csv"]
    for path in given:
        compared(frames)[path.stem].to_csv(path, index=False)
    render("figure", "sessions", given, told, [tmp_path / "sessions.png"])
    assert (tmp_path / "sessions.png").stat().st_size > 10_000


def test_a_table_keeps_its_columns(frames: dict, options: dict) -> None:
    told = options | {
        "methods": {m: {"label": t, "short": t} for m, t in zip(METHODS, AWKWARD, strict=True)},
        "caption": "{suite}, 100% α",
    }
    made = main_table.texts(frames, told)
    rows = [line for line in made[".md"].splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {4}
    assert made[".tex"].isascii()
    assert r"$\alpha$ of P(y\textbar{}x)" in made[".tex"]


@pytest.mark.parametrize("kind", ["figure", "table"])
def test_a_caption_of_the_report_keeps_every_letter(kind: str, options: dict) -> None:
    source = (ROOT / f"workflow/report/{kind}.rst").read_text(encoding="utf-8")
    told = options | {"orders": 3, "caption": "Of {suite}: *x* |y| z_ \\a."}
    told["backbones"] = {"net": {"label": AWKWARD[0]}, "other": {"label": AWKWARD[3]}}
    job = {"params": {"options": told}, "wildcards": {"suite": "toy", kind: "some"}}
    text = Template(source).render(snakemake=job)
    settings = {"report_level": 1, "halt_level": 1}
    page = publish_parts(text, writer="html", settings_overrides=settings)["body"]
    shown = re.sub("<[^>]*>", "", page)
    said_of = {"figure": ["*x* |y| z_ \\a."], "table": [AWKWARD[0], AWKWARD[3]]}
    for said in said_of[kind]:
        assert said in shown, shown


def test_another_character_is_refused_by_name() -> None:
    assert unprintable("Zoë 猫 猫 ☃") == ["猫", "☃"]
    with pytest.raises(InputError, match=r"U\+732B CJK UNIFIED IDEOGRAPH-732B.*in words"):
        escape("cat 猫")
    config = read(ROOT)
    config["methods"]["ncm"]["label"] = "Mean ☃"
    (found,) = malformed(config)
    assert "ncm.label" in found and "'☃' (U+2603 SNOWMAN)" in found
    config["methods"]["ncm"]["label"] = AWKWARD[0]
    assert [*malformed(config)] == []
