"""Settings are read twice, by Snakemake as YAML 1.1 and by DVC as YAML 1.2."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from ruamel.yaml import YAML

ROOT = Path(__file__).resolve().parents[2]
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


def yaml_1_1(text: str) -> Any:
    return yaml.safe_load(text)


def yaml_1_2(text: str) -> Any:
    return YAML(typ="safe", pure=True).load(text)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_both_loaders_see_the_same(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    assert list(nodes(yaml_1_1(text))) == list(nodes(yaml_1_2(text)))


@pytest.mark.parametrize("trap", ["a: 1e-3", "a: on", "a: 012", "a: 12:30"])
def test_the_comparison_sees_the_traps(trap: str) -> None:
    assert list(nodes(yaml_1_1(trap))) != list(nodes(yaml_1_2(trap)))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_keys_can_be_named_on_the_command_line_of_dvc(file: Path) -> None:
    """`dvc exp run -S file:key.below=value` takes a dot for a level."""
    tree = yaml_1_1(file.read_text(encoding="utf-8"))
    keys = [key for path, key in nodes(tree) if not path.endswith("=")]
    assert [key for key in keys if isinstance(key, str) and "." in key] == []
