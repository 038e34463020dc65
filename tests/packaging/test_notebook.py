"""Every notebook is one, and prints what is stored in it."""

from pathlib import Path
from typing import Any

import nbformat
import notebooks
import pytest
from copies import ROOT, in_git

PAGES = [path for path in in_git() if path.suffix == ".ipynb"]


def test_one_is_of_the_estimator() -> None:
    text = (ROOT / "docs/estimator.ipynb").read_text(encoding="utf-8")
    words = ("sparcl.Classifier(", "partial_fit", "GridSearchCV", "predict_proba", "sparcl.load")
    assert [word for word in words if word not in text] == []


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_it_prints_what_it_stores(path: Path) -> None:
    """In the folder of the notebook, where Jupyter runs it, and in that of the repository."""
    page = notebooks.read(path)
    nbformat.validate(page)
    cells = [cell for cell in page["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in cells] == [*range(1, len(cells) + 1)]
    stored = [notebooks.printed(cell) for cell in cells]
    assert notebooks.run(page, path.parent) == stored
    assert all(stored), "every cell shows something"
    assert notebooks.run({"cells": cells[:1]}, ROOT) == stored[:1]


@pytest.fixture
def page() -> dict[str, Any]:
    """Return a notebook of two cells."""
    cell = {"cell_type": "code", "execution_count": 1, "metadata": {}, "outputs": []}
    sources = {"a": ["x = 1\n", "print(x)"], "b": ["print(x + 1)"]}
    return {"cells": [cell | {"id": key, "source": text} for key, text in sources.items()]}


def test_cells_share_their_names_and_are_stored(page: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "a.ipynb"
    path.write_text(nbformat.v4.writes_json(nbformat.v4.new_notebook(cells=[])), encoding="utf-8")
    page = notebooks.read(path) | page
    path.write_text(nbformat.v4.writes_json(nbformat.from_dict(page)), encoding="utf-8")
    notebooks.store(path)
    stored = notebooks.read(path)
    nbformat.validate(stored)
    assert [notebooks.printed(cell) for cell in stored["cells"]] == ["1\n", "2\n"]


def test_a_cell_that_warns_is_refused(page: dict[str, Any], tmp_path: Path) -> None:
    page["cells"][1]["source"] = ["import warnings; warnings.warn('odd')"]
    with pytest.raises(UserWarning, match="odd"):
        notebooks.run(page, tmp_path)
