"""How much the rows of a session count before they are summed, and which are left out or get another label."""

import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sparcl.algebra.backend import product
from sparcl.algebra.contamination import contaminated_share
from sparcl.algebra.scatter import Scatter
from sparcl.algebra.sums import Gram, Sums
from sparcl.base.checks import check_fraction, check_int, check_positive
from sparcl.base.errors import InputError
from sparcl.base.state import Shape, Stateful
from sparcl.base.types import Array
from sparcl.parts.batch import Batch
from sparcl.parts.heads.ridge import Head


@dataclass(eq=False)
class AllRows(Stateful):
    """Counts every row alike.

    Rows are held during their session only: what is kept is sums, with ``R += H^T Omega H``,
    ``C += H^T Omega Y`` and ``n += Omega Y`` for row weights Omega and labels Y.  Settings are fixed without
    knowing how many rows are wrong.

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
        """Return what was noticed in the last session."""
        return {}


class Weighing(AllRows):
    """Gives each row of a session a weight; a class that would lose all of them keeps all."""

    whole_session: ClassVar[str] = "it weights the rows of a session against each other"

    def judge(self, batch: Batch, old: Sums, head: Head, ridge: float) -> Batch:
        """Return the rows with a weight above zero, each with its weight."""
        weights = with_every_class(self.weights(batch, old, head, ridge), batch.columns)
        kept = np.flatnonzero(weights > 0)
        part = batch if len(kept) == len(batch.columns) else batch.take(kept)
        weights = weights[kept]
        return part if (weights == 1).all() else dataclasses.replace(part, row_weights=weights)

    def weights(self, batch: Batch, old: Sums, head: Head, ridge: float) -> Array:
        """Return the weight (n,) of each row, 0 or above."""
        raise TypeError(f"{type(self).__name__} gives no weights")


def with_every_class(weights: Array, columns: NDArray[np.integer]) -> Array:
    """Return weights (n,) in which rows of a class without any weight count 1 each."""
    total = np.bincount(columns, weights=weights)
    return np.where(total[columns] > 0, weights, 1.0)


NORMAL = 1.4826  # median absolute deviation to standard deviation of a Gaussian


@dataclass(eq=False)
class Trim(Weighing):
    """Drop rows farther from the centre than ``median + k 1.4826 MAD`` of the distances, and iterate.

    Centre and limit are those of the rows still in.  Cost: 3 n D flops a round.

    Parameters
    ----------
    k : standard deviations of the distances; rounds : of centre and limit
    """

    k: float = 1.5
    rounds: int = 3

    def __post_init__(self) -> None:
        check_positive("k", self.k)
        check_int("rounds", self.rounds, least=1)

    def weights(self, batch: Batch, old: Sums, head: Head, ridge: float) -> Array:
        """Return 1 for rows that stay and 0 for others (n,)."""
        weights = np.ones(len(batch.columns))
        for column in np.unique(batch.columns):
            rows = np.flatnonzero(batch.columns == column)
            H, stays = batch.H[rows], np.ones(len(rows), dtype=bool)
            for _ in range(self.rounds):
                apart = np.linalg.norm(H - H[stays].mean(axis=0), axis=1)
                middle = np.median(apart[stays])
                spread = NORMAL * np.median(np.abs(apart[stays] - middle))
                stays = apart <= middle + self.k * spread
            weights[rows] = stays
        return weights


@dataclass(eq=False)
class Huber(Weighing):
    """``w_i = min(1, k median(e) / e_i)`` with leave-one-out residuals e of the ridge on all sums.

    With ``A = R_old + H^T Omega H + ridge I`` a row's residual is ``|y_i - f_i| / (1 - w_i h_i^T A^-1 h_i)``,
    as if the row had not been fitted: plain residuals vanish where rows are fewer than coordinates.  Cost
    of a round: D^3 / 3 + 2 n D^2 flops, and a copy of R.

    Parameters
    ----------
    k : residuals up to k times the median have full weight
    ridge : of A; rounds : of weights and residuals
    """

    k: float = 1.0
    ridge: float = 0.1
    rounds: int = 5

    def __post_init__(self) -> None:
        check_positive("k", self.k)
        check_positive("ridge", self.ridge)
        check_int("rounds", self.rounds, least=1)

    def weights(self, batch: Batch, old: Sums, head: Head, ridge: float) -> Array:
        """Return Huber's weight (n,) of each row."""
        H, n = batch.H, len(batch.columns)
        Y = np.zeros((n, batch.classes), dtype=H.dtype)
        Y[np.arange(n), batch.columns] = 1
        C_old = np.zeros((old.D, batch.classes), dtype=H.dtype)
        C_old[:, : old.C.shape[1]] = old.C
        weights = np.ones(n)
        for _ in range(self.rounds):
            gram = Gram.wrap(np.array(old.R, order="F"))
            gram.add(np.ascontiguousarray(H * np.sqrt(weights)[:, None]))
            C = C_old + product(H.T, Y * weights[:, None])
            with gram.factored(self.ridge) as A:
                solved = A.solve(np.hstack([C, H.T]))
            W, V = solved[:, : batch.classes], solved[:, batch.classes :]
            leverage = weights * np.einsum("nd,dn->n", H, V)
            off = np.linalg.norm(Y - product(H, W), axis=1)
            residual = off / np.maximum(1 - leverage, np.finfo(H.dtype).eps)
            middle = float(np.median(residual))
            weights = np.minimum(1, self.k * middle / np.maximum(residual, np.finfo(float).tiny))
        return weights


NEAR = 1e-8  # added to a distance, so that a copy of a row has a finite weight


@dataclass(eq=False)
class Neighbours(Weighing):
    """``w_i = sum over the k nearest rows j of the session, without i, of p_ij [y_j = y_i]``, p ~ 1 / distance.

    Source: GeNGuide's weighting, whose code takes the nearest row for the row itself even where there
    are copies; here a row is left out by its number.  Cost: n^2 D flops.

    Parameters
    ----------
    k : neighbours, fewer in a session of fewer rows
    """

    k: int = 5

    def __post_init__(self) -> None:
        check_int("k", self.k, least=1)

    def weights(self, batch: Batch, old: Sums, head: Head, ridge: float) -> Array:
        """Return the share (n,) of each row's neighbourhood that has its label."""
        n, H = len(batch.columns), batch.H
        if n < 2:
            return np.ones(n)
        squares = np.einsum("nd,nd->n", H, H)
        apart = squares[:, None] + squares[None] - 2 * product(H, np.ascontiguousarray(H.T))
        np.fill_diagonal(apart, np.inf)
        nearest = np.argsort(apart, axis=1, kind="stable")[:, : min(self.k, n - 1)]
        distance = np.sqrt(np.maximum(np.take_along_axis(apart, nearest, axis=1), 0))
        p = 1 / (distance + NEAR)
        alike = batch.columns[nearest] == batch.columns[:, None]
        return np.sum(p * alike, axis=1) / p.sum(axis=1)


@dataclass(eq=False)
class OldModel(Weighing):
    """Drop a row whose least distance to an old class's mean is below that to its own class's mean.

    Parameters
    ----------
    ridge : of the scatter, relative to its mean eigenvalue
    """

    ridge: float = 1.0

    def __post_init__(self) -> None:
        check_positive("ridge", self.ridge)

    def weights(self, batch: Batch, old: Sums, head: Head, ridge: float) -> Array:
        """Return 1 for rows that stay and 0 for others (n,)."""
        return np.where(self.farther_from_own(batch, old) > 0, 0.0, 1.0)

    def farther_from_own(self, batch: Batch, old: Sums) -> Array:
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
            1.0, self.ridge * scatter.trace() / old.D, np.asfortranarray(np.vstack([means, H]).T)
        )
        V, K = solved[:, : len(means)], solved[:, len(means) :]
        apart = np.einsum("nd,dn->n", H, K)[:, None] - 2 * product(H, V)
        apart += np.einsum("cd,dc->c", means, V)
        to_own = apart[np.arange(len(H)), len(known) + place]
        without = (counts / np.maximum(counts - 1, 1))[place] ** 2
        apart[:, : len(known)][batch.columns[:, None] == known[None]] = np.inf
        farther = without * to_own - apart[:, : len(known)].min(axis=1)
        return np.where(counts[place] == 1, -np.inf, farther)


@dataclass(eq=False)
class ContaminationFilter(Weighing):
    """Estimate which share of a session is contaminated, from its sums, and drop at most so many rows.

    Dropped are those that :class:`OldModel` would drop, the clearest first.  Below ``limit`` nothing is dropped, so
    that a clean session loses nothing.  This project's own (:func:`sparcl.algebra.contamination.contaminated_share`).
    Cost: 2 D^2 c + 2 n D c flops, and that of OldModel from the limit on.

    Parameters
    ----------
    limit : contaminated share from which on rows are dropped
    errors : standard errors by which the share must exceed 0 besides
    ridge : of OldModel

    Attributes
    ----------
    noticed : contaminated share in the last session
    """

    limit: float = 0.1
    errors: float = 1.0
    ridge: float = 1.0
    kept: ClassVar[dict[str, Shape | None]] = {"noticed": float}

    def __post_init__(self) -> None:
        check_fraction("limit", self.limit)
        check_positive("errors", self.errors)
        self.model = OldModel(self.ridge)
        self.noticed = 0.0

    def weights(self, batch: Batch, old: Sums, head: Head, ridge: float) -> Array:
        """Return 1 for rows that stay and 0 for others (n,)."""
        known = np.count_nonzero(old.counts)
        share, error = contaminated_share(old, batch.H, batch.columns) if known else (0.0, 0.0)
        self.noticed = share if share >= max(self.limit, self.errors * error) else 0.0
        weights = np.ones(len(batch.columns))
        if self.noticed == 0:
            return weights
        farther = self.model.farther_from_own(batch, old)
        clearest = np.argsort(-farther, kind="stable")[: round(self.noticed * len(batch.columns))]
        weights[clearest[farther[clearest] > 0]] = 0
        return weights

    def report(self) -> dict[str, Any]:
        """Return the contaminated share in the last session."""
        return {"noticed": self.noticed}


@dataclass(eq=False)
class Rechecked(Weighing):
    """Fit the head to the sums with the session, drop the rows that it calls an old class, and fit again.

    A row under an old label is dropped where it is called another old class.  Cost of a round: what the
    head costs, n D^2, and a copy of R.

    Parameters
    ----------
    rounds : of fitting and dropping
    """

    rounds: int = 2

    def __post_init__(self) -> None:
        check_int("rounds", self.rounds, least=1)

    def weights(self, batch: Batch, old: Sums, head: Head, ridge: float) -> Array:
        """Return 1 for rows that stay and 0 for others (n,)."""
        stays = np.ones(len(batch.columns), dtype=bool)
        if old.n == 0:
            return stays.astype(float)
        for _ in range(self.rounds):
            total = old.copy()
            batch.take(np.flatnonzero(stays)).add_to(total)
            # a class of which nothing is left has no weights, and is never predicted
            live = np.flatnonzero(total.counts > 0)
            total.C, total.counts = np.asfortranarray(total.C[:, live]), total.counts[live]
            W, b = head.solve(total, ridge)
            scores = product(batch.H, W) + (0 if b is None else b)
            called = live[np.argmax(scores, axis=1)]
            stays &= (called >= batch.old) | (called == batch.columns)
        return stays.astype(float)


@dataclass(eq=False)
class NewOnly(AllRows):
    """Drop every row under the label of an old class; a session of nothing else adds nothing."""

    whole_session: ClassVar[str] = "it must know which classes are old"

    def judge(self, batch: Batch, old: Sums, head: Head, ridge: float) -> Batch:
        """Return the rows of new classes."""
        return batch.take(np.flatnonzero(batch.columns >= batch.old))


@dataclass(eq=False)
class Clusters(AllRows):
    """Cluster a session into ``share`` times as many clusters as it has classes, and relabel by majority.

    After RACE (2025), which clusters features by BIRCH and relabels by majority; its threshold and its number
    of clusters are not known, so that these are Ward's clusters and a share of the classes.  A class that
    would be left without a row keeps its rows.  Among equal counts the first label in the order of columns
    wins.  Cost: O(n^2 D).

    Parameters
    ----------
    share : clusters for each class of the session, at least one in all
    """

    share: float = 1.0
    whole_session: ClassVar[str] = "it clusters the rows of a session"

    def __post_init__(self) -> None:
        check_positive("share", self.share)

    def judge(self, batch: Batch, old: Sums, head: Head, ridge: float) -> Batch:
        """Return the rows under their clusters' labels."""
        from scipy.cluster.hierarchy import fcluster, linkage  # for this part alone: slow to load

        labels, place = np.unique(batch.columns, return_inverse=True)
        wanted = int(np.clip(self.share * len(labels), 1, len(place)).round())
        if len(batch.columns) < 2 or len(labels) < 2:
            return batch
        cluster = fcluster(linkage(batch.H, method="ward"), wanted, criterion="maxclust") - 1
        votes = np.zeros((cluster.max() + 1, len(labels)), dtype=np.int64)
        np.add.at(votes, (cluster, place), 1)
        voted = np.argmax(votes, axis=1)[cluster]
        lost = np.setdiff1d(np.arange(len(labels)), voted)
        columns = np.where(np.isin(place, lost), batch.columns, labels[voted])
        return dataclasses.replace(batch, columns=columns)


@dataclass(eq=False)
class NoiseMatrix(AllRows):
    """Take ``Y T^-1`` for a session's labels Y, T the matrix by which labels were flipped.

    With rate e and m classes in the session ``T = (1 - e) I + e / (m - 1) (1 1^T - I)``, whose inverse is
    ``(I - e / (m - 1) 1 1^T) / (1 - e m / (m - 1))``: C and the counts become unbiased, R has no labels.  It
    is told the rate, which no other kind is, and a scatter from such sums may be indefinite: a control.

    Parameters
    ----------
    rate : e, in (0, 1)
    """

    rate: float = 0.4
    whole_session: ClassVar[str] = "it corrects the labels of whole sessions"

    def __post_init__(self) -> None:
        check_fraction("rate", self.rate)

    def judge(self, batch: Batch, old: Sums, head: Head, ridge: float) -> Batch:
        """Return the rows with fractional labels.

        Raises
        ------
        InputError
            At the rate at which labels say nothing, e = (m - 1) / m.
        """
        labels, place = np.unique(batch.columns, return_inverse=True)
        m = len(labels)
        if m < 2:
            return batch
        off = self.rate / (m - 1)
        left = 1 - self.rate - off
        if abs(left) < 1e-9:
            raise InputError(
                f"noise-matrix: at rate {self.rate:g} labels of a session of {m} classes say nothing; lower it."
            )
        Y = np.zeros((len(batch.columns), batch.classes))
        Y[:, labels] = ((place[:, None] == np.arange(m)) - off) / left
        return dataclasses.replace(batch, targets=Y)
