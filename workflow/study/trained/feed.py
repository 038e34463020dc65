"""Training images as batches: augmented and shuffled to train on, plain and in order to measure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sparcl.base.errors import InputError
from study.trained.images import Images
from study.trained.setup import Setup


class Batch(NamedTuple):
    """Images x (b, 3, s, s), the columns y (b,) of their classes, and their rows (b,)."""

    x: Tensor
    y: Tensor
    rows: NDArray[np.int64]


class Feed:
    """The images of a learner.

    Attributes
    ----------
    setup : images, view, device
    rng : names to the generator of the learner's method, seed and session
    columns : rows (n,) of training images to the columns (n,) of their classes
    """

    def __init__(
        self,
        setup: Setup,
        rng: Callable[..., np.random.Generator],
        columns: Callable[[NDArray[np.integer]], NDArray[np.int64]],
    ) -> None:
        self.setup, self.rng, self.columns = setup, rng, columns

    def augmented(self, rows: NDArray[np.integer], *names: str | int) -> Batch:
        """Return augmented views of training images; ``names`` decide, with the place in the batch, each view."""
        seeds = self.rng("view", *names).integers(2**62, size=len(rows))
        return self._batch(rows, seeds)

    def epochs_of(
        self, rows: NDArray[np.int64], size: int, phase: str = ""
    ) -> Callable[[int], Iterator[Batch]]:
        """Return epoch to shuffled batches of augmented images; the last batch may be smaller.

        The view of an image depends on seed, session, phase, epoch and row, and not on its batch.
        """

        def batches(epoch: int) -> Iterator[Batch]:
            rng = self.rng("epoch", phase, epoch)
            order, seeds = rng.permutation(len(rows)), rng.integers(2**62, size=len(rows))
            for start in range(0, len(rows), size):
                chosen = order[start : start + size]
                yield self._batch(rows[chosen], seeds[chosen])

        return batches

    def scan(
        self, function: Callable[[Tensor], Tensor], images: Images, rows: NDArray[np.integer]
    ) -> Tensor:
        """Return ``function`` (n, ...) of the plain views of images, on the CPU in float32."""
        setup, parts = self.setup, []
        with torch.inference_mode():
            for start in range(0, len(rows), setup.batch):
                pixels = [images.pixels[row] for row in rows[start : start + setup.batch]]
                parts.append(function(setup.view.plain(pixels, setup.device)).float().cpu())
        return torch.cat(parts) if parts else torch.zeros(0)

    def _batch(self, rows: NDArray[np.integer], seeds: NDArray[np.integer]) -> Batch:
        pixels = [self.setup.train.pixels[row] for row in rows]
        x = self.setup.view.augmented(pixels, seeds, self.setup.device)
        return Batch(x, torch.from_numpy(self.columns(rows)).to(x.device), np.asarray(rows))


def check_rows(
    rows: NDArray[np.integer], train: Images, seen: NDArray[np.int64], where: str
) -> None:
    """Raise InputError unless ``rows`` are some of the training images, and of classes not ``seen`` before."""
    if not len(rows):
        raise InputError(
            f"{where}: no images. Usual cause: a class without training image in the order of classes; "
            "remove it from the data set or add images."
        )
    if rows.min() < 0 or rows.max() >= len(train):
        raise InputError(
            f"{where}: rows reach from {rows.min()} to {rows.max()}, and there are "
            f"{len(train)} training images. Give rows of those the learner was built with."
        )
    returned = np.intersect1d(train.labels[rows], seen)
    if len(returned):
        raise InputError(
            f"{where}: class {returned[0]} came in an earlier session. Every session must bring new "
            "classes only: give all images of a class in one session."
        )
