"""paper/report.tex holds what its suites draw, and `make paper` says what is missing."""

import re
import shutil
import subprocess
from pathlib import Path

from sparcl.pipeline.configuration import load

ROOT = Path(__file__).resolve().parents[2]
REPORT = (ROOT / "paper/report.tex").read_text(encoding="utf-8")
PARAMS = load(ROOT)
WHOLE = ["bundled", *(name for name, block in PARAMS["suites"].items() if "group" in block)]


def drawn(suite: str) -> set[tuple[str, str, str]]:
    block = PARAMS["suites"][suite]
    defaults = {"tables": ["main"], "figures": ["dilution", "drift", "sessions"]}
    return {
        (kind.removesuffix("s"), suite, name)
        for kind, names in defaults.items()
        for name in block.get(kind, names)
    }


def included() -> list[tuple[str, str, str]]:
    return re.findall(
        r"^\\suite(table|figure)\{([a-z-]+)\}\{([a-z-]+)\}", REPORT, flags=re.MULTILINE
    )


def test_all_that_its_suites_draw_is_included_once() -> None:
    shown = included()
    assert len(shown) == len({*shown})
    for suite in WHOLE:
        assert drawn(suite) <= {*shown}, suite
    for item in shown:
        assert item in drawn(item[1]), item


def test_captions_of_figures_state_suite_orders_and_backbone() -> None:
    captions = re.findall(
        r"^\\suitefigure\{([a-z-]+)\}\{[a-z-]+\}\{([^}]*)\}", REPORT, re.MULTILINE
    )
    figures = [item for item in included() if item[0] == "figure"]
    assert len(captions) == len(figures) > 3
    said = dict(re.findall(r"\\newcommand{\\([a-z]+)}{(.*)}", REPORT))
    for suite, caption in captions:
        assert caption.startswith(f"Suite {suite}, ") and "class order" in caption
        (macro,) = [name for name in said if rf"\{name}" in caption]
        block = PARAMS["suites"][suite]
        for kind in ("datasets", "backbones"):
            for name in block[kind]:
                assert PARAMS[kind][name]["label"] in said[macro], (suite, name)


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
    assert len(calls) == 2 and all(call.endswith("report.tex") for call in calls)
    latex.write_text('#!/bin/sh\necho "! Undefined control sequence."\nexit 1\n', encoding="utf-8")
    failed = make_paper(tmp_path, f"PDFLATEX={latex}")
    assert failed.returncode != 0 and "! Undefined control sequence." in failed.stderr
