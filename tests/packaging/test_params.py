"""Settings are read twice, by Snakemake as YAML 1.1 and by DVC as YAML 1.2; messages name keys that exist."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from copies import ROOT
from ruamel.yaml import YAML

from sparcl.base.errors import DatasetError
from study.pipeline import settings
from study.places import CATALOGUES, named_files, where, with_files

FILES = [ROOT / "params.yaml", *sorted((ROOT / "config").rglob("*.yaml"))]


def nodes(tree: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every key path with its value; lists count their entries."""
    children = tree.items() if isinstance(tree, dict) else enumerate(tree)
    for key, value in children:
        yield f"{path}/{key}", key
        if isinstance(value, dict | list):
            yield from nodes(value, f"{path}/{key}")
        else:
            yield f"{path}/{key}=", (type(value).__name__, value)


def both(text: str) -> list[list[tuple[str, Any]]]:
    """Return the nodes of a text as YAML 1.1 and as YAML 1.2."""
    trees = yaml.safe_load(text), YAML(typ="safe", pure=True).load(text)
    return [list(nodes(tree)) for tree in trees]


def test_both_loaders_see_the_same_and_dvc_can_name_every_key() -> None:
    """`dvc exp run -S file:key.below=value` takes a dot for a level."""
    for file in FILES:
        found, other = both(file.read_text(encoding="utf-8"))
        assert found == other, file
        keys = [key for path, key in found if not path.endswith("=")]
        assert [key for key in keys if isinstance(key, str) and "." in key] == [], file


def test_the_comparison_sees_the_traps() -> None:
    for trap in ("a: 1e-3", "a: on", "a: 012", "a: 12:30"):
        found, other = both(trap)
        assert found != other


# Where the files of the settings are known: what reads them, and the one function that names them.
READERS = {
    "workflow/study/places.py",
    "workflow/study/pipeline/configuration.py",
    "workflow/study/pipeline/captions.py",
    "workflow/study/pipeline/crate.py",  # lists the files of a run
}
FILE = re.compile(r"params\.yaml|config/\w+\.yaml|config/suites")
NAMED = re.compile(
    rf"`({'|'.join((*CATALOGUES, 'suites', *settings.Page.model_fields))})\.([^`]*)`"
)
FORMS = {"datasets": settings.Dataset, "backbones": settings.Backbone, "methods": settings.Method}
FORMS |= {"figures": settings.Figure, "tables": settings.Table, "suites": settings.Suite}


def texts(file: Path) -> Iterator[str]:
    """Yield every text of a module that is no docstring; what is filled in is an x."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    said = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            said |= {id(part) for part in node.values}
            parts = [p.value if isinstance(p, ast.Constant) else "x" for p in node.values]
            yield "".join(map(str, parts))
        elif (
            isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said
        ):
            yield node.value


def test_messages_name_the_file_that_holds_the_key() -> None:
    """`sparcl` knows keys alone; the study and the figures name files through `where`, and every key exists."""
    keys = 0
    for folder in ("sparcl", "figures", "workflow/study"):
        for file in sorted((ROOT / folder).rglob("*.py")):
            name = file.relative_to(ROOT).as_posix()
            assert folder != "sparcl" or not FILE.search(file.read_text(encoding="utf-8")), name
            for text in texts(file):
                assert name in READERS or not FILE.search(text), (name, text)
                for kind, below in NAMED.findall(text):
                    key = below.split(".")[-1]
                    form = FORMS.get(kind) or settings.Page.model_fields[kind].annotation
                    assert key in form.model_fields, (name, text)
                    keys += 1
    for file in [*(ROOT / "figures").glob("*.py"), *(ROOT / "workflow/study").rglob("*.py")]:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "where":
                kind, *below = [getattr(argument, "value", None) for argument in node.args]
                if kind in FORMS and len(below) > 1 and isinstance(below[1], str):
                    assert below[1] in FORMS[kind].model_fields, (file, below)
                    keys += 1
    assert keys > 15


def test_one_function_names_file_and_key() -> None:
    assert where("suites", "toy", "pairs", 0) == "config/suites/toy.yaml: pairs.0"
    assert where("methods", "acil", "hyper") == "config/methods.yaml: acil.hyper"
    assert where("spectrum", "tau") == "params.yaml: spectrum.tau"
    assert where("datasets") == "config/datasets.yaml"
    said = "Give `datasets.my-set.root` or `extraction.image_root`, not `results.x`."
    files = "`config/datasets.yaml: my-set.root` or `params.yaml: extraction.image_root`"
    assert with_files(said) == f"Give {files}, not `results.x`."
    with pytest.raises(DatasetError, match=re.escape(files)), named_files():
        raise DatasetError(said)
