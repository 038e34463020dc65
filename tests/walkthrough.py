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
import textwrap
from collections.abc import Iterator
from pathlib import Path

from copies import programs

BLOCK = re.compile(
    r"^(?P<indent> *)(?P<fence>`{3,})[^\n`]*\n(?P<text>.*?)^ *(?P=fence) *$",
    flags=re.MULTILINE | re.DOTALL,
)
MARK = re.compile(r"<!-- (?P<action>file|append|run|skip)(?:: (?P<argument>\S.*))? -->")


def steps(page: Path) -> Iterator[tuple[str, str, str, str]]:
    """Yield action, argument and text of each code block, and where it stands (``page:line``)."""
    content = page.read_text(encoding="utf-8")
    found = [*BLOCK.finditer(content)]
    marks = MARK.findall(BLOCK.sub("", content))
    assert len(marks) == len(found), f"{page.name}: {len(found)} blocks, {len(marks)} marks"
    for block in found:
        where = f"{page.name}:{content.count(chr(10), 0, block.start()) + 1}"
        before = content[: block.start()].rstrip("\n").rpartition("\n")[2]
        mark = MARK.fullmatch(before.strip())
        assert mark, f"{where}: the line before this block does not say what to do with it"
        argument = mark["argument"] or ""
        assert (mark["action"] == "run") != bool(argument), f"{where}: no path, or no reason"
        yield mark["action"], argument, textwrap.dedent(block["text"]), where


def follow(page: Path, folder: Path) -> None:
    """Carry out the steps of a page in ``folder``, a copy of the repository."""
    for action, argument, text, where in steps(page):
        if action == "run":
            _run(text, folder, where)
        elif action != "skip":
            path = folder / argument
            # copies link large files, so that a link may lead out of the copy
            assert path.resolve().is_relative_to(folder.resolve()), f"{where}: outside the folder"
            assert path.is_file() == (action == "append"), f"{where}: is {argument} there before?"
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("a", encoding="utf-8") as file:
                file.write(text)


def _run(text: str, folder: Path, where: str) -> None:
    # `python` and `snakemake` are those of this environment, `sparcl` is the copy's
    path = programs()
    run = subprocess.run(
        ["sh", "-e", "-c", text],
        cwd=folder,
        env=os.environ | {"PATH": path, "PYTHONPATH": f"{folder}{os.pathsep}{folder / 'workflow'}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    assert run.returncode == 0, f"{where}: exit status {run.returncode}\n{text}\n{run.stdout}"
