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
from sparcl.base.checks import check_choice, check_fraction, check_int, check_positive
from sparcl.base.errors import InputError
from sparcl.base.rows import unit
from sparcl.base.state import Shape, Stateful
from sparcl.base.types import Array
from sparcl.parts.batch import Batch
from sparcl.parts.heads.ridge import Head, Ridge


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
        nearest, apart = nearest_rows(H, self.k)
        distance = np.sqrt(np.maximum(np.take_along_axis(apart, nearest, axis=1), 0))
        p = 1 / (distance + NEAR)
        alike = batch.columns[nearest] == batch.columns[:, None]
        return np.sum(p * alike, axis=1) / p.sum(axis=1)


@dataclass(eq=False)
class AdaptiveNeighbours(Weighing):
    """``w_i = a_i / k_i``: of k = a_i, a_i + 2, ... below k_max the first whose nearest rows vote for label y_i.

    The k nearest other rows of the session vote, and the smallest of equally frequent columns wins; k_i is k_max
    where no vote is y_i.  Source: WANN (TMLR 2025), with k from 11 to 51.  Its a_i is ``k_min`` for every row; here it
    is at most half of the rows under the label, without which a small class has no majority anywhere.  k_max is at
    most the number of other rows.  Rows of old classes have scattered neighbours only where they are of many classes:
    a session has no rows under their labels.  Cost: n^2 D + n c k_max flops.

    Parameters
    ----------
    k_min, k_max : as above, k_min below k_max
    scale : ``unit``, distances of rows of unit norm, or ``z``, of coordinates with mean 0 and variance 1 in the session
    """

    k_min: int = 11
    k_max: int = 51
    scale: str = "unit"

    def __post_init__(self) -> None:
        check_int("k_min", self.k_min, least=1)
        check_int("k_max", self.k_max, least=self.k_min + 1)
        check_choice("scale", self.scale, ("unit", "z"))

    def weights(self, batch: Batch, old: Sums, head: Head, ridge: float) -> Array:
        """Return the reliability (n,) of each row, in (0, 1]."""
        first, k, _ = self.voted(batch)
        return first / k

    def voted(self, batch: Batch) -> tuple[NDArray[np.intp], NDArray[np.intp], int]:
        """Return a_i and k_i (n,) of each row, and k_max."""
        n, H = len(batch.columns), batch.H
        most = min(self.k_max, n - 1)
        _, place, counts = np.unique(batch.columns, return_inverse=True, return_counts=True)
        first = np.clip(counts[place] // 2, 1, self.k_min)
        if most < 2:
            return first, first, self.k_max
        if self.scale == "z":
            spread = H.std(axis=0)
            # what differs by rounding alone is constant
            alike = spread <= np.finfo(H.dtype).eps * np.abs(H).max(axis=0, initial=0)
            H = np.where(alike, 0, H - H.mean(axis=0)) / np.where(alike, 1, spread)
        else:
            H = unit(H)
        nearest, _ = nearest_rows(H, most)
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
    """Drop the rows for which no number of neighbours votes, those with k_i = k_max: WANN's filter before its LDA."""

    def weights(self, batch: Batch, old: Sums, head: Head, ridge: float) -> Array:
        """Return 1 for rows that stay and 0 for others (n,)."""
        _, k, most = self.voted(batch)
        return np.where(k < most, 1.0, 0.0)


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
    ridge: float = 0.1
    whole_session: ClassVar[str] = "it labels a session's rows by the sums before it"
    kept: ClassVar[dict[str, Shape | None]] = {"came": (None,)}

    def __post_init__(self) -> None:
        check_choice("labels", self.labels, ("multi", "swap"))
        if self.threshold != "own":
            check_positive("threshold", self.threshold)
        check_choice("balance", self.balance, ("none", "sqrt"))
        check_positive("ridge", self.ridge)
        self.came = np.zeros(0)

    def judge(self, batch: Batch, old: Sums, head: Head, ridge: float) -> Batch:
        """Return the rows under their labels and those of old classes."""
        came = np.bincount(batch.columns, minlength=batch.classes).astype(float)
        came[: len(self.came)] += self.came
        self.came = came
        H, judged = batch.H, batch.take(slice(None))
        Y = (batch.columns[:, None] == np.arange(batch.classes)).astype(np.float64)
        known = np.flatnonzero(old.counts > 0)
        if len(known):
            W, _ = Ridge().solve(old, self.ridge)
            scores = product(H, W[:, known])
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
                stays = with_every_class(alone, batch.columns) > 0
                judged.columns = np.where(stays, batch.columns, best)
                Y = (judged.columns[:, None] == np.arange(batch.classes)).astype(np.float64)
        several = Y.sum(axis=1)
        if self.balance == "sqrt":
            nu = np.where(came > 0, np.maximum(came, 1) ** -0.5, 0)
            judged.row_weights = Y @ (len(nu) / nu.sum() * nu) / several
        if (several > 1).any():
            judged.targets = Y if isinstance(head, Ridge) else Y / several[:, None]
        return judged


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
