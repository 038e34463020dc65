"""Which source files a module rests on, so that a changed file reruns exactly what uses it."""

import ast
import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from sparcl.base.errors import ConfigError
from sparcl.methods.table import METHODS

ROOT = Path(__file__).resolve().parents[3]
# Package -> folder of the project that holds it.
PACKAGES = {"sparcl": ".", "study": "workflow", "figures": "."}
# A statement on lines of its own, as ruff formats it; and what is left where another form may be one.
IMPORT = re.compile(
    r"^[ \t]*(?:from ((?:sparcl|study|figures)[.\w]*) import (\([^()]*\)|[\w, ]+)"
    r"|import ((?:sparcl|study|figures)\b[.\w, ]*))(?:#.*)?$",
    re.MULTILINE,
)
LIKELY = re.compile(
    r"\bimport\b.*\b(?:sparcl|study|figures)\b|\b(?:sparcl|study|figures)\b.*\bimport\b|\b(?:import|from)\b.*\\$",
    re.MULTILINE,
)
TYPES = re.compile(r"^( *)if TYPE_CHECKING:\n(?:\1 +.*\n|\n)+", re.MULTILINE)


def here(path: str) -> str:
    """Return where a file of the project lies, seen from the folder of the run: another one if a module runs there."""
    start = os.path.relpath(ROOT)
    return path if start == "." else f"{start}/{path}"


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


@cache
def _file(module: str) -> str | None:
    """Return the file of a dotted module of this project, None for anything else."""
    folder = PACKAGES.get(module.split(".")[0])
    if folder is None:
        return None
    base = ROOT.joinpath(folder, *module.split("."))
    for candidate in (base.with_suffix(".py"), base / "__init__.py"):
        if candidate.is_file():
            return candidate.relative_to(ROOT).as_posix()
    return None


@cache
def _imports(path: str) -> frozenset[str]:
    """Return this project's modules that the file imports; ``from a import b`` gives a and a.b.

    Imports under ``if TYPE_CHECKING`` never run, and are left out.  A plan reads every file, and patterns take a
    tenth of a parser's time; a file in which they leave what may be an import is parsed.
    """
    whole = (ROOT / path).read_text(encoding="utf-8")
    text = TYPES.sub("", whole)
    if LIKELY.search(IMPORT.sub("", text)):
        return frozenset(_parsed(whole))
    names: set[str] = set()
    for module, members, modules in IMPORT.findall(text):
        names |= _listed(modules)
        names |= {f"{module}.{name}" for name in _listed(members)} | {module}
    return frozenset(names - {""})


def _parsed(text: str) -> Iterator[str]:
    """Yield what is imported in any form, under ``if TYPE_CHECKING`` too."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from (node.module, *(f"{node.module}.{alias.name}" for alias in node.names))


def _listed(text: str) -> set[str]:
    """Return the names of a list of imports, without what they are called here."""
    parts = re.sub("#.*", "", text).strip("() ").split(",")
    return {words[0] for part in parts if (words := part.split())}


def script_code(script: str, *modules: str) -> list[str]:
    """Return the files that a workflow script and what it imports consist of, as inputs of its rule.

    Parameters
    ----------
    modules : what it loads by name, such as the method's module
    """
    path = f"workflow/scripts/{script}.py"
    start = here("")
    return [start + file for file in (path, *source_files([*_imports(path), *modules]))]


@cache
def code_hash(script: str, *modules: str) -> str:
    """Return the hash of :func:`script_code`, which a job is told in the place of so many inputs.

    For jobs whose outputs are not in git: those of a fresh clone go by the times of their inputs alone.
    """
    lines = (f"{_content(file)} {file}\n" for file in script_code(script, *modules))
    return hashlib.sha256("".join(lines).encode()).hexdigest()


@cache
def _content(file: str) -> str:
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()


@cache
def learners(trained: bool = False) -> dict[str, str]:
    """Return the module of each learner by id, from files and the table: planning loads no torch.

    Parameters
    ----------
    trained : whether learners of images are meant, and not those of features
    """
    found = {} if trained else dict.fromkeys(METHODS, "sparcl.methods.compose")
    for package in ["study.trained.methods"] if trained else ["sparcl.methods", "study.methods"]:
        folder = ROOT.joinpath(PACKAGES[package.split(".")[0]], *package.split("."))
        for file in folder.glob("[!_]*.py"):
            found[file.stem.replace("_", "-")] = f"{package}.{file.stem}"
    found.pop("table", None)
    return dict(sorted(found.items()))


def row(block: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the row of the table that composes a method's learner, given its block; None where a file does."""
    return None if block.get("trained") else METHODS.get(block["learner"])


def learner_module(block: Mapping[str, Any]) -> str:
    """Return the module of a method's learner, given its block; rows of the table share theirs."""
    return learners(bool(block.get("trained")))[block["learner"]]


def learner_modules(block: Mapping[str, Any]) -> list[str]:
    """Return the modules of a method, given its block: a composition by settings may have parts of the study."""
    return [learner_module(block), *(["study.parts"] if block["learner"] == "compose" else [])]


def hyperparameters(block: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the settings of a method's learner, given its block: those of its row, or of its file.

    Raises
    ------
    ConfigError
        When there is no ``build`` in its file.
    """
    composed = row(block)
    return tuple(composed["settings"]) if composed else _keywords(learner_module(block))


@cache
def _keywords(module: str) -> tuple[str, ...]:
    """Return the keyword arguments of ``build``, or the fields of the class that it is, read from the module's file."""
    path = _file(module)
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8")) if path else ast.Module([], [])
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == "build":
            return tuple(argument.arg for argument in node.args.kwonlyargs)
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "build":
            made = classes[ast.unparse(node.value)]
            fields = [f for f in made.body if isinstance(f, ast.AnnAssign) and f.value]
            return tuple(
                ast.unparse(f.target) for f in fields if "ClassVar" not in ast.unparse(f.annotation)
            )
    raise ConfigError(f"{module}: there is no file of this name with `build`.")
