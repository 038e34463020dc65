"""Notebooks whose cells are run in order, and what they printed compared with what is stored beside them.

``python tests/notebooks.py docs/estimator.ipynb`` runs one in the folder that it lies in and stores what it prints.
"""

import contextlib
import io
import json
import os
import sys
import warnings
from pathlib import Path
from typing import Any

Cells = list[dict[str, Any]]


class CellError(Exception):
    """A code cell that fails; with its number among all cells, from 1, and its text."""


def read(path: Path) -> dict[str, Any]:
    """Return a notebook as JSON has it."""
    return json.loads(path.read_text(encoding="utf-8"))


def printed(cell: dict[str, Any]) -> str:
    """Return what is stored of a code cell: printed text alone, as every Jupyter shows it alike.

    Raises
    ------
    CellError
        For an output of another kind, which nothing here can compare.
    """
    for output in cell["outputs"]:
        if (output["output_type"], output.get("name")) != ("stream", "stdout"):
            raise CellError(f"an output is no printed text but {output['output_type']}")
    return "".join("".join(output["text"]) for output in cell["outputs"])


def run(notebook: dict[str, Any], folder: Path) -> list[str]:
    """Run the code cells in one namespace, in a folder; return what each prints.  A warning is an error.

    Raises
    ------
    CellError
        For a cell that raises.
    """
    names: dict[str, Any] = {"__name__": "__main__"}
    found = []
    before = Path.cwd()
    os.chdir(folder)
    try:
        for number, cell in enumerate(notebook["cells"], 1):
            if cell["cell_type"] != "code":
                continue
            text, said = "".join(cell["source"]), io.StringIO()
            try:
                with contextlib.redirect_stdout(said), warnings.catch_warnings():
                    warnings.simplefilter("error")
                    exec(compile(text, f"<cell {number}>", "exec"), names)
            except Exception as error:
                raise CellError(
                    f"cell {number}: {type(error).__name__}: {error}\n{text}"
                ) from error
            found.append(said.getvalue())
    finally:
        os.chdir(before)
    return found


def store(path: Path) -> None:
    """Run a notebook and store what its cells print, numbered in their order."""
    notebook = read(path)
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    said = run(notebook, path.parent)
    for number, (cell, text) in enumerate(zip(cells, said, strict=True), 1):
        stream = {"output_type": "stream", "name": "stdout", "text": text.splitlines(keepends=True)}
        cell |= {"execution_count": number, "outputs": [stream] if text else []}
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    store(Path(sys.argv[1]))
