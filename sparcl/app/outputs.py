"""Checks of ``--out``, and a lock on a model that is appended to."""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from sparcl.base.errors import OutputError
from sparcl.base.locks import locked
from sparcl.features import layout, store


def check_out(out: Path, inputs: Iterable[Path], option: str = "--out") -> None:
    """Raise OutputError, before any work, unless ``out`` names a file that can be written and replaces no input.

    Parameters
    ----------
    out : where a command writes
    inputs : what it reads; of a feature file its manifest counts too, and the shards of a view with theirs
    option : what ``out`` is given by
    """
    if out.is_symlink():
        raise OutputError(
            f"{option} {out} is a link to {os.readlink(out)}, which a file would replace. Name the target, or delete "
            "the link."
        )
    if out.exists() and not out.is_file():
        raise OutputError(f"{option} {out} is a folder or a device. Name a file.")
    for path in inputs:
        for file in store.sources(path) if layout.is_hdf5(path) else [path]:
            if _same(out, file):
                part = "" if file == path else f", as part of {path}"
                raise OutputError(
                    f"{option} {out} is read by this command too{part}, and would be replaced. Name another file."
                )
    folder = next(parent for parent in out.absolute().parents if parent.exists())
    if not folder.is_dir():
        raise OutputError(f"{option} {out}: {folder} is a file, not a folder. Name another folder.")
    if not os.access(folder, os.W_OK):
        raise OutputError(
            f"{option} {out}: {folder} is read-only. Make it writable, or name another."
        )


@contextmanager
def one_at_a_time(model: Path | None, out: Path) -> Iterator[None]:
    """Let processes that append to one saved model wait for each other: each reads what the one before wrote.

    A model that is only read needs no lock, and its folder may be read-only.
    """
    if model is None or not model.is_file() or not _same(model, out):
        yield
        return
    model = model.resolve()
    with locked(model.with_name(f".{model.name}.lock")):
        yield


def _same(one: Path, other: Path) -> bool:
    """Return whether two paths are one file, which need not exist."""
    if one.exists() and other.exists():
        return os.path.samefile(one, other)
    return one.resolve() == other.resolve()
