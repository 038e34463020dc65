"""Figures and tables: one module each, a pure function from data frames to a Figure or to texts.

A figure module offers ``draw(frames, options) -> Figure``; a table module, whose name ends in
``_table``, offers ``texts(frames, options) -> {suffix: text}``. To add one, write the module and a
block in config/figures.yaml or config/tables.yaml; :func:`render` finds it by name.
"""

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

from sparcl.base.errors import ConfigError
from study.places import where


def module_name(kind: str, name: str, block: Mapping[str, Any]) -> str:
    """Return the full name of the module that makes a figure or table.

    Parameters
    ----------
    kind : {"figure", "table"}
    name : str
        Id of its block in config/figures.yaml or config/tables.yaml.
    block : mapping
        Its block there; ``module`` names a module that several ids share (default: the id's own).
    """
    ending = "_table" if kind == "table" else ""
    return f"figures.{block.get('module', name).replace('-', '_')}{ending}"


def render(
    kind: str,
    name: str,
    csv: Sequence[str | Path],
    options: Mapping[str, Any],
    outputs: Sequence[str | Path],
) -> None:
    """Read the summaries, make one figure or table, and write every output.

    Parameters
    ----------
    kind : {"figure", "table"}
    name : str
        Id of its block (``dilution``, ``main``).
    csv : sequence of path
        Summaries, which the module finds under their names in ``frames`` of the options, or under
        their stems (``runs``, ``sessions``, ...).
    options : mapping
        Its block, and ``methods``, ``datasets``, ``backbones``: id -> block with a
        ``label`` and perhaps a ``short`` one, in the order of the suite.
    outputs : sequence of path
        ``.pdf``, ``.png`` and ``.svg`` of a figure; ``.tex``, ``.md`` and ``.csv`` of a table.

    Raises
    ------
    ConfigError
        There is no such module.
    InputError
        A summary lacks a cell that the figure or table needs.
    """
    from figures import files, frames, style
    from sparcl.base.files import write_text

    module = _module(kind, name, options)
    data = frames.read(csv, options.get("frames"))
    options = {**options, "files": dict(zip(data, map(str, csv), strict=True))}
    if kind == "figure":
        files.save(module.draw(data, style.literal(options)), *outputs)
        return
    texts = module.texts(data, options)
    for path in map(Path, outputs):
        write_text(path, texts[path.suffix])


def _module(kind: str, name: str, options: Mapping[str, Any]) -> Any:
    full, needed = module_name(kind, name, options), {"figure": "draw", "table": "texts"}[kind]
    found = [f"figures.{module.name}" for module in iter_modules(__path__)]
    if full in found and hasattr(module := import_module(full), needed):
        return module
    raise ConfigError(
        f"no {kind} '{name}': expected a module {full.replace('.', '/')}.py with {needed}(). Correct "
        f"the id or `module` ({where(kind + 's', name)}), or add the module; there are {', '.join(found)}"
    )
