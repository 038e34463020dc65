"""Cross-validated accuracy on the newest session, beside the sums of the earlier ones (LayUP, 2024)."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sparcl.algebra import linalg
from sparcl.algebra.backend import host
from sparcl.algebra.sums import Sums
from sparcl.base.checks import check_int, check_positive
from sparcl.base.errors import InputError, NumericalError
from sparcl.base.state import Shape
from sparcl.base.types import Array
from sparcl.parts.batch import Batch
from sparcl.parts.rules.rule import Fitting, Rule, best
from sparcl.parts.solutions import Point


@dataclass(eq=False)
class Folds(Rule):
    """Mean accuracy over folds of the session's rows, each scored by a ridge on all the rest.

    Folds are stratified and keep the rows' order (:func:`stratified`); the argmax is over all classes, those
    of earlier sessions included, and ties go to the first candidate.  With B = R + ridge I over the earlier
    sessions, H the session's rows, ``G = H B^-1 H^T`` and ``P = H B^-1 C``, the scores of fold F by a ridge that
    saw the earlier sessions and the other rows T are ``P_F + G_FT (I + G_TT)^-1 (Y_T - P_T)``: one factor a
    candidate serves all folds.  Cost: D^3 / 3 + 2 D^2 n + n^2 D flops a candidate for n rows.

    Parameters
    ----------
    folds : at least 2; a session needs as many rows
    """

    grid: tuple[float, ...]
    folds: int = 4
    relative: bool = False
    compares_cores: ClassVar[bool] = False
    squares: ClassVar[int] = 1
    needs_targets = True  # scores are those of a ridge
    whole_session: ClassVar[str] = "its rule looks at each session (a number does not)"
    kept: ClassVar[dict[str, Shape | None]] = {"unit": None, "losses": None}

    def __post_init__(self) -> None:
        super().__post_init__()
        for value in self.grid:
            check_positive("grid", value)
        check_int("folds", self.folds, least=2)
        self.losses: list[float] = []

    def arrange(
        self, columns: NDArray[np.integer], session: int
    ) -> tuple[NDArray[np.intp] | None, int]:
        """Return the rows as they are; InputError for fewer rows than folds."""
        if len(columns) < self.folds:
            raise InputError(
                f"the session has {len(columns)} samples, and {self.folds} folds need as many: join it with "
                "another, or give the ridge as a number."
            )
        return super().arrange(columns, session)

    def choose(self, batch: Batch, cut: int, learner: Fitting) -> list[Point]:
        """Return the point with the best mean accuracy."""
        fold = stratified(batch.columns, self.folds)
        self.losses = [
            self._loss(batch, learner.total, fold, point.value) for point in self.points(1)
        ]
        return [best(self.points(1), self.losses, "accuracy on the folds")._replace(i=0)]

    def _loss(self, batch: Batch, before: Sums, fold: NDArray[np.integer], value: float) -> float:
        """Return the mean error over folds; infinite where there is no solution in this precision."""
        H, c, on = batch.H, before.C.shape[1], before.gram.on
        P = np.zeros((len(batch), batch.classes), dtype=on.dtype(H))
        try:
            with before.gram.factored(value) as B:
                V = B.solve(on.laid_out(H.T))
                P[:, :c] = host(V.T @ before.C)
            G = host(linalg.product(H, V))  # folds are scored on the host
            wrong = [_wrong(G, P, batch.columns, fold == f) for f in range(self.folds)]
        except NumericalError:
            return np.inf
        return float(np.mean([part for part in wrong if part is not None]))

    def report(self) -> dict[str, Any]:
        """Return the mean error of each candidate in the last session."""
        return super().report() | {"validation_losses": self.losses}


def _wrong(
    G: Array, P: Array, columns: NDArray[np.integer], held: NDArray[np.bool_]
) -> float | None:
    """Return the share of the held rows whose best score is another class's; None for no row."""
    if not held.any():
        return None
    others = ~held
    missing = -P[others]
    missing[np.arange(len(missing)), columns[others]] += 1
    K = G[np.ix_(others, others)] + np.eye(len(missing), dtype=G.dtype)
    scores = P[held] + G[np.ix_(held, others)] @ linalg.solve_definite(K, missing)
    if not np.isfinite(scores).all():
        raise NumericalError("scores of a fold are not finite")
    return float(np.mean(np.argmax(scores, axis=1) != columns[held]))


def stratified(columns: NDArray[np.integer], folds: int) -> NDArray[np.int64]:
    """Return the fold (n,) of each row, so that classes are shared out evenly and rows keep their order.

    With the rows sorted by class, classes in order of appearance, position p counts for fold p mod
    ``folds``; a class sends its first rows to the first fold that it counts for, and so on.
    """
    classes, first = np.unique(columns, return_index=True)
    fold = np.empty(len(columns), dtype=np.int64)
    start = 0
    for column in classes[np.argsort(first)]:
        rows = np.flatnonzero(columns == column)
        fold[rows] = np.sort(np.arange(start, start + len(rows)) % folds)
        start += len(rows)
    return fold
