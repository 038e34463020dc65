"""Which source files a module rests on, so that a changed file reruns exactly what uses it."""

import ast
from collections.abc import Iterable
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("sparcl", "figures")


def source_files(modules: Iterable[str]) -> list[str]:
    """Return the files (relative to the project, sorted) that ``modules`` import, themselves too.

    Follows ``import`` statements of this project's own packages wherever they stand in a file,
    lazy ones included.  A method is looked up by name at run time: name its module as well.
    """
    found: set[str] = set()
    todo = list(modules)
    while todo:
        name = todo.pop()
        path = _file(name)
        if path is None or path in found:
            continue
        found.add(path)
        todo.extend(_imports(path))
        package = name.rpartition(".")[0]
        if package:
            todo.append(package)
    return sorted(found)


def _file(module: str) -> str | None:
    """Return the file of a dotted module of this project, None for anything else."""
    if module.split(".")[0] not in PACKAGES:
        return None
    base = ROOT.joinpath(*module.split("."))
    for candidate in (base.with_suffix(".py"), base / "__init__.py"):
        if candidate.is_file():
            return candidate.relative_to(ROOT).as_posix()
    return None


@cache
def _imports(path: str) -> frozenset[str]:
    """Return the dotted names that the file imports; ``from a import b`` gives a and a.b."""
    names: set[str] = set()
    for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module)
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return frozenset(names)
