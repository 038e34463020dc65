"""What the code of a rule is, beside what Python's own parser finds."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from sparcl.pipeline import provenance


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """Yield every statement below a node but those under ``if TYPE_CHECKING``."""
    for inner in ast.iter_child_nodes(node):
        yield inner
        if isinstance(inner, ast.If) and ast.unparse(inner.test) == "TYPE_CHECKING":
            yield from (s for block in inner.orelse for s in (block, *statements(block)))
        else:
            yield from statements(inner)


def imported(text: str) -> set[str]:
    """Return this project's modules that a text imports."""
    names: set[str] = set()
    for node in statements(ast.parse(text)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return {name for name in names if name.split(".")[0] in provenance.PACKAGES}


def test_patterns_find_what_a_parser_finds(project: Path) -> None:
    files = [f for p in provenance.PACKAGES for f in sorted((project / p).rglob("*.py"))]
    found = {f: provenance._imports(f.relative_to(project).as_posix()) for f in files}
    assert len(files) > 300 and sum(map(len, found.values())) > 1000
    assert found == {f: imported(f.read_text(encoding="utf-8")) for f in files}


def test_every_form_of_a_statement(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = """import figures
import sparcl.a, sparcl.b as short  # both
import sparclet, os
from sparcl import c as d, e
from sparcl.f import (
    g,  # sparcl.no
    h as i,
)
if TYPE_CHECKING:
    from sparcl import never

    import sparcl.never
else:
    from sparcl.j import k
def late():
    from sparcl.m import n  # noqa
"""
    (tmp_path / "file.py").write_text(text, encoding="utf-8")
    monkeypatch.setattr(provenance, "ROOT", tmp_path)
    ours = {name for name in provenance._imports("file.py") if name != "sparclet"}
    assert imported(text) == {
        *("figures", "sparcl", "sparcl.a", "sparcl.b", "sparcl.c", "sparcl.e", "sparcl.f"),
        *("sparcl.f.g", "sparcl.f.h", "sparcl.j", "sparcl.j.k", "sparcl.m", "sparcl.m.n"),
    }
    assert ours == imported(text)
