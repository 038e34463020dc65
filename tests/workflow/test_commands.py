"""Commands in the documents: each is one that make, snakemake or dvc takes, or it is run elsewhere.

`python -m sparcl` is parsed here and run by tests/app/test_cli.py, page docs/command-line.md; the remote of
docs/remote.md by test_remote.py; the benchmarks by tests/packaging/test_benchmarks.py.
"""

import ast
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

from copies import ROOT

from sparcl.app import cli

PAGES = [
    "README.md",
    *(
        page.relative_to(ROOT).as_posix()
        for page in sorted((ROOT / "docs").glob("*.md"))
        if page.name != "adding.md"  # test_adding.py carries that one out
    ),
]
BLOCK = re.compile(r"^ *```(?:sh)?\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`([^`]+)`")
PROGRAMS = ("make", "snakemake", "dvc", "python")
# What stands for somebody's own suite or data set.
OWN = {"my-suite": "toy", "mybirds": "toy", "<suite>": "toy", "my-data": "features"}


def commands() -> list[tuple[str, str]]:
    """Return page and command of every command line."""
    found = []
    for page in PAGES:
        text = (ROOT / page).read_text(encoding="utf-8")
        lines = [line for block in BLOCK.findall(text) for line in block.splitlines()]
        rest = re.sub(r"^ *```.*?^ *```", "", text, flags=re.MULTILINE | re.DOTALL)
        for line in [*lines, *INLINE.findall(rest)]:
            command = " ".join(line.partition("#")[0].split())
            if command.partition(" ")[0] in PROGRAMS and " " in command:
                found.append((page, command))
    return sorted(set(found))


def of(program: str) -> list[str]:
    """Return the commands of one program, once each, with placeholders filled in."""
    lines = {command for _, command in commands() if command.startswith(f"{program} ")}
    for placeholder, stand_in in OWN.items():
        lines = {line.replace(placeholder, stand_in) for line in lines}
    return sorted(lines)


def test_the_pages_hold_commands() -> None:
    assert all(len(of(program)) > 2 for program in PROGRAMS)
    assert "make results" in of("make")


def test_make_has_the_target(pristine: Path) -> None:
    for line in of("make"):
        command = ["make", "--dry-run", *shlex.split(line)[1:]]
        plan = subprocess.run(command, cwd=pristine, capture_output=True, text=True)
        assert plan.returncode == 0, f"{line}: {plan.stderr}"


def test_snakemake_takes_it(loaded: dict[str, Any]) -> None:
    """Options, targets, suite and profile exist; test_plan.py and test_cluster.py plan them."""
    from snakemake.cli import get_argument_parser

    files = [ROOT / "Snakefile", *ROOT.glob("workflow/rules/*.smk")]
    text = "".join(path.read_text(encoding="utf-8") for path in files)
    rules = set(re.findall(r"^rule (\w+):", text, re.MULTILINE))
    parser = get_argument_parser()
    for line in of("snakemake"):
        chosen = parser.parse_args(shlex.split(line)[1:])
        assert {*(chosen.targets or [])} <= rules, line
        named = [entry.partition("=")[2] for entry in chosen.config or [] if "suite=" in entry]
        assert {*named} <= {*loaded["suites"]}, line
        for profile in chosen.profile or []:
            assert (ROOT / profile / "config.yaml").is_file(), line


def test_dvc_takes_it() -> None:
    from dvc.cli import parse_args

    for line in of("dvc"):
        assert parse_args(shlex.split(line)[1:]).func is not None, line


def test_python_finds_it() -> None:
    for line in of("python"):
        words = shlex.split(line)[1:]
        if words[:2] == ["-m", "sparcl"]:
            if len(words) > 2:
                cli._parser().parse_args(words[2:])  # exits where it does not take them
            continue
        module = words[-1 if len(words) == 1 else 1].replace(".", "/")
        folder = "workflow" if module.startswith("study/") else "."
        package = ROOT / folder / module / "__main__.py"
        script = ROOT / words[0] if words[0] != "-m" else ROOT / folder / f"{module}.py"
        script = package if package.is_file() else script
        assert ast.get_docstring(ast.parse(script.read_text(encoding="utf-8"))), line
