"""Training samples with the session in which each arrives, and what kinds of stress share."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from sparcl.base.types import Array, Ints
from study.loop.experiment import Split

Draw = Callable[..., np.random.Generator]


@dataclass(frozen=True)
class Samples:
    """Features (n, d), labels (n,) as the learner is told them, and the session (n,) of each, from 0.

    Attributes
    ----------
    classes : of each session, as the stream without stress has them; where sessions are blocks of a stream in which
        classes come again, those that are new in a block, perhaps none
    points, ends : numbers of the blocks after which any-time accuracy is measured, and with which a task ends; empty
        where sessions are no blocks
    """

    features: Array
    labels: NDArray[np.int64]
    session: NDArray[np.int64]
    classes: tuple[Ints, ...]
    points: tuple[int, ...] = ()
    ends: tuple[int, ...] = ()

    @classmethod
    def of(cls, train: Split, sessions: Sequence[Ints]) -> Self:
        """Return the samples of a stream, each in the session of its class; other classes are left out."""
        classes = tuple(np.asarray(part, dtype=np.int64) for part in sessions)
        known = np.full(max(int(train.labels.max()), max(int(c.max()) for c in classes)) + 1, -1)
        for t, part in enumerate(classes):
            known[part] = t
        session = known[train.labels]
        rows = np.flatnonzero(session >= 0)
        labels = np.asarray(train.labels, dtype=np.int64)[rows]
        return cls(train.features[rows], labels, session[rows], classes)

    def take(self, rows: NDArray[np.intp]) -> "Samples":
        """Return some samples."""
        return replace(
            self,
            features=self.features[rows],
            labels=self.labels[rows],
            session=self.session[rows],
        )

    def arriving(self, session: int) -> Split:
        """Return the samples of one session."""
        rows = np.flatnonzero(self.session == session)
        return Split(self.features[rows], self.labels[rows])

    def joined(self, *others: "Samples") -> "Samples":
        """Return these samples and those that arrive beside them."""
        parts = (self, *others)
        return replace(
            self,
            features=np.concatenate([part.features for part in parts]),
            labels=np.concatenate([part.labels for part in parts]),
            session=np.concatenate([part.session for part in parts]),
        )


def set_aside(samples: Samples, share: float, draw: Draw) -> tuple[Samples, Samples]:
    """Return the samples without a share of each class, and that share: fresh images of later sessions.

    One sample of a class stays at least.  Every kind sets the same ones aside, at every rate.
    """
    held: list[NDArray[np.intp]] = []
    for label in np.unique(samples.labels):
        rows = draw("reserve", int(label)).permutation(np.flatnonzero(samples.labels == label))
        held.append(rows[: min(round(share * len(rows)), len(rows) - 1)])
    fresh = np.sort(np.concatenate(held))
    rest = np.setdiff1d(np.arange(len(samples.labels)), fresh)
    return samples.take(rest), samples.take(fresh)


def of_old_classes(
    clean: Samples, fresh: Samples, session: int, rate: float, draw: Draw
) -> Samples:
    """Return fresh samples of earlier sessions' classes that arrive in one session, labels as they were.

    ``rate`` times as many as the session has of its own, without replacement inside it, and no more
    than there are; another session draws anew.
    """
    pool = np.flatnonzero(fresh.session < session)
    wanted = round(rate * np.count_nonzero(clean.session == session))
    rows = draw("strangers", session).permutation(pool)[:wanted]
    return replace(fresh.take(rows), session=np.full(len(rows), session))
