"""Rules that look at all sessions so far, from sums of rows that were held out of each."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sparcl.algebra import ridge
from sparcl.algebra.sums import Sums
from sparcl.base.checks import check_choice, check_positive
from sparcl.base.state import Shape
from sparcl.base.types import Array
from sparcl.parts.batch import Batch
from sparcl.parts.rules.given import Given
from sparcl.parts.rules.holdout import HoldOut
from sparcl.parts.rules.rule import Fitting, Rule, best, need_two
from sparcl.parts.solutions import Point

LOSSES = ("squared_error", "accuracy")


@dataclass(eq=False)
class AllSessions(Rule):
    """How well each candidate does on the rows held out of every session, from sums alone.

    A second learner of the same composition sees the other rows, with frozen coordinates of its own,
    so that weights never meet the rows that judge them.  Cost: a session of that learner, and
    2 D^2 c flops a candidate.

    Parameters
    ----------
    loss : ``squared_error`` (``ridge.squared_error``), or ``accuracy`` that a Gaussian model of these
        sums predicts (``ridge.predicted_accuracy``)
    holdout : which rows are held out
    """

    grid: tuple[float, ...]
    loss: str = "accuracy"
    holdout: HoldOut = field(default_factory=HoldOut)
    relative: bool = False
    matrices: ClassVar[int] = 3  # those of the other learner and of the rows held out besides
    whole_session: ClassVar[str] = "its rule holds rows of each session out (a number does not)"
    kept: ClassVar[dict[str, Shape | None]] = {
        "unit": None,
        "fitted": None,
        "validation": None,
        "losses": None,
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        for value in self.grid:
            check_positive("grid", value)
        check_choice("loss", self.loss, LOSSES)
        self.needs_targets = self.loss == "squared_error"
        self.fitted: Fitting | None = None
        self.validation: Sums | None = None
        self.losses: list[float] = []

    def arrange(
        self, columns: NDArray[np.integer], session: int
    ) -> tuple[NDArray[np.intp] | None, int]:
        """Return the rows, those held out last, and how many fit; InputError for a single row."""
        need_two(len(columns), "all" if self.loss == "squared_error" else "gaussian")
        fit, validate = self.holdout.split(columns, session)
        return np.concatenate([fit, validate]), len(fit)

    def choose(self, batch: Batch, cut: int, learner: Fitting) -> list[Point]:
        """Return the one point that does best on all rows held out so far."""
        if self.fitted is None or self.validation is None:
            self.fitted = learner.twin(Given(self.values, drop=True), batch.Phi.shape[1])
            self.validation = learner.total.empty()
        self.fitted.learn(batch.take(slice(cut)), cut)
        batch.take(slice(cut, None)).add_to(self.validation)
        self.losses = [self._loss(W, b) for W, b in self.fitted.solutions]
        chosen = best(self.points(learner.cores), self.losses, "loss on the rows held out")
        return [chosen._replace(i=0)]

    def _loss(self, W: Array, b: Array | None) -> float:
        """Return the loss of W (D, c), b (c,) on the rows held out; infinite where W has no column, unsolved."""
        sums = self.validation
        if sums is None or W.shape[1] != len(sums.counts):
            return np.inf
        if self.loss == "squared_error":
            return ridge.squared_error(W, sums.R, sums.C)
        return -ridge.predicted_accuracy(W, sums.R, sums.C, sums.counts, b)

    def report(self) -> dict[str, Any]:
        """Return the loss of each point in the last session; accuracies are negative."""
        return super().report() | {"validation_losses": self.losses}
