"""Which samples were counted: none counts twice, whatever files it comes in."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sparcl.base.errors import InputError
from sparcl.features import layout, store


class Counted:
    """A set of samples, each known by data set, split and id.

    Attributes
    ----------
    names : (n,) bytes, ascending

    Raises
    ------
    InputError
        When the names are not that.
    """

    def __init__(self, names: NDArray[np.bytes_] | None = None) -> None:
        self.names = np.zeros(0, dtype="S1") if names is None else names
        if self.names.dtype.kind != "S" or not np.all(self.names[1:] > self.names[:-1]):
            raise InputError("ids of samples that are not bytes in ascending order")

    def add(self, names: NDArray[np.bytes_], where: str) -> None:
        """Count samples; InputError, which names ``where``, when one was counted before or comes twice."""
        joined = np.sort(np.concatenate([self.names, names]))
        twice = joined[1:][joined[1:] == joined[:-1]]
        if len(twice):
            dataset, split, identifier = twice[0].decode(errors="replace").split("\n", 2)
            raise InputError(
                f"{where}: {len(twice)} of its samples would count twice (first: {identifier!r} of {dataset}, "
                f"{split}). They were counted before, perhaps from another file. Leave that file out; if they are "
                "other samples, give them other ids."
            )
        self.names = joined

    def remove(self, names: NDArray[np.bytes_]) -> None:
        """Take samples out; InputError for one that was not counted, or comes twice."""
        known, times = np.unique(names, return_counts=True)
        wrong = known[(times > 1) | ~np.isin(known, self.names)]
        if len(wrong):
            dataset, split, identifier = wrong[0].decode(errors="replace").split("\n", 2)
            raise InputError(
                f"{len(wrong)} samples to be forgotten were not learned, are forgotten already or come twice (first: "
                f"{identifier!r} of {dataset}, {split}). Name the samples that were learned, each once."
            )
        self.names = np.setdiff1d(self.names, known)


def names_of(path: str | Path, header: layout.Header) -> NDArray[np.bytes_]:
    """Return how the samples of a feature file are known, in file order."""
    prefix = f"{header.meta['dataset']}\n{header.meta['split']}\n".encode()
    return np.strings.add(prefix, store.ids(path))


def check_once(paths: Sequence[str | Path]) -> None:
    """Raise InputError when a path is given twice, under whatever name."""
    seen: dict[Path, str | Path] = {}
    for path in paths:
        other = seen.setdefault(Path(path).resolve(), path)
        if other is not path:
            raise InputError(f"{path} is given twice, and would count twice. Leave one out.")
