"""Adding up sums: those of feature files, or saved ones of shards, in an order that fixes the bits."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sparcl.app.counted import check_once
from sparcl.app.kinds import SUMS, check_kind
from sparcl.base.errors import InputError
from sparcl.base.npz import read_npz
from sparcl.features import store
from study.sums.class_sums import ClassSums
from study.sums.sums_file import SumsFile


def merge(shards: Iterable[tuple[str, SumsFile]]) -> SumsFile:
    """Add up shards, given with their names, one after the other: one and the total are in memory.

    Cost: that of :meth:`study.sums.class_sums.ClassSums.merge`, and a sort of all ids so far, for each shard.
    In another order the last bits differ: :func:`merge_saved` and :func:`merge_files` fix it.

    Raises
    ------
    InputError
        When there is none, one differs in a term, the class list or the groups, or two hold the same
        sample; the message names the shard and the difference.
    """
    total = None
    for name, shard in shards:
        if total is None:
            sums = ClassSums(shard.sums.d, shard.sums.classes, shard.sums.groups)
            total = SumsFile(sums, shard.terms, shard.class_names, shard.ids[:0], [])
        total.agree(name, shard.terms, shard.class_names)
        twice = np.intersect1d(total.ids, shard.ids)
        if len(twice):
            raise InputError(
                f"{name}: {len(twice)} of its samples are in shards before it too (first: "
                f"{twice[0].decode(errors='replace')!r}), and would count twice. Usual cause: a shard that was given "
                "or extracted twice."
            )
        try:
            total.sums.merge(shard.sums)
        except InputError as error:
            raise InputError(f"{name}: {error}") from error
        total.ids = np.sort(np.concatenate([total.ids, shard.ids]))
        total.parts = sorted(total.parts + shard.parts)
        del shard  # before the next one is loaded
    if total is None:
        raise InputError("No sums: give at least one file.")
    return total


def merge_saved(paths: Sequence[str | Path]) -> SumsFile:
    """Add up saved sums in the order of their smallest ids, whatever order they come in.

    So the bytes are the same whichever shard was finished first.  Adding up sums of sums is the same
    to rounding only: give all shards at once where bits count.  Errors: as :func:`merge`.
    """
    return merge((str(path), SumsFile.load(path)) for path in sorted(paths, key=_least_saved))


def merge_files(
    paths: Sequence[str | Path],
    normalize: bool = True,
    sessions: Sequence[Sequence[int] | NDArray[np.integer]] | None = None,
) -> SumsFile:
    """Sum feature files, as :meth:`SumsFile.of_file` does each, and add up as :func:`merge_saved` would."""
    check_once(paths)
    ordered = sorted(paths, key=lambda path: _least(store.ids(path)))
    return merge((str(path), SumsFile.of_file(path, normalize, sessions)) for path in ordered)


def _least(ids: NDArray[np.bytes_]) -> bytes:
    """Return the smallest id; an empty shard has none and goes first."""
    return bytes(np.sort(ids)[0]) if len(ids) else b""


def _least_saved(path: str | Path) -> bytes:
    check_kind(path, SUMS)
    ids = read_npz(path, only=("ids",))["ids"]
    return _least(ids[:1]) if ids.ndim == 1 and ids.dtype.kind == "S" else b""  # which load refuses
