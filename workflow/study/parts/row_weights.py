"""How much the rows of a session count before they are summed, and which are left out or get another label."""

from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from sparcl.algebra.backend import product
from sparcl.algebra.sums import Gram, Sums
from sparcl.base.checks import check_choice, check_fraction, check_positive
from sparcl.base.errors import InputError
from sparcl.base.rows import unit
from sparcl.base.state import Shape
from sparcl.base.types import Array
from sparcl.parts.batch import Batch
from sparcl.parts.heads.ridge import Head, Ridge
from sparcl.parts.row_weights import AllRows, farther_from_own, with_every_class


@dataclass
class Weighted(Batch):
    """A session's rows where some count in part, or are of several classes.

    Attributes
    ----------
    row_weights : (n,) of each row that counts as so many samples, or None where all count as one
    labels : (n, classes) fractional labels, or None where they are those of ``columns``
    """

    row_weights: Array | None = None
    labels: Array | None = None

    @classmethod
    def of(cls, batch: Batch, **changes: Any) -> Self:
        """Return the rows of a batch, with these attributes in place of its own."""
        return cls(**{f.name: getattr(batch, f.name) for f in fields(batch)} | changes)

    def take(self, rows: slice | NDArray[np.integer]) -> Self:
        """Return the batch of some of the rows."""
        part: Self = super().take(rows)
        for name in ("row_weights", "labels"):
            of_all = getattr(self, name)
            setattr(part, name, None if of_all is None else of_all[rows])
        return part

    def add_to(self, sums: Sums) -> None:
        """Add the rows: ``R += H^T Omega H``, ``C += H^T Omega Y``, ``n += Omega Y``, Omega their weights.

        n D^2 + 2 n D c flops, and a copy of H.  Where rows of Y do not sum to 1, the scatter may be indefinite.
        """
        if self.row_weights is None and self.labels is None:
            return super().add_to(sums)
        sums.grow(self.classes)
        H = self.H
        Y = one_hot(self.columns, self.classes) if self.labels is None else self.labels
        weights = np.ones(len(H)) if self.row_weights is None else self.row_weights
        sums.add(np.ascontiguousarray(H * np.sqrt(weights)[:, None], dtype=sums.C.dtype))
        Y = np.asarray(Y * weights[:, None], dtype=sums.C.dtype)
        sums.C += product(np.asarray(H, dtype=sums.C.dtype).T, Y)
        sums.counts = sums.counts + Y.sum(axis=0, dtype=np.float64)


def one_hot(columns: NDArray[np.integer], classes: int) -> Array:
    """Return the labels (n, classes) of rows of single columns (n,)."""
    labels: Array = (columns[:, None] == np.arange(classes)).astype(np.float64)
    return labels


class Weighing(AllRows):
    """Gives each row of a session a weight; a class that would lose all of them keeps all."""

    whole_session: ClassVar[str] = "it weights the rows of a session against each other"

    def judge(self, batch: Batch, old: Sums, head: Head, ridge: float) -> Batch:
        """Return the rows with a weight above zero, each with its weight."""
        weights = with_every_class(self.weights(batch, old, head, ridge), batch.columns)
        kept = np.flatnonzero(weights > 0)
        part = batch if len(kept) == len(batch.columns) else batch.take(kept)
        weights = weights[kept]
        return part if (weights == 1).all() else Weighted.of(part, row_weights=weights)

    def weights(self, batch: Batch, old: Sums, head: Head, ridge: float) -> Array:
        """Return the weight (n,) of each row, 0 or above."""
        raise TypeError(f"{type(self).__name__} gives no weights")


NORMAL = 1.4826  # median absolute deviation to standard deviation of a Gaussian
FAR, TRIMMED = 1.5, 3  # standard deviations of the distances, rounds


@dataclass(eq=False)
class Trim(Weighing):
    """Drop rows farther from the centre than ``median + FAR 1.4826 MAD`` of the distances, and iterate.

    Centre and limit are those of the rows still in.  Cost: 3 n D flops a round.
    """

    def weights(self, batch: Batch, old: Sums, head: Head, ridge: float) -> Array:
        """Return 1 for rows that stay and 0 for others (n,)."""
        weights = np.ones(len(batch.columns))
        for column in np.unique(batch.columns):
            rows = np.flatnonzero(batch.columns == column)
            H, stays = batch.H[rows], np.ones(len(rows), dtype=bool)
            for _ in range(TRIMMED):
                apart = np.linalg.norm(H - H[stays].mean(axis=0), axis=1)
                middle = np.median(apart[stays])
                spread = NORMAL * np.median(np.abs(apart[stays] - middle))
                stays = apart <= middle + FAR * spread
            weights[rows] = stays
        return weights


RIDGE, REWEIGHTED = 0.1, 5  # of scores that judge rows; rounds


@dataclass(eq=False)
class Huber(Weighing):
    """``w_i = min(1, median(e) / e_i)`` with leave-one-out residuals e of the ridge on all sums.

    With ``A = R_old + H^T Omega H + RIDGE I`` a row's residual is ``|y_i - f_i| / (1 - w_i h_i^T A^-1 h_i)``,
    as if the row had not been fitted: plain residuals vanish where rows are fewer than coordinates.  Cost
    of a round: D^3 / 3 + 2 n D^2 flops, and a copy of R.
    """

    def weights(self, batch: Batch, old: Sums, head: Head, ridge: float) -> Array:
        """Return Huber's weight (n,) of each row."""
        H, n = batch.H, len(batch.columns)
        Y = one_hot(batch.columns, batch.classes).astype(H.dtype)
        C_old = np.zeros((old.D, batch.classes), dtype=H.dtype)
        C_old[:, : old.C.shape[1]] = old.C
        weights = np.ones(n)
        for _ in range(REWEIGHTED):
            gram = Gram.wrap(np.array(old.R, order="F"))
            gram.add(np.ascontiguousarray(H * np.sqrt(weights)[:, None]))
            C = C_old + product(H.T, Y * weights[:, None])
            with gram.factored(RIDGE) as A:
                solved = A.solve(np.hstack([C, H.T]))
            W, V = solved[:, : batch.classes], solved[:, batch.classes :]
            leverage = weights * np.einsum("nd,dn->n", H, V)
            off = np.linalg.norm(Y - product(H, W), axis=1)
            residual = off / np.maximum(1 - leverage, np.finfo(H.dtype).eps)
            middle = float(np.median(residual))
            weights = np.minimum(1, middle / np.maximum(residual, np.finfo(float).tiny))
        return weights


def nearest_rows(H: Array, k: int) -> tuple[NDArray[np.intp], Array]:
    """Return the k rows nearest to each row of H (n, D), of equal ones the first, and squared distances (n, n).

    A row is left out by its number, so that its copies are neighbours.
    """
    gram, k = Gram.of_rows(H), min(k, len(H) - 1)
    apart = np.add.outer(gram.diagonal, gram.diagonal) - 2 * gram.R.T
    np.fill_diagonal(apart, np.inf)
    within = apart <= np.partition(apart, k - 1, axis=1)[:, k - 1 : k]
    places = np.nonzero(within)[1]
    if len(places) == k * len(H):  # no other row is as far as the last of them
        near = places.reshape(len(H), k)
        order = np.argsort(np.take_along_axis(apart, near, axis=1), axis=1, kind="stable")
        return np.take_along_axis(near, order, axis=1), apart
    return np.argsort(apart, axis=1, kind="stable")[:, :k], apart


NEAREST = 5  # rows, fewer in a session of fewer rows
NEAR = 1e-8  # added to a distance, so that a copy of a row has a finite weight


@dataclass(eq=False)
class Neighbours(Weighing):
    """``w_i = sum over the nearest rows j of the session, without i, of p_ij [y_j = y_i]``, p ~ 1 / distance.

    Source: GeNGuide's weighting, whose code takes the nearest row for the row itself even where there
    are copies; here a row is left out by its number.  Cost: n^2 D flops.
    """

    def weights(self, batch: Batch, old: Sums, head: Head, ridge: float) -> Array:
        """Return the share (n,) of each row's neighbourhood that has its label."""
        n, H = len(batch.columns), batch.H
        if n < 2:
            return np.ones(n)
        nearest, apart = nearest_rows(H, NEAREST)
        distance = np.sqrt(np.maximum(np.take_along_axis(apart, nearest, axis=1), 0))
        p = 1 / (distance + NEAR)
        alike = batch.columns[nearest] == batch.columns[:, None]
        return np.sum(p * alike, axis=1) / p.sum(axis=1)


K_MIN, K_MAX = 11, 51  # of WANN


@dataclass(eq=False)
class AdaptiveNeighbours(Weighing):
    """``w_i = a_i / k_i``: of k = a_i, a_i + 2, ... below K_MAX the first whose nearest rows vote for label y_i.

    The k nearest other rows of the session vote, all of unit norm, and the smallest of equally frequent columns wins;
    k_i is K_MAX where no vote is y_i.  Source: WANN (TMLR 2025).  Its a_i is K_MIN for every row; here it is at most
    half of the rows under the label, without which a small class has no majority anywhere.  K_MAX is at most the
    number of other rows.  Rows of old classes have scattered neighbours only where they are of many classes: a session
    has no rows under their labels.  Cost: n^2 D + n c K_MAX flops.
    """

    def weights(self, batch: Batch, old: Sums, head: Head, ridge: float) -> Array:
        """Return the reliability (n,) of each row, in (0, 1]."""
        first, k, _ = self.voted(batch)
        return first / k

    def voted(self, batch: Batch) -> tuple[NDArray[np.intp], NDArray[np.intp], int]:
        """Return a_i and k_i (n,) of each row, and K_MAX."""
        most = min(K_MAX, len(batch.columns) - 1)
        _, place, counts = np.unique(batch.columns, return_inverse=True, return_counts=True)
        first = np.clip(counts[place] // 2, 1, K_MIN)
        if most < 2:
            return first, first, K_MAX
        nearest, _ = nearest_rows(unit(batch.H), most)
        return first, first_agreeing(place[nearest], place, first, most), most


def first_agreeing(
    near: NDArray[np.intp], own: NDArray[np.intp], first: NDArray[np.intp], most: int
) -> NDArray[np.intp]:
    """Return the first k (n,) of ``first``, ``first + 2``, ... below ``most`` whose majority is ``own``, or ``most``.

    Parameters
    ----------
    near : (n, m) columns of the nearest rows, the nearest first; own : (n,) columns of the rows
    """
    rows = np.arange(len(own))
    votes = np.zeros((len(own), int(own.max()) + 1), dtype=np.int64)
    k = np.full(len(own), most)
    for tried in range(1, most):
        votes[rows, near[:, tried - 1]] += 1
        agrees = (tried >= first) & ((tried - first) % 2 == 0) & (votes.argmax(axis=1) == own)
        k[agrees & (k == most)] = tried
    return k


@dataclass(eq=False)
class AgreeingOnly(AdaptiveNeighbours):
    """Drop the rows for which no number of neighbours votes, those with k_i = K_MAX: WANN's filter before its LDA."""

    def weights(self, batch: Batch, old: Sums, head: Head, ridge: float) -> Array:
        """Return 1 for rows that stay and 0 for others (n,)."""
        _, k, most = self.voted(batch)
        return np.where(k < most, 1.0, 0.0)


@dataclass(eq=False)
class OldModel(Weighing):
    """Drop a row whose least distance to an old class's mean is below that to its own class's mean.

    Distances are those of :func:`sparcl.parts.row_weights.farther_from_own`, at a ridge of the mean eigenvalue.
    """

    def weights(self, batch: Batch, old: Sums, head: Head, ridge: float) -> Array:
        """Return 1 for rows that stay and 0 for others (n,)."""
        return np.where(farther_from_own(batch, old, 1.0) > 0, 0.0, 1.0)


RECHECKS = 2


@dataclass(eq=False)
class Rechecked(Weighing):
    """Fit the head to the sums with the session, drop the rows that it calls an old class, and fit again.

    A row under an old label is dropped where it is called another old class.  Cost of a round: what the
    head costs, n D^2, and a copy of R.
    """

    def weights(self, batch: Batch, old: Sums, head: Head, ridge: float) -> Array:
        """Return 1 for rows that stay and 0 for others (n,)."""
        stays = np.ones(len(batch.columns), dtype=bool)
        if old.n == 0:
            return stays.astype(float)
        for _ in range(RECHECKS):
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
    """Cluster a session into as many clusters as it has classes, and relabel by majority.

    After RACE (2025), which clusters features by BIRCH and relabels by majority; its threshold and its number
    of clusters are not known, so that these are Ward's clusters, one for each class.  A class that
    would be left without a row keeps its rows.  Among equal counts the first label in the order of columns
    wins.  Cost: O(n^2 D).
    """

    whole_session: ClassVar[str] = "it clusters the rows of a session"

    def judge(self, batch: Batch, old: Sums, head: Head, ridge: float) -> Batch:
        """Return the rows under their clusters' labels."""
        from scipy.cluster.hierarchy import fcluster, linkage  # for this part alone: slow to load

        labels, place = np.unique(batch.columns, return_inverse=True)
        if len(batch.columns) < 2 or len(labels) < 2:
            return batch
        cluster = fcluster(linkage(batch.H, method="ward"), len(labels), criterion="maxclust") - 1
        votes = np.zeros((cluster.max() + 1, len(labels)), dtype=np.int64)
        np.add.at(votes, (cluster, place), 1)
        voted = np.argmax(votes, axis=1)[cluster]
        lost = np.setdiff1d(np.arange(len(labels)), voted)
        columns = np.where(np.isin(place, lost), batch.columns, labels[voted])
        return replace(batch, columns=columns)


SURE = float(np.log(0.7 / 0.3))  # the score whose logistic function is 0.7


@dataclass(eq=False)
class PseudoLabels(AllRows):
    """Label a session's rows by the old classes, too, for which the ridge on the sums before it scores them high.

    Source: L3A (ICML 2025), for images of several classes.  Its old sums keep the weights of their session, so that
    the state depends on the order of sessions.  Where classes have equally many rows and no score is high, it is the
    learner with every row alike.  Cost: D^3 / 3 + 2 D^2 c + 2 n D c flops.

    Parameters
    ----------
    labels : ``multi``, a row keeps its label beside those of old classes; a head other than the ridge needs labels
        that sum to 1, and takes equal shares; or ``swap``, it has the label of the highest of these old classes alone;
        a class that would be left without a row keeps its rows
    threshold : a score above it is high, by default L3A's; or ``own``, the mean score of the old class's own rows
    balance : ``sqrt``, a row has the mean over its labels of ``nu_c = K n_c^-1/2 / sum_j n_j^-1/2``, with n_c rows so
        far that came under label c, and K classes; or ``none``
    ridge : of the scores, on R

    Attributes
    ----------
    came : (c,) rows so far that came under each label
    """

    labels: str = "multi"
    threshold: float | str = SURE
    balance: str = "sqrt"
    whole_session: ClassVar[str] = "it labels a session's rows by the sums before it"
    kept: ClassVar[dict[str, Shape | None]] = {"came": (None,)}

    def __post_init__(self) -> None:
        check_choice("labels", self.labels, ("multi", "swap"))
        if self.threshold != "own":
            check_positive("threshold", self.threshold)
        check_choice("balance", self.balance, ("none", "sqrt"))
        self.came = np.zeros(0)

    def judge(self, batch: Batch, old: Sums, head: Head, ridge: float) -> Batch:
        """Return the rows under their labels and those of old classes."""
        came = np.bincount(batch.columns, minlength=batch.classes).astype(float)
        came[: len(self.came)] += self.came
        self.came = came
        columns, row_weights, labels = batch.columns, None, None
        Y = one_hot(columns, batch.classes)
        known = np.flatnonzero(old.counts > 0)
        if len(known):
            W, _ = Ridge().solve(old, RIDGE)
            scores = product(batch.H, W[:, known])
            high = scores > (
                np.einsum("dc,dc->c", W[:, known], old.C[:, known] / old.counts[known])
                if self.threshold == "own"
                else self.threshold
            )
            if self.labels == "multi":
                Y[:, known] = np.maximum(Y[:, known], high)
            else:
                best = known[np.argmax(np.where(high, scores, -np.inf), axis=1)]
                alone = np.where(high.any(axis=1), 0.0, 1.0)
                columns = np.where(with_every_class(alone, columns) > 0, columns, best)
                Y = one_hot(columns, batch.classes)
        several = Y.sum(axis=1)
        if self.balance == "sqrt":
            nu = np.where(came > 0, np.maximum(came, 1) ** -0.5, 0)
            row_weights = Y @ (len(nu) / nu.sum() * nu) / several
        if (several > 1).any():
            labels = Y if isinstance(head, Ridge) else Y / several[:, None]
        return Weighted.of(batch, columns=columns, row_weights=row_weights, labels=labels)


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
        return Weighted.of(batch, labels=Y)
