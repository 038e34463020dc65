"""Notebooks whose cells are run in order, and what they printed compared with what is stored beside them.

``python tests/notebooks.py docs/estimator.ipynb`` runs one in the folder that it lies in and stores what it prints.
"""

import contextlib
import io
import json
import sys
import warnings
from pathlib import Path
from typing import Any

Cells = list[dict[str, Any]]


def read(path: Path) -> dict[str, Any]:
    """Return a notebook as JSON has it."""
    return json.loads(path.read_text(encoding="utf-8"))


def printed(cell: dict[str, Any]) -> str:
    """Return what is stored of a code cell: printed text alone, as every Jupyter shows it alike."""
    for output in cell["outputs"]:
        assert (output["output_type"], output.get("name")) == ("stream", "stdout"), output
    return "".join("".join(output["text"]) for output in cell["outputs"])


def run(notebook: dict[str, Any], folder: Path) -> list[str]:
    """Run the code cells in one namespace, in a folder; return what each prints.  A warning is an error."""
    names: dict[str, Any] = {"__name__": "__main__"}
    found = []
    with contextlib.chdir(folder):
        for number, cell in enumerate(notebook["cells"], 1):
            if cell["cell_type"] != "code":
                continue
            code, said = compile("".join(cell["source"]), f"<cell {number}>", "exec"), io.StringIO()
            with contextlib.redirect_stdout(said), warnings.catch_warnings():
                warnings.simplefilter("error")
                exec(code, names)
            found.append(said.getvalue())
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
