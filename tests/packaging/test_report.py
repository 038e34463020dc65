"""paper/report.tex holds what its suites draw, and `make paper` says what is missing."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from copies import ROOT, in_git, loaded

from study.pipeline import captions
from study.report.reading import read_csv

REPORT = (ROOT / "paper/report.tex").read_text(encoding="utf-8")
PARAMS = loaded()
# Tables of one suite whose every number stands in a table of several.
MERGED = {
    "long": ("long/tables/streams.csv", "T = 20"),
    "hard": ("hard/tables/orders.csv", "hard"),
    "mild": ("hard/tables/orders.csv", "mild"),
    "near-duplicate": ("near-duplicate/tables/failures.csv", "near-duplicate"),
    "saturated": ("near-duplicate/tables/failures.csv", "saturated"),
}
WHOLE = sorted(
    {path.relative_to(ROOT).parts[1] for path in in_git() if path.match("paper/*/tables/*.tex")}
)


def drawn(suite: str) -> set[tuple[str, str, str]]:
    return {
        (kind, suite, name)
        for kind in ("table", "figure")
        for name in PARAMS["suites"][suite][f"{kind}s"]
        if not name.endswith("-column")
    }


def included() -> list[tuple[str, str, str]]:
    return re.findall(r"\\suite(table|figure)(?:\[[\d.]+\])?\{([a-z0-9-]+)\}\{([a-z-]+)\}", REPORT)


def test_all_that_its_suites_draw_is_included_once() -> None:
    shown = included()
    assert len(shown) == len({*shown})
    for suite in WHOLE:
        missing = drawn(suite) - {*shown}
        assert missing == ({("table", suite, "main")} if suite in MERGED else set()), suite
    for item in shown:
        assert item in drawn(item[1]), item


def test_a_merged_table_has_every_number() -> None:
    keys = ["measure", "dataset", "method", "printed"]
    for suite, (file, words) in MERGED.items():
        whole, own = (read_csv(ROOT / "paper" / f) for f in (file, f"{suite}/tables/main.csv"))
        own["dataset"] += f", {words}"
        assert {*map(tuple, own[keys].values)} <= {*map(tuple, whole[keys].values)}, suite


def test_captions_and_findings_are_those_of_the_settings() -> None:
    """`python -m study.pipeline.captions` writes them."""
    written = (ROOT / "paper/captions.tex").read_text(encoding="utf-8")
    assert captions.latex(PARAMS, ROOT) == written
    for kind, suite, name in included():
        if kind == "figure":
            assert rf"\csname caption:{suite}:{name}\endcsname" in written
            assert f"fig:{suite}:{name}" in re.sub(r"#2:#3", f"{suite}:{name}", REPORT)
    assert written.isascii() and written.count(r"\item ") >= 5


def test_findings_come_first_and_everything_floats() -> None:
    assert REPORT.index(r"\findings") < REPORT.index(r"\tableofcontents")
    assert REPORT.index(r"\tableofcontents") < REPORT.index(r"\suitefigure{bundled}")
    assert REPORT.index(r"\begin{abstract}") < REPORT.index(r"\findings")
    assert REPORT.index(r"\end{thebibliography}") < REPORT.index(r"\appendix")
    named = {key for keys in re.findall(r"\\cite\{(.*?)\}", REPORT) for key in keys.split(",")}
    assert named == {*re.findall(r"\\bibitem\{(.*?)\}", REPORT)}
    assert r"\input{captions}" in REPORT and "still" not in REPORT
    assert r"\begin{minipage}" not in REPORT
    # groups and environments end as they begin
    opened = re.findall(r"\\(begin|end)\{([a-z*]+)\}", REPORT)
    for name in {name for _, name in opened}:
        assert opened.count(("begin", name)) == opened.count(("end", name)), name
    bare = re.sub(r"\\[{}%]|(?m:^%.*$)", "", REPORT)
    assert bare.count("{") == bare.count("}")


def make_paper(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `make paper` on a copy of what it needs."""
    shutil.copy(ROOT / "Makefile", folder)
    shutil.copytree(ROOT / "paper", folder / "paper", dirs_exist_ok=True)
    command = ["make", "paper", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace")


def test_without_latex_it_says_what_to_install(tmp_path: Path) -> None:
    made = make_paper(tmp_path, "PDFLATEX=no-such-latex")
    assert made.returncode != 0
    assert "no-such-latex was not found" in made.stderr
    assert "texlive-latex-recommended" in made.stderr and "Traceback" not in made.stderr


def test_latex_is_run_twice_and_its_error_is_shown(tmp_path: Path) -> None:
    """A stand-in for LaTeX: the machine may have none."""
    latex = tmp_path / "latex"
    latex.write_text('#!/bin/sh\necho "$@" >>../calls\n', encoding="utf-8")
    latex.chmod(0o755)
    assert make_paper(tmp_path, f"PDFLATEX={latex}").returncode == 0
    calls = (tmp_path / "calls").read_text(encoding="utf-8").splitlines()
    assert len(calls) == 2 and all(call.endswith(r"\input{report.tex}") for call in calls)
    latex.write_text('#!/bin/sh\necho "! Undefined control sequence."\nexit 1\n', encoding="utf-8")
    failed = make_paper(tmp_path, f"PDFLATEX={latex}")
    assert failed.returncode != 0 and "! Undefined control sequence." in failed.stderr


@pytest.mark.skipif(not shutil.which("pdflatex"), reason="pdflatex is not installed")
def test_it_compiles_with_every_reference(tmp_path: Path) -> None:
    made = make_paper(tmp_path)
    assert made.returncode == 0, made.stderr
    log = (tmp_path / "paper/report.log").read_text(encoding="utf-8", errors="replace")
    said = re.sub(r"\n", "", log)  # lines are broken anywhere
    assert not re.findall(r"undefined references|multiply defined|Font shape .* undefined", said)
    assert "Output written on report.pdf" in said
    # less than two millimetres of a table
    assert all(float(points) < 5 for points in re.findall(r"Overfull \\hbox \(([\d.]+)pt", said))
