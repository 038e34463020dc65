"""Folders with odd names: refused by name before anything runs, where the interpreter lies in them."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from copies import ROOT, duplicate, snakemake, tree

WORST = "a b's {x} ü"
ODD = [WORST, "a b", "a'b", "a {x}", "a\tb", "a`touch P`", "x $(touch P)", "a;touch P"]
TOUCHED = "P"


def test_braces_are_refused_wherever_the_interpreter_lies(clone: Path) -> None:
    folder = clone.rename(clone.parent / "a {x}")
    run = snakemake(folder, "--cores", "1", "summary")
    assert run.returncode != 0
    assert "a {x}" in run.stdout and "for names to fill in" in run.stdout
    assert "Traceback" not in run.stdout and not (folder / "results").exists()


def test_make_is_refused_where_the_environment_came_along(pristine: Path, tmp_path: Path) -> None:
    """A folder that was renamed once everything was installed in it: make itself finds nothing to do there."""
    name = f"{WORST} $(touch {TOUCHED})"
    folder = duplicate(pristine, tmp_path / name)
    bundle(folder / ".venv")
    before = tree(folder)
    run = made(folder, "results", "SUITE=toy")
    said = run.stdout + run.stderr
    assert run.returncode != 0 and "Nothing has run" in said
    assert name in said and "Traceback" not in said
    assert without_notes(tree(folder)) == without_notes(before)
    assert not list(tmp_path.rglob(TOUCHED))


def without_notes(files: dict[str, bytes]) -> dict[str, bytes]:
    """Return files without what Snakemake notes for itself in a folder where it was asked anything."""
    return {path: content for path, content in files.items() if "/.snakemake/" not in path}


def bundle(venv: Path) -> None:
    """Make an environment of this one's packages, installed as the Makefile says by its stamps."""
    venv.mkdir()
    for name in ("bin", "lib", "pyvenv.cfg"):
        (venv / name).symlink_to(Path(sys.prefix) / name)
    for stamp in ("core", "all"):
        (venv / stamp).touch()


def targets() -> list[str]:
    """Return the Makefile's targets that need the environment, which is all but those that no job is started for."""
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    every = re.search(r"^\.PHONY: (.*)$", text, flags=re.MULTILINE)
    assert every
    return sorted(set(every.group(1).split()) - {"clean", "lock", "paper"})


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """Return a copy that has no environment yet."""
    folder = tmp_path / "bare"
    for code in ("sparcl", "workflow/study"):
        shutil.copytree(ROOT / code, folder / code, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "requirements", folder / "requirements")
    for file in ("Makefile", "params.yaml", "pyproject.toml"):
        shutil.copy(ROOT / file, folder)
    return folder


def refused(folder: Path, target: str, *more: str) -> str:
    """Let make refuse a target in a folder; return what it says."""
    before = set(folder.iterdir())
    # whatever make thinks of the folder, this test installs nothing
    run = made(folder, target, f"PYTHON={sys.executable}", "INSTALL=false", *more)
    assert run.returncode != 0 and run.stdout == "", target
    assert set(folder.iterdir()) == before and "Nothing has run" in run.stderr, target
    return run.stderr


def made(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Call make as a person does, whose shell knows of no `make test` above."""
    outside = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}
    return subprocess.run(
        ["make", *arguments],
        cwd=folder,
        env=outside | {"PYTHONPATH": "", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
    )


def test_make_is_refused_before_it_installs(bare: Path) -> None:
    for name in ODD:
        bare = bare.rename(bare.with_name(name))
        said = refused(bare, "results")
        assert ("names to fill in" if "{" in name else "without quotes") in said
        assert repr(name)[1:-1] in said and not list(bare.parent.rglob(TOUCHED))


def test_every_target_is_refused(bare: Path) -> None:
    folder = bare.rename(bare.with_name("a b's ü"))
    for target in targets():
        assert folder.name in refused(folder, target), target


def test_braces_are_refused_before_make_installs_elsewhere(bare: Path) -> None:
    elsewhere = bare.with_name("environment")
    folder = bare.rename(bare.with_name(WORST))
    said = refused(folder, "results", "SUITE=toy", f"VENV={elsewhere}")
    assert "names to fill in" in said and not elsewhere.exists()


def test_an_environment_elsewhere_is_what_counts(tmp_path: Path) -> None:
    folder = tmp_path / "a b's ü"
    folder.mkdir()
    run = subprocess.run(
        [sys.executable, "-m", "study.pipeline.interpreter", str(tmp_path / "venv/bin/python")],
        cwd=folder,
        env=os.environ,
        capture_output=True,
        text=True,
    )
    assert (run.returncode, run.stderr) == (0, "")
