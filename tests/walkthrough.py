"""Pages whose steps are carried out as written.

A comment on the line before a code block says what the reader does with it:

``<!-- file: PATH -->``     saves it as a new file
``<!-- append: PATH -->``   puts it at the end of an existing file
``<!-- run -->``            runs it in a shell, in the root of the repository
``<!-- skip: REASON -->``   nothing, and why

Every block has such a comment: a step that nobody tries is a step that goes stale.
"""

import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

BLOCK = re.compile(
    r"^(?P<indent> *)(?P<fence>`{3,})[^\n`]*\n(?P<text>.*?)^ *(?P=fence) *$",
    flags=re.MULTILINE | re.DOTALL,
)
MARK = re.compile(r"<!-- (?P<action>file|append|run|skip)(?:: (?P<argument>\S.*))? -->")


class PageError(Exception):
    """A step that cannot be carried out as the page states it."""


@dataclass(frozen=True)
class Step:
    """One code block, what to do with it, and where it stands (``page:line``)."""

    action: str
    argument: str
    text: str
    where: str


def steps(page: Path) -> list[Step]:
    """Return the steps of a page, in order.

    Raises
    ------
    PageError
        When a block has no mark, a mark has no block, or a mark lacks its path or reason.
    """
    content = page.read_text(encoding="utf-8")
    found, blocks = [], list(BLOCK.finditer(content))
    for block in blocks:
        where = f"{page.name}:{_line(content, block.start())}"
        before = content[: block.start()].rstrip("\n").rpartition("\n")[2]
        mark = MARK.fullmatch(before.strip())
        if mark is None:
            raise PageError(
                f"{where}: the line before this code block says nothing about what to do with it. "
                "Write <!-- file: PATH -->, <!-- append: PATH -->, <!-- run --> or "
                "<!-- skip: REASON --> there."
            )
        argument = mark["argument"] or ""
        if (mark["action"] == "run") == bool(argument):
            raise PageError(
                f"{where}: {mark[0]} is incomplete or says too much. `file` and `append` take a "
                "path, `skip` a reason, `run` nothing."
            )
        found.append(Step(mark["action"], argument, textwrap.dedent(block["text"]), where))
    prose = BLOCK.sub("", content)
    if len(MARK.findall(prose)) != len(found):
        raise PageError(f"{page.name}: a mark is not followed by a code block.")
    return found


def follow(page: Path, folder: Path) -> None:
    """Carry out the steps of a page in ``folder``, a copy of the repository.

    Raises
    ------
    PageError
        When a step fails; with its place on the page and, for a command, its output.
    """
    for step in steps(page):
        ACTIONS[step.action](step, folder)


def _save(step: Step, folder: Path) -> None:
    path = _inside(step, folder)
    if path.exists():
        raise PageError(f"{step.where}: {step.argument} exists already; `append` adds to a file.")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(step.text, encoding="utf-8")


def _append(step: Step, folder: Path) -> None:
    path = _inside(step, folder)
    if not path.is_file():
        raise PageError(f"{step.where}: there is no {step.argument}; `file` makes a new one.")
    with path.open("a", encoding="utf-8") as file:
        file.write(step.text)


def _run(step: Step, folder: Path) -> None:
    # `python` and `snakemake` are those of this environment, `sparcl` is the copy's
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    run = subprocess.run(
        ["sh", "-e", "-c", step.text],
        cwd=folder,
        env=os.environ | {"PATH": path, "PYTHONPATH": f"{folder}{os.pathsep}{folder / 'workflow'}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    if run.returncode:
        raise PageError(f"{step.where}: exit status {run.returncode}\n{step.text}\n{run.stdout}")


def _skip(step: Step, folder: Path) -> None:
    """Leave a block that only shows something."""


def _inside(step: Step, folder: Path) -> Path:
    """Return the step's file; copies link large files, so that a link may lead out of the copy."""
    path = folder / step.argument
    if not path.resolve().is_relative_to(folder.resolve()):
        raise PageError(f"{step.where}: {step.argument} lies outside the repository.")
    return path


def _line(content: str, position: int) -> int:
    return content.count("\n", 0, position) + 1


ACTIONS: dict[str, Callable[[Step, Path], None]] = {
    "file": _save,
    "append": _append,
    "run": _run,
    "skip": _skip,
}
