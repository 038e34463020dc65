"""What the code of a rule is, beside what Python's own parser finds."""

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from study.pipeline import provenance


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
    return own(names)


def own(names: Iterable[str]) -> set[str]:
    return {name for name in names if name.split(".")[0] in provenance.PACKAGES}


def test_patterns_find_what_a_parser_finds(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []
    parser = provenance._parsed
    monkeypatch.setattr(
        provenance, "_parsed", lambda text: [parsed.append(text), *parser(text)][1:]
    )
    provenance._imports.cache_clear()
    files = [
        f
        for package, place in provenance.PACKAGES.items()
        for f in sorted((project / place / package).rglob("*.py"))
    ]
    found = {f: own(provenance._imports(f.relative_to(project).as_posix())) for f in files}
    assert len(files) > 200 and sum(map(len, found.values())) > 800 and len(parsed) < 20
    assert found == {f: imported(f.read_text(encoding="utf-8")) for f in files}


FORMS = """import figures
import sparcl.a, sparcl.b as short  # both
import sparclet
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


MORE = [
    "",
    "import os, sparcl.other",
    "import os; from sparcl import other",
    "from sparcl import o; import os",
    "from sparcl import o, \\\n    p",
    "from \\\n    sparcl import o",
    "from sparcl import (o,  # (why)\n    p)",
    "def f():\n\tfrom sparcl import o",
    "if True: from sparcl import o",
    "from  sparcl  import  o",
]


def test_every_form_of_a_statement(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provenance, "ROOT", tmp_path)
    known = {
        *("figures", "sparcl", "sparcl.a", "sparcl.b", "sparcl.c", "sparcl.e", "sparcl.f"),
        *("sparcl.f.g", "sparcl.f.h", "sparcl.j", "sparcl.j.k", "sparcl.m", "sparcl.m.n"),
    }
    assert imported(FORMS) == known
    for number, more in enumerate(MORE):
        (tmp_path / f"{number}.py").write_text(FORMS + more + "\n", encoding="utf-8")
        found = own(provenance._imports(f"{number}.py"))
        whole = imported(FORMS + more)
        # a file that is parsed names what is for types alone, too: a rerun too many, never one too few
        assert whole <= found <= whole | {"sparcl.never"}, more
        assert more or found == known
    provenance._imports.cache_clear()
