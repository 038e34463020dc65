"""Folders with odd names: refused by name before anything runs, where the interpreter lies in them."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from copies import ROOT, environment, snakemake

ODD = ["a b", "a'b", "a {x}", "a\tb", "a`touch P`", "x $(touch P)", "a;touch P"]
TOUCHED = "P"


@pytest.mark.parametrize("name", ["a b", "x $(touch P)"])  # test_interpreter.py has every character
def test_snakemake_is_refused(clone: Path, tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    folder.mkdir()
    (folder / ".venv").symlink_to(sys.prefix)
    run = subprocess.run(
        [str(folder / ".venv/bin/python"), "-m", "snakemake", "--cores", "1", "summary"],
        cwd=clone,
        env=environment(clone),
        capture_output=True,
        text=True,
    )
    assert run.returncode != 0
    assert "without quotes" in run.stderr and repr(name)[1:-1] in run.stderr
    assert "Traceback" not in run.stderr
    assert not list(tmp_path.rglob(TOUCHED)) and not (clone / "results").exists()


def test_braces_are_refused_wherever_the_interpreter_lies(clone: Path) -> None:
    folder = clone.rename(clone.parent / "a {x}")
    run = snakemake(folder, "--cores", "1", "summary")
    assert run.returncode != 0
    assert "a {x}" in run.stdout and "for names to fill in" in run.stdout
    assert "Traceback" not in run.stdout and not (folder / "results").exists()


def targets() -> list[str]:
    """Return the Makefile's targets that need the environment, which is all but those that no job is started for."""
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    every = re.search(r"^\.PHONY: (.*)$", text, flags=re.MULTILINE)
    assert every
    return sorted(set(every.group(1).split()) - {"clean", "lock", "paper"})


def refused(folder: Path, target: str, *more: str) -> str:
    """Let make refuse a target in a copy that has no environment yet; return what it says."""
    shutil.copytree(
        ROOT / "sparcl", folder / "sparcl", ignore=shutil.ignore_patterns("__pycache__")
    )
    shutil.copytree(ROOT / "requirements", folder / "requirements")
    for file in ("Makefile", "params.yaml", "pyproject.toml"):
        shutil.copy(ROOT / file, folder)
    before = set(folder.iterdir())
    # as a person calls it, whose shell knows of no `make test` above
    outside = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}
    run = subprocess.run(
        ["make", target, f"PYTHON={sys.executable}", *more],
        cwd=folder,
        env=outside | {"PYTHONPATH": "", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
    )
    assert run.returncode != 0 and run.stdout == ""
    assert set(folder.iterdir()) == before and "Nothing has run" in run.stderr
    return run.stderr


@pytest.mark.parametrize("name", ODD)
def test_make_is_refused_before_it_installs(tmp_path: Path, name: str) -> None:
    said = refused(tmp_path / name, "results")
    assert ("names to fill in" if "{" in name else "without quotes") in said
    assert repr(name)[1:-1] in said and not list(tmp_path.rglob(TOUCHED))


@pytest.mark.parametrize("target", targets())
def test_every_target_is_refused(tmp_path: Path, target: str) -> None:
    assert "a b's ü" in refused(tmp_path / "a b's ü", target)


def test_braces_are_refused_before_make_installs_elsewhere(tmp_path: Path) -> None:
    elsewhere = tmp_path / "environment"
    said = refused(tmp_path / "a b's {x} ü", "results", f"VENV={elsewhere}")
    assert "names to fill in" in said and not elsewhere.exists()


def test_an_environment_elsewhere_is_what_counts(tmp_path: Path) -> None:
    folder = tmp_path / "a b's ü"
    folder.mkdir()
    run = subprocess.run(
        [sys.executable, "-m", "sparcl.pipeline.interpreter", str(tmp_path / "venv/bin/python")],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert (run.returncode, run.stderr) == (0, "")
