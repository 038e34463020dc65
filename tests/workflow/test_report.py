"""The report in HTML: one file that needs no network, with captions, tables and figures by category."""

import re
import shutil
from pathlib import Path

from copies import ROOT, snakemake

DRAWN = ["paper/bundled/tables/selected.csv", "paper/bundled/figures/drift.png"]
ONLY = [*DRAWN, "--allowed-rules", "write_table", "draw_figure"]


def test_report(clone: Path) -> None:
    for folder in ("summary", "tables", "figures"):
        shutil.copytree(ROOT / f"paper/bundled/{folder}", clone / f"paper/bundled/{folder}")
    made = snakemake(clone, *ONLY, "--report", "report.html")
    assert made.returncode == 0, made.stdout
    html = (clone / "report.html").read_text(encoding="utf-8")
    assert not re.search(r"<(?:script|link|img)[^>]*(?:src|href)=\"https?:", html)
    for words in (
        "Figure drift of suite bundled.",
        "Table selected of suite bundled:",
        "in percent of their standard deviation",
        "5 class orders, 10 sessions, backbones",
        "EfficientNet-Lite0",
        "Published numbers are quoted in grey",
        "Tables",
        "Figures",
    ):
        assert words in html, words
    assert "{{" not in re.findall(r"Table selected of suite[^<]*", html)[0]
