"""The schema of params.yaml: what is there passes, what nobody reads is refused by name."""

import copy
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from copies import ROOT
from snakemake.exceptions import WorkflowError
from snakemake.utils import validate

from sparcl.extraction.backbones import PRECISIONS
from sparcl.extraction.datasets import READERS
from sparcl.extraction.keymaps import KEYMAPS
from sparcl.features.store import KINDS

PARAMS = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
SCHEMA = str(ROOT / "workflow/schemas/params.schema.yaml")
# What is keyed by ids, or handed on to a learner or to timm, which check it themselves.
BY_ID = {"suites", "methods", "datasets", "backbones", "figures", "tables", "timings"}
HANDED_ON = {"hyper", "timm_args", "groups", "columns", "quoted", "quoted_as"}


def mappings(tree: dict[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the path of every mapping in params.yaml that has a fixed set of keys."""
    if not (len(path) == 1 and path[0] in BY_ID) and (len(path) != 3 or path[0] != "timings"):
        yield path
    for key, value in tree.items():
        if isinstance(value, dict) and key not in HANDED_ON:
            yield from mappings(value, (*path, key))


def at(tree: dict[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    for key in path:
        tree = tree[key]
    return tree


def test_the_file_itself_passes() -> None:
    validate(copy.deepcopy(PARAMS), SCHEMA)


@pytest.mark.parametrize("path", [*mappings(PARAMS)], ids="/".join)
def test_closed_at_every_level(path: tuple[str, ...]) -> None:
    params = copy.deepcopy(PARAMS)
    at(params, path)["misspelt"] = 1
    with pytest.raises(WorkflowError, match="'misspelt' was unexpected"):
        validate(params, SCHEMA)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("suite", "Bundled"),
        ("suites/toy/sessions", 0),
        ("suites/toy/sessions", "5"),
        ("suites/toy/base_classes", -1),
        ("suites/toy/normalize", "on"),
        ("suites/toy/methods", []),
        ("suites/toy/methods", ["ncm", "ncm"]),
        ("suites/toy/pairs", [[1993, 0], [1993, 0]]),
        ("suites/toy/pairs", [[1993]]),
        ("methods/sparcl/select", ["lambda"]),
        ("methods/sparcl/hyper", {"tau": [0.5]}),
        ("methods/acil-paper/features", "all"),
        ("selection/fit_share", 1),
        ("selection/grid/tau", [0.5, 1.0]),
        ("selection/grid/ridge", ["1e-3"]),
        ("selection/grid/ridge", [0]),
        ("spectrum/ridge", "1e-3"),
        ("datasets/cub-50/features", "download"),
        ("datasets/cub-50/reader", "zip"),
        ("datasets/cub-50/crop", 1.5),
        ("backbones/efficientnet-lite0/weights/sha256", "579344"),
        ("backbones/efficientnet-lite0/weights/source", "web"),
        ("extraction/dtype", "float64"),
        ("figures/drift/frames", ["curves"]),
        ("tables/main/frames", ["data/runs"]),
        ("tables/main/frames", ["../runs"]),
        ("tables/main/frames", ["mild/runs/runs"]),
        ("tables/main/underline", ["ACIL"]),
    ],
)
def test_values_out_of_range(path: str, value: object) -> None:
    params = copy.deepcopy(PARAMS)
    *above, key = path.split("/")
    assert key in at(params, tuple(above)) or key == "features"
    at(params, tuple(above))[key] = value
    with pytest.raises(WorkflowError, match=r"validat"):
        validate(params, SCHEMA)


@pytest.mark.parametrize("key", ["package", "version", "wheel_sha256", "member", "bytes", "sha256"])
def test_a_wheel_is_pinned_whole(key: str) -> None:
    params = copy.deepcopy(PARAMS)
    del params["backbones"]["efficientnet-lite0"]["weights"][key]
    with pytest.raises(WorkflowError, match=f"'{key}' is a required property"):
        validate(params, SCHEMA)


def test_choices_are_those_of_the_code() -> None:
    schema = yaml.safe_load((ROOT / "workflow/schemas/params.schema.yaml").read_text("utf-8"))
    blocks = {
        name: schema["properties"][name]["additionalProperties"]["properties"]
        for name in ("backbones", "datasets", "methods")
    }
    assert blocks["methods"]["features"]["enum"] == [*KINDS]
    assert blocks["backbones"]["weights"]["properties"]["keys"]["enum"] == [*KEYMAPS]
    assert set(blocks["datasets"]["reader"]["enum"]) == set(READERS)
    assert set(schema["properties"]["extraction"]["properties"]["precision"]["enum"]) == set(
        PRECISIONS
    )
