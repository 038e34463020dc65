"""Folders with odd names: refused by name before anything runs, where the interpreter lies in them."""

import os
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


@pytest.mark.parametrize("name", ODD)
def test_make_is_refused_before_it_installs(tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    shutil.copytree(ROOT / "sparcl", folder / "sparcl")
    shutil.copytree(ROOT / "requirements", folder / "requirements")
    for file in ("Makefile", "params.yaml", "pyproject.toml"):
        shutil.copy(ROOT / file, folder)
    run = subprocess.run(
        ["make", "results", f"PYTHON={sys.executable}"],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": ""},
        capture_output=True,
        text=True,
    )
    assert run.returncode != 0
    assert "without quotes" in run.stderr and repr(name)[1:-1] in run.stderr
    assert not list(tmp_path.rglob(TOUCHED)) and not (folder / ".venv").exists()
