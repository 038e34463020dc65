"""A composition's scores from rows rather than from sums, for streams of few rows."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparcl.base.errors import InputError
from sparcl.base.types import Array
from sparcl.learners.composed import Composed
from sparcl.learners.learner import Learner
from sparcl.parts.rules import Given


def of(learner: Learner) -> Any:
    """Return what gives the learner's scores on a stream of few rows: itself, where it has nothing quicker."""
    if FewRows.suits(learner):
        return FewRows(learner)  # type: ignore[arg-type]
    quicker = getattr(learner, "few_rows", None)
    return (quicker() if quicker else None) or learner


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
            and min(learner.rule.grid) > 0
            and learner.head.solves_from_rows
            and not learner.core.whole_session
            and not learner.trust.whole_session
            and learner.cores == 1
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
        self.weights.append(learner.head.row_weights(columns, len(self.classes)))
        self.H = H if self.H is None else np.concatenate([self.H, H])
        self.labels = np.concatenate([self.labels, columns])
        learner.head.check(np.bincount(self.labels))
        self.classes = np.concatenate([self.classes, np.unique(y)])

    def scores(self, Phi: Array) -> dict[tuple[int, int], Array]:
        """Return scores (n, c) of Phi (n, d) at every point, as :meth:`Composed.scores`."""
        learner, counts = self.learner, np.bincount(self.labels)
        values = np.array([learner.effective(value, counts) for value in learner.rule.values])
        if self.H is None:
            raise InputError("No session was taken yet: call fit_session before scores.")
        given = [part for part in self.weights if part is not None]
        weights = np.concatenate(given) if given else None
        scores = learner.head.scores_from_rows(
            self.H, self.labels, weights, learner.expand(Phi), values
        )
        return {(i, 0): of_value for i, of_value in enumerate(scores)}
