"""Streams of few rows: a composition's scores from rows rather than from sums, or in the span of these rows."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparcl.algebra import backend
from sparcl.algebra.backend import product
from sparcl.algebra.paired import Paired
from sparcl.algebra.ridge import path
from sparcl.algebra.scatter import NO_SPREAD
from sparcl.algebra.spectra import thin_qr
from sparcl.algebra.sums import Gram
from sparcl.base.errors import InputError, NumericalError
from sparcl.base.types import Array
from sparcl.learners.composed import Composed
from sparcl.learners.learner import Learner
from sparcl.methods.dsal import DualStream
from sparcl.parts.core import Core
from sparcl.parts.heads import BalancedRidge, Ridge, RidgeDiscriminant, RidgedScatter
from sparcl.parts.maps import Features
from sparcl.parts.rules import Given
from sparcl.parts.transforms import Identity


def of(learner: Learner) -> Any:
    """Return what gives the learner's scores on a stream of few rows: itself, where it has nothing quicker."""
    if FewRows.suits(learner):
        return FewRows(learner)  # type: ignore[arg-type]
    if isinstance(learner, DualStream) and FewRowsOfBoth.suits(learner):
        return FewRowsOfBoth(learner)
    return learner


def in_span(learner: Learner, fitted: Array, others: Array) -> tuple[Array, Array]:
    """Return rows to fit on (n, d) and others (m, d) as coordinates in the span of the former, or as they are.

    As they are where this would not be cheaper, or would change a score.  A learner that takes rows as they
    are and whose core is found by its share of the energy keeps bases and weights inside the span of what
    it fits: with an orthonormal basis Q (d, n) of that span its scores of rows H are those of H Q.
    Cost: 4 d n^2 + 2 m d n flops, and D = n in place of d from there on.
    """
    if not (_stays_in_span(learner) and len(fitted) < fitted.shape[1]):
        return fitted, others
    Q, R = thin_qr(fitted.T)
    return R.T, others @ Q


def _stays_in_span(learner: Learner) -> bool:
    return (
        isinstance(learner, Composed)
        and type(learner.transform) is Identity
        and type(learner.map) is Features
        and type(learner.core) is Core
        and learner.core.k is None
        and not learner.core.directions
        and learner.core.condition_limit is None  # of a residual, which goes beyond the span
    )


class FewRows:
    """The scores that ``learner`` would give after each session, without its sums: O(n^2 D + n^3) for n rows so far.

    Where n is far below the D coordinates, as in a base session, this is cheaper than one factor of
    D x D for each value of the rule.  Rows are kept, so that it serves selections and not streams.  They are
    mapped where the learner computes, and solved for on the host.

    Parameters
    ----------
    learner : new, and one that :meth:`suits`; its map and its rule's unit are fixed here
    """

    def __init__(self, learner: Composed) -> None:
        self.learner = learner
        self.classes: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self.H: Array | None = None
        self.labels: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self.weights: list[Array | None] = []

    @staticmethod
    def suits(learner: object) -> bool:
        """Tell whether a learner holds no core, counts all rows alike, is given its values, and solves from rows."""
        return (
            isinstance(learner, Composed)
            and isinstance(learner.rule, Given)
            and min(learner.rule.ridges) > 0
            and type(learner.head) in FROM_ROWS
            and not learner.core.whole_session
            and not learner.row_weights.whole_session
            and learner.core.candidates == 1
        )

    def fit_session(self, Phi: Array, y: NDArray[np.integer]) -> None:
        """Take the rows Phi (n, d) and labels y (n,) of the next session, all of new classes."""
        learner = self.learner
        if self.H is None:
            learner.prepare(Phi)
        H = learner.expand(Phi)
        if self.H is None and learner.rule.relative:
            learner.rule.fix(learner.head.unit(float(np.mean(np.sum(H**2, axis=1)))))
        columns = np.unique(y, return_inverse=True)[1] + len(self.classes)
        self.H = H if self.H is None else np.concatenate([self.H, H])
        self.labels = np.concatenate([self.labels, columns])
        counts = np.bincount(self.labels)
        self.weights.append(learner.head.row_weights(columns, len(self.classes), counts))
        self.classes = np.concatenate([self.classes, np.unique(y)])

    def scores(self, Phi: Array) -> dict[tuple[int, int], Array]:
        """Return scores (n, c) of Phi (n, d) at every point, as :meth:`Composed.scores`."""
        learner, counts = self.learner, np.bincount(self.labels)
        values = np.array(
            [learner.head.effective(value, counts) for value in learner.rule.absolute]
        )
        if self.H is None:
            raise InputError("No session was taken yet: call fit_session before scores.")
        given = [part for part in self.weights if part is not None]
        weights = np.concatenate(given) if given else None
        from_rows = FROM_ROWS[type(learner.head)]
        scores = from_rows(learner.head, self.H, self.labels, weights, learner.expand(Phi), values)
        return {(i, 0): of_value for i, of_value in enumerate(scores)}


# --- scores (m, c) of rows H_scored (m, D) at every ridge, from all rows H (n, D) with columns (n,) -------
# n^2 D + g n^3 / 3 flops for n rows and g ridges


def _of_ridge(
    head: Ridge,
    H: Array,
    columns: NDArray[np.integer],
    weights: Array | None,
    H_scored: Array,
    ridges: Array,
) -> list[Array]:
    """Return the scores of a ridge on rows that weigh as much."""
    Y = backend.of(H).one_hot(columns, np.arange(columns.max() + 1), H)
    if weights is not None:
        root = backend.like(np.sqrt(weights)[:, None], H)
        H, Y = H * root, Y * root
    return path(H, Y, H_scored, ridges)


def _of_scatter(
    head: RidgedScatter,
    H: Array,
    columns: NDArray[np.integer],
    weights: Array | None,
    H_scored: Array,
    ridges: Array,
) -> list[Array]:
    """Return the scores of the discriminant of the ridged scatter, at ridges above 0.

    With E the rows less their class mean, S = E^T E and ``(S + b I)^-1 M = (M - E^T (E E^T + b I)^-1 E M) / b``.
    """
    Y = (columns[:, None] == np.arange(columns.max() + 1)).astype(H.dtype)
    M = product(H.T, Y) / Y.sum(axis=0)
    E = H - M.T[columns]
    K, left, right = Gram.of_rows(E), product(H_scored, E.T), product(E, M)
    spread, total = float(np.sum(E**2)), float(np.sum(H**2))
    if spread <= len(H) * np.finfo(H.dtype).eps * total:
        raise NumericalError(NO_SPREAD)
    unit = spread / (len(H) if head.per == "sample" else H.shape[1])
    scores = []
    for ridge in ridges:
        b = ridge * unit
        with K.factored(b) as A:
            X = A.solve(right)
        # the precision here is twice the inverse
        bias = np.sum(M**2, axis=0) - np.sum(right * X, axis=0)
        scores.append((2 * (product(H_scored, M) - product(left, X)) - bias) / b)
    return scores


def _of_both(
    head: RidgeDiscriminant,
    H: Array,
    columns: NDArray[np.integer],
    weights: Array | None,
    H_scored: Array,
    ridges: Array,
) -> list[Array]:
    """Return the scores of the ridge and the discriminant together."""
    Y = (columns[:, None] == np.arange(columns.max() + 1)).astype(H.dtype)
    K, left = Gram.of_rows(H), product(H_scored, H.T)
    root = np.sqrt(Y.sum(axis=0))
    Yn = np.asfortranarray(Y / root)
    scores = []
    for ridge in ridges:
        with K.factored(float(ridge)) as A:
            P = A.solve(Yn)  # V = H^T P
        KP = K.times(P)
        pair = Paired.from_inner(P, Yn.T @ KP, root)
        inner = (Y / root).T @ KP
        scatter = KP.T @ KP + ridge * (P.T @ KP) - inner.T @ inner
        B, b = head.summed(pair, scatter, len(H))
        scores.append(product(left, product(P, B)) + b)
    return scores


FROM_ROWS: dict[type, Callable[..., list[Array]]] = {
    Ridge: _of_ridge,
    BalancedRidge: _of_ridge,
    RidgedScatter: _of_scatter,
    RidgeDiscriminant: _of_both,
}


class FewRowsOfBoth:
    """The scores of a :class:`DualStream` with given ridges, from all rows themselves (n < M): O(n^2 M + n^3).

    For selections on a base session, as :class:`FewRows`.
    """

    def __init__(self, learner: DualStream) -> None:
        self.learner = learner
        self.classes: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self.labels: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self.a, self.b = (np.zeros((0, learner.width)) for _ in range(2))
        self.E = np.zeros((0, 0))

    @staticmethod
    def suits(learner: DualStream) -> bool:
        """Tell whether both ridges are numbers."""
        return "newest" not in (learner.ridge, learner.ridge_compensation)

    def fit_session(self, Phi: Array, y: NDArray[np.integer]) -> None:
        """Take the rows Phi (n, d) and labels y (n,) of the next session, all of new classes."""
        learner, old = self.learner, len(self.classes)
        if not old:
            learner.begin(np.asarray(Phi, dtype=learner.dtype))
        z = learner.inner(Phi)
        columns = np.unique(y, return_inverse=True)[1] + old
        self.a, self.b = (
            np.concatenate([self.a, np.maximum(z, 0)]),
            np.concatenate([self.b, np.tanh(z)]),
        )
        self.labels = np.concatenate([self.labels, columns])
        self.classes = np.concatenate([self.classes, np.unique(y)])
        c = len(self.classes)
        E = (columns[:, None] == np.arange(c)) - self._main(np.maximum(z, 0))
        E[:, :old] = 0
        self.E = np.concatenate([np.pad(self.E, ((0, 0), (0, c - old))), E])

    def _main(self, a: Array) -> Array:
        """Return the main stream's scores (m, c) of rows a (m, M)."""
        Y = (self.labels[:, None] == np.arange(len(self.classes))).astype(self.a.dtype)
        value = self.learner.given(0)
        return path(self.a, Y, a, np.array([value]))[0]

    def scores(self, Phi: Array) -> dict[tuple[int, int], Array]:
        """Return scores (n, c) of Phi (n, d) at the one point."""
        z = self.learner.inner(Phi)
        value = self.learner.given(1)
        second = path(self.b, self.E, np.tanh(z), np.array([value]))[0]
        return {(0, 0): self._main(np.maximum(z, 0)) + self.learner.ratio * second}
