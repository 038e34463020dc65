"""Samples of feature files as a model sees them: block by block, with its own labels."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sparcl.app.bars import shown
from sparcl.app.counted import Counted, check_once, names_of
from sparcl.app.model import Model
from sparcl.base.types import Array
from sparcl.features import layout, matching, store

Files = Mapping[Path, layout.Header]


def opened(model: Model, paths: Sequence[str | Path]) -> Files:
    """Return the headers of feature files; InputError unless their features are of the model's kind."""
    check_once(paths)
    files = {Path(path): store.header(path) for path in paths}
    for path, header in files.items():
        model.agree(matching.source(header), str(path))
    return files


def rows(
    model: Model, files: Files, classes: NDArray[np.integer], counted: Counted
) -> Iterator[tuple[Array, NDArray[np.int64]]]:
    """Yield features (b, d) and labels (b,), block by block, of some classes.

    Each sample is added to ``counted``, once the file that it lies in is read to its end.
    """
    for path, header in files.items():
        labels = model.labels_of(header)
        wanted = np.isin(labels, classes)
        taken = [np.zeros(0, dtype=bool)]
        for Phi, y in shown(store.blocks(path), header.n, path):
            chosen = wanted[y]
            taken.append(chosen)
            if chosen.any():
                yield Phi[chosen], labels[y[chosen]]
        counted.add(names_of(path, header)[np.concatenate(taken)], str(path))
