"""Which rows of a session are summed: all of them, or those that do not look like rows of old classes."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sparcl.algebra.backend import product
from sparcl.algebra.contamination import contaminated_share
from sparcl.algebra.scatter import Scatter
from sparcl.algebra.sums import Sums
from sparcl.base.checks import check_fraction, check_positive
from sparcl.base.state import Shape, Stateful
from sparcl.base.types import Array
from sparcl.parts.batch import Batch
from sparcl.parts.heads.ridge import Head


@dataclass(eq=False)
class AllRows(Stateful):
    """Counts every row alike.

    Rows are held during their session only: what is kept is sums.  Settings are fixed without knowing how many rows
    are wrong.

    Attributes
    ----------
    whole_session : why a session must come whole; empty where every row counts alike
    """

    whole_session: ClassVar[str] = ""

    def judge(self, batch: Batch, old: Sums, head: Head, ridge: float) -> Batch:
        """Return the rows of a session to be summed, weighted or under other labels.

        Parameters
        ----------
        batch : all of them; old : sums of the sessions before
        head, ridge : what turns sums into weights, and its ridge or shrinkage
        """
        return batch

    def report(self) -> dict[str, Any]:
        """Return what was found in the last session."""
        return {}


@dataclass(eq=False)
class ContaminationFilter(AllRows):
    """Estimate which share of a session is contaminated, from its sums, and drop at most so many rows.

    Dropped are rows whose least distance to an old class's mean is below that to their own class's mean
    (:func:`farther_from_own`), the clearest first.  Below ``limit`` nothing is dropped, so that a clean session loses
    nothing.  This project's own (:func:`sparcl.algebra.contamination.contaminated_share`).
    Cost: 2 D^2 c + 2 n D c flops, and that of the distances from the limit on.

    Parameters
    ----------
    limit : contaminated share from which on rows are dropped
    errors : standard errors by which the share must exceed 0 besides
    ridge : of the distances

    Attributes
    ----------
    contamination : contaminated fraction in the last session
    """

    limit: float = 0.1
    errors: float = 1.0
    ridge: float = 1.0
    whole_session: ClassVar[str] = "it weights the rows of a session against each other"
    kept: ClassVar[dict[str, Shape | None]] = {"contamination": float}

    def __post_init__(self) -> None:
        check_fraction("limit", self.limit)
        check_positive("errors", self.errors)
        check_positive("ridge", self.ridge)
        self.contamination = 0.0

    def judge(self, batch: Batch, old: Sums, head: Head, ridge: float) -> Batch:
        """Return the rows that stay."""
        n, known = len(batch.columns), np.count_nonzero(old.counts)
        share, error = contaminated_share(old, batch.H, batch.columns) if known else (0.0, 0.0)
        self.contamination = share if share >= max(self.limit, self.errors * error) else 0.0
        if self.contamination == 0:
            return batch
        farther = farther_from_own(batch, old, self.ridge)
        clearest = np.argsort(-farther, kind="stable")[: round(self.contamination * n)]
        stays = np.ones(n)
        stays[clearest[farther[clearest] > 0]] = 0
        kept = np.flatnonzero(with_every_class(stays, batch.columns))
        return batch if len(kept) == n else batch.take(kept)

    def report(self) -> dict[str, Any]:
        """Return the contaminated share in the last session."""
        return {"contamination": self.contamination}


def with_every_class(weights: Array, columns: NDArray[np.integer]) -> Array:
    """Return weights (n,) in which rows of a class without any weight count 1 each."""
    total = np.bincount(columns, weights=weights)
    return np.where(total[columns] > 0, weights, 1.0)


def farther_from_own(batch: Batch, old: Sums, ridge: float) -> Array:
    """Return how much farther (n,) each row is from its own class's mean than from the nearest old one.

    Squared distances are those of the scatter S of the sessions before, under ``S + ridge tr(S) / D I``;
    the own mean is that of the session, without the row: ``(n_c / (n_c - 1))^2`` times the distance to the
    mean with it.  A row that is alone in its class, or comes before there are old classes, is none: -inf.
    Cost: D^3 / 3 + 2 D^2 (n + c) flops.
    """
    known = np.flatnonzero(old.counts > 0)
    if len(known) == 0:
        return np.full(len(batch.columns), -np.inf)
    labels, place, counts = np.unique(batch.columns, return_inverse=True, return_counts=True)
    H = batch.H
    own = np.stack([H[place == j].mean(axis=0) for j in range(len(labels))])
    means = np.vstack([(old.C[:, known] / old.counts[known]).T, own])
    scatter = Scatter(old)
    solved = scatter.solve(
        1.0, ridge * scatter.trace() / old.D, np.asfortranarray(np.vstack([means, H]).T)
    )
    V, K = solved[:, : len(means)], solved[:, len(means) :]
    apart = np.einsum("nd,dn->n", H, K)[:, None] - 2 * product(H, V)
    apart += np.einsum("cd,dc->c", means, V)
    to_own = apart[np.arange(len(H)), len(known) + place]
    without = (counts / np.maximum(counts - 1, 1))[place] ** 2
    apart[:, : len(known)][batch.columns[:, None] == known[None]] = np.inf
    farther = without * to_own - apart[:, : len(known)].min(axis=1)
    return np.where(counts[place] == 1, -np.inf, farther)
