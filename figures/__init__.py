"""Figures and tables: one module each, a pure function from data frames to a Figure or to rows.

A figure module offers ``draw(frames, options) -> Figure``. A table module offers
``rows(frames, options) -> DataFrame`` and ``texts(rows, options) -> {suffix: text}``. Adding one is
a module here and a block in params.yaml; :func:`render` finds it by name.
"""

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

from sparcl.base.errors import ConfigError


def render(
    name: str,
    csv: Sequence[str | Path],
    options: Mapping[str, Any],
    outputs: Sequence[str | Path],
) -> None:
    """Read the summaries, draw one figure or fill one table, and write every output.

    Parameters
    ----------
    name : str
        Id of the figure or table (``dilution``, ``main-table``): the module of that name.
    csv : sequence of path
        Summary files; each is known to the module by its name in ``frames`` of the options, else by its
        stem (``runs``, ``sessions``, ...).
    options : mapping
        The block of params.yaml, and ``methods``, ``datasets``, ``backbones``: id -> block with a
        ``label`` (and, for methods, perhaps a ``short`` one), in the order of the suite.
    outputs : sequence of path
        ``.pdf`` and ``.png`` of a figure; ``.tex``, ``.md``, ``.csv`` of a table.

    Raises
    ------
    ConfigError
        No such module, or an output of a kind that it does not make.
    InputError
        A summary lacks a cell that the figure or table needs.
    """
    from figures import frames, style
    from sparcl.base.files import write_text

    module = _module(name)
    data = frames.read(csv, options.get("frames"))
    options = {**options, "files": dict(zip(data, map(str, csv), strict=True))}
    if hasattr(module, "draw"):
        style.save(module.draw(data, options), *outputs)
        return
    texts = module.texts(module.rows(data, options), options)
    for path in map(Path, outputs):
        if path.suffix not in texts:
            raise ConfigError(f"table {name}: cannot write {path}; it makes {', '.join(texts)}")
        write_text(path, texts[path.suffix])


def _module(name: str) -> Any:
    module_name = name.replace("-", "_")
    names = [m.name for m in iter_modules(__path__)]
    if module_name in names:
        module = import_module(f"figures.{module_name}")
        if hasattr(module, "draw") or hasattr(module, "rows"):
            return module
    raise ConfigError(
        f"no figure or table '{name}': expected a module figures/{module_name}.py with draw() or rows() "
        f"(found {', '.join(names)}); correct the id in params.yaml or add the module"
    )
