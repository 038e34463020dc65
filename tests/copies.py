"""Copies of the project in other folders, and snakemake in them."""

import copy
import functools
import os
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import warm
import yaml

from study.pipeline import configuration

ROOT = Path(__file__).resolve().parents[1]
STAMP = ".snakemake_timestamp"  # Snakemake's, in folders that jobs make
TOY = ("all", "--config", "suite=toy")


@functools.cache
def loaded() -> dict[str, Any]:
    """Return all settings of the project, read once: for reading alone."""
    return configuration.load(ROOT)


def in_git() -> list[Path]:
    """Return the project's files that git tracks, or would track."""
    names = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split("\0")
    return [path for name in names if name and (path := ROOT / name).is_file()]


def copy_project(folder: Path) -> Path:
    """Copy what git tracks, or would track, as a fresh clone has it; feature files are linked.

    The outputs in paper/ stay behind, and so do the tests.
    """
    for source in in_git():
        name = source.relative_to(ROOT).as_posix()
        if not name.startswith(("paper/", "tests/")):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            if name.endswith(".h5"):
                (folder / name).symlink_to(source)
            else:
                shutil.copy2(source, folder / name, follow_symlinks=False)
    return folder


def duplicate(folder: Path, target: Path) -> Path:
    """Copy a copy with its file times and whatever has run in it."""
    return Path(shutil.copytree(folder, target, symlinks=True))


def command(*arguments: str) -> list[str]:
    """Return the command line that runs snakemake in this environment."""
    return [sys.executable, "-m", "snakemake", *arguments]


def environment(folder: Path, **changes: str) -> dict[str, str]:
    """Return an environment in which the code of ``folder`` is what Python imports."""
    return os.environ | {"PYTHONPATH": f"{folder}{os.pathsep}{folder / 'workflow'}"} | changes


def stand_in(venv: Path, python: str) -> None:
    """Let a folder pass for an environment that make has set up, with an interpreter from elsewhere."""
    script = venv / "bin/python"
    script.parent.mkdir(parents=True, exist_ok=True)
    script.write_text(f'#!/bin/sh\nexec "{python}" "$@"\n', encoding="utf-8")
    script.chmod(0o755)
    for stamp in ("core", "all"):
        (venv / stamp).touch()


def programs() -> str:
    """Return a PATH on which `python` and `snakemake` are those of this environment."""
    return os.pathsep.join([os.fspath(warm.folder()), sys.prefix + "/bin", os.environ["PATH"]])


def snakemake(folder: Path, *arguments: str, **changes: str) -> subprocess.CompletedProcess[str]:
    """Run snakemake in a folder, on that folder's code; stdout and stderr come together.

    ``changes`` are variables of its environment.
    """
    return subprocess.run(
        [warm.python(), "-m", "snakemake", *arguments],
        cwd=folder,
        env=environment(folder, **changes),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )


def git(folder: Path, *arguments: str) -> str:
    """Run git in a folder and return what it prints."""
    settings = ("-c", "user.name=Test", "-c", "user.email=test@example.org", "-c", "gc.auto=0")
    return subprocess.run(
        ["git", *settings, *arguments], cwd=folder, capture_output=True, text=True, check=True
    ).stdout


def dvc(folder: Path, *arguments: str, show: bool = True, **changes: str) -> str:
    """Run dvc in a folder, on that folder's code, and return what it prints (``show``: errors too).

    ``changes`` are variables of its environment.

    Raises
    ------
    RuntimeError
        When it fails; with its output.
    """
    someone = {"NAME": "Test", "EMAIL": "test@example.org"}
    roles = {f"GIT_{r}_{key}": v for r in ("AUTHOR", "COMMITTER") for key, v in someone.items()}
    run = subprocess.run(
        [warm.python(), "-m", "dvc", *arguments],
        cwd=folder,
        env=environment(folder, PATH=programs(), **roles, **changes),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if show else subprocess.PIPE,
        text=True,
        errors="replace",
    )
    if run.returncode:
        raise RuntimeError(f"{run.stdout}\n{run.stderr or ''}")
    return run.stdout


def commit_all(folder: Path, message: str) -> None:
    """Commit everything that git does not ignore."""
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", message)


def clone_of(folder: Path, target: Path) -> Path:
    """Clone a repository as git does it."""
    git(folder, "clone", "--quiet", str(folder), str(target))
    return target


def tree(*folders: Path) -> dict[str, bytes]:
    """Return the content of all files of some folders, by their paths from each folder's parent."""
    return {
        path.relative_to(folder.parent).as_posix(): path.read_bytes()
        for folder in folders
        for path in folder.rglob("*")
        if path.is_file()
    }


def outputs(folder: Path) -> dict[str, bytes]:
    """Return everything that a run has written in ``folder``, its logs apart."""
    made = [f for f in sorted((folder / "results").iterdir()) if f.name != "logs"]
    found = tree(folder / "paper", *made)
    return {name: content for name, content in found.items() if not name.endswith(STAMP)}


def planned(folder: Path, *arguments: str, **changes: str) -> dict[str, set[str]]:
    """Return the rules that snakemake would run, each with the methods, figures or tables."""
    plan = snakemake(folder, "--dry-run", "--cores", "1", *(arguments or TOY), **changes)
    if plan.returncode:
        raise RuntimeError(plan.stdout)
    return jobs_of(plan.stdout)


def jobs_of(said: str) -> dict[str, set[str]]:
    """Return the rules of the jobs that snakemake names, each with the methods, figures or tables."""
    jobs: defaultdict[str, set[str]] = defaultdict(set)
    for rule, text in re.findall(r"^(?:local)?rule (\w+):\n((?: .*\n)*)", said, flags=re.MULTILINE):
        names = re.search(r"wildcards: .*\b(?:method|figure|table)=([\w-]+)", text)
        jobs[rule].add(names.group(1) if names else "")
    jobs.pop("all", None)
    return dict(jobs)


def number_of_jobs(said: str) -> dict[str, int]:
    """Return how many jobs snakemake names, by rule."""
    return {rule: int(n) for rule, n in re.findall(r"^(\w+) +(\d+)$", said, re.MULTILINE)}


@contextmanager
def edited(path: Path, *changes: tuple[str, str]) -> Iterator[None]:
    """Replace texts in a file for a while, each where it stands first; the file's time moves on."""
    before = text = path.read_text(encoding="utf-8")
    for old, new in changes:
        if old not in text:
            raise ValueError(f"{path.name} does not contain {old!r}")
        text = text.replace(old, new, 1)
    path.write_text(text, encoding="utf-8")
    try:
        yield
    finally:
        path.write_text(before, encoding="utf-8")


def edit_params(folder: Path, change: Any) -> None:
    """Load a copy's params.yaml and catalogues as one mapping, let ``change`` work on it, write back what changed."""
    files = [folder / "params.yaml", *sorted((folder / "config").glob("*.yaml"))]
    files += sorted((folder / "config/suites").glob("*.yaml"))
    before = {file: yaml.safe_load(file.read_text(encoding="utf-8")) for file in files}
    settings: dict[str, Any] = {"suites": {}}
    for file, content in before.items():
        if file.parent.name == "suites":
            settings["suites"][file.stem] = content
        else:
            settings |= {file.stem: content} if file.parent.name == "config" else content
    settings = copy.deepcopy(settings)
    change(settings)
    after = {folder / f"config/suites/{s}.yaml": b for s, b in settings.pop("suites").items()}
    for file in (folder / "config").glob("*.yaml"):
        after[file] = settings.pop(file.stem)
    after[folder / "params.yaml"] = settings
    for file, content in after.items():
        if content != before.get(file):
            write_yaml(file, content)


def edit_yaml(path: Path, change: Any) -> None:
    """Load a YAML file, let ``change`` work on it, and write it back."""
    tree = yaml.safe_load(path.read_text(encoding="utf-8"))
    change(tree)
    write_yaml(path, tree)


def write_yaml(path: Path, tree: Any) -> None:
    """Write a YAML file."""
    path.write_text(yaml.safe_dump(tree, sort_keys=False, allow_unicode=True), encoding="utf-8")


def leftovers(folder: Path) -> list[str]:
    """Return the files under temporary names that a run has left."""
    return [
        os.fspath(path.relative_to(folder))
        for top in ("data", "paper", "results")
        for path in (folder / top).rglob(".*")
        if path.name not in (".gitignore", STAMP)
    ]
