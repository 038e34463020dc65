"""Streams of few rows: a composition's scores from rows rather than from sums, or in the span of these rows."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparcl.algebra.spectra import thin_qr
from sparcl.base.errors import InputError
from sparcl.base.types import Array
from sparcl.learners.composed import Composed
from sparcl.learners.learner import Learner
from sparcl.parts.core import Core
from sparcl.parts.maps import Features
from sparcl.parts.rules import Given
from sparcl.parts.transforms import Identity


def of(learner: Learner) -> Any:
    """Return what gives the learner's scores on a stream of few rows: itself, where it has nothing quicker."""
    if FewRows.suits(learner):
        return FewRows(learner)  # type: ignore[arg-type]
    quicker = getattr(learner, "few_rows", None)
    return (quicker() if quicker else None) or learner


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
    """What ``learner`` would score after each session, without its sums: O(n^2 D + n^3) for n rows so far.

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
        """Tell whether a learner holds no core, trusts all rows, is given its values, and solves from rows."""
        return (
            isinstance(learner, Composed)
            and isinstance(learner.rule, Given)
            and min(learner.rule.ridges) > 0
            and learner.head.solves_from_rows
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
        scores = learner.head.scores_from_rows(
            self.H, self.labels, weights, learner.expand(Phi), values
        )
        return {(i, 0): of_value for i, of_value in enumerate(scores)}
