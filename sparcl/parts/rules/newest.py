"""Rules that look at the newest session alone."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sparcl.algebra import ridge
from sparcl.algebra.backend import like
from sparcl.algebra.linalg import one_hot
from sparcl.base.checks import check_positive
from sparcl.base.state import Shape
from sparcl.base.types import Array
from sparcl.parts.batch import Batch
from sparcl.parts.rules.holdout import HoldOut
from sparcl.parts.rules.rule import Fitting, Rule, best, need_two
from sparcl.parts.solutions import Point


class OfSession(Rule):
    """A rule whose losses are those of the newest session."""

    losses: list[float]
    compares_cores: ClassVar[bool] = False
    needs_targets = True
    kept: ClassVar[dict[str, Shape | None]] = {"unit": None, "losses": None}

    def __post_init__(self) -> None:
        super().__post_init__()
        for value in self.grid:
            check_positive("grid", value)
        self.losses = []

    def choose(self, batch: Batch, cut: int, learner: Fitting) -> list[Point]:
        """Return the one point with the smallest loss."""
        # targets have the session's columns alone: in the others they and the scores are 0
        H = batch.H
        Y = one_hot(batch.columns, np.unique(batch.columns), H)
        if batch.weights is not None:
            root = like(np.sqrt(batch.weights)[:, None], H)
            H, Y = H * root, Y * root
        counts = np.bincount(batch.columns)
        values = np.array([learner.effective(value, counts) for value in self.values])
        self.losses = self._losses(H, Y, cut, values).tolist()
        return [best(self.points(1), self.losses, "error on the session")._replace(i=0)]

    def _losses(self, H: Array, Y: Array, cut: int, values: Array) -> Array:
        """Return the loss (g,) of each value on mapped rows H (n, D) with targets Y (n, c)."""
        raise TypeError(f"{type(self).__name__} has no loss")

    def report(self) -> dict[str, Any]:
        """Return the loss of each value in the last session."""
        return super().report() | {"validation_losses": self.losses}


@dataclass(eq=False)
class Newest(OfSession):
    """Squared error on rows held out of the newest session (RanPAC, NeurIPS 2023)."""

    grid: tuple[float, ...]
    holdout: HoldOut = field(default_factory=HoldOut)
    relative: bool = False
    squares: ClassVar[int] = 1
    whole_session: ClassVar[str] = "the rule 'newest' looks at each session (a number does not)"

    def arrange(
        self, columns: NDArray[np.integer], session: int
    ) -> tuple[NDArray[np.intp] | None, int]:
        """Return the rows, those held out last, and how many fit; InputError for a single row."""
        need_two(len(columns), "newest")
        fit, validate = self.holdout.split(columns, session)
        return np.concatenate([fit, validate]), len(fit)

    def _losses(self, H: Array, Y: Array, cut: int, values: Array) -> Array:
        return ridge.holdout(H[:cut, :], Y[:cut, :], H[cut:, :], Y[cut:, :], values)


@dataclass(eq=False)
class CrossValidated(OfSession):
    """Generalised cross-validation on the newest session (Fly-CL, 2025)."""

    grid: tuple[float, ...]
    relative: bool = False
    squares: ClassVar[int] = 5  # K, and of a candidate its shift, factor and inverse
    whole_session: ClassVar[str] = "the rule 'gcv' looks at each session (a number does not)"

    def _losses(self, H: Array, Y: Array, cut: int, values: Array) -> Array:
        return ridge.gcv(H, Y, values)
