"""Cores for comparison: all old columns frozen, and a held ridge's scores added to those of another head."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from sparcl.algebra.sums import Sums
from sparcl.base.checks import check_positive
from sparcl.base.errors import NumericalError
from sparcl.base.state import Shape
from sparcl.base.types import Array
from sparcl.parts.batch import Batch, Solution
from sparcl.parts.core import Core, NoCore, Request
from sparcl.parts.heads import RidgedScatter


@dataclass(eq=False)
class Frozen(NoCore):
    """Old classes keep weights and bias altogether, of any head; new ones take the head's solution.

    The limit of a core that holds all of the space.  Cost: that of the head.

    Attributes
    ----------
    before : b (c,) of every point after the last session, for heads that have one
    """

    whole_session: ClassVar[str] = "it keeps weights of earlier sessions"
    kept: ClassVar[dict[str, Shape | None]] = {"before": (None,)}

    def __post_init__(self) -> None:
        self.before: list[Array] = []

    def solve(self, request: Request) -> list[Solution]:
        """Return weights (D, c) and bias (c,) at every point, old columns as they were."""
        solved, previous, old = super().solve(request), request.previous, request.arrival.old
        result: list[Solution] = []
        for p, (W, b) in enumerate(solved):
            if previous and previous[p].shape[1] == old:
                W = np.asfortranarray(np.hstack([previous[p], W[:, old:]]))
                b = None if b is None else np.concatenate([self.before[p], b[old:]])
            result.append((W, b))
        self.before = [b for _, b in result if b is not None]
        return result


@dataclass(eq=False)
class Blend(Core):
    """``z = z_held / 2 s_held + z_other / 2 s_other``, of a held ridge and of the discriminant of the ridged scatter.

    The held ridge remembers what old classes were given; a discriminant on the same sums sees every session.  Each
    head's scores are divided by the spread s of their differences between classes over all rows summed.
    A session costs what both heads cost, and 4 D^2 c flops for the two spreads.

    Parameters
    ----------
    value : ridge of the scatter, relative to its mean eigenvalue; others are those of the core that holds the ridge

    Attributes
    ----------
    held : W (D, c) of the held ridge at every point
    """

    value: float = 1.0
    blends: ClassVar[bool] = True
    kept: ClassVar[dict[str, Shape | None]] = {"held": ("D", None)}

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive("value", self.value)
        self.held: list[Array] = []

    def open(self, batch: Batch, sums: Sums, ridge: float, single: bool) -> None:
        """Renew the core from the sums of the previous sessions; there is no recursive update."""
        self.renew(sums, batch.session, ridge)

    def solve(self, request: Request) -> list[Solution]:
        """Return weights (D, c) and bias (c,) of the sum of both scores at every point."""
        sums = request.sums
        self.held = [W for W, _ in super().solve(replace(request, previous=self.held))]
        W_other, b = RidgedScatter().solve(sums, self.value)
        bias = np.zeros(W_other.shape[1]) if b is None else b
        share = 0.5 / score_spread(sums, W_other, bias)
        result: list[Solution] = []
        for W in self.held:
            if W.shape[1] == 0:  # a point without a solution in this precision
                result.append((W, np.zeros(0)))
                continue
            own = 0.5 / score_spread(sums, W, np.zeros(W.shape[1]))
            result.append((np.asfortranarray(own * W + share * W_other), share * bias))
        return result


def score_spread(sums: Sums, W: Array, b: Array) -> float:
    """Return the root mean square difference between the scores ``h W + b`` of two classes, over all rows.

    From sums alone: with columns centred over the c classes it is ``sqrt(2 E ||z||^2 / (c - 1))``, and
    ``E ||z||^2 = (tr W^T R W + 2 r W b) / n + ||b||^2``, r the sum of all rows.  2 D^2 c flops.
    One class has no difference, and the spread is 1.

    Raises
    ------
    NumericalError
        When all classes have the same scores.
    """
    c = W.shape[1]
    if c < 2:
        return 1.0
    W = W - W.mean(axis=1, keepdims=True)
    b = b - b.mean()
    n = float(sums.counts.sum())
    cross = float(sums.C.sum(axis=1) @ (W @ b))
    square = (float(np.sum(W * sums.times(W))) + 2 * cross) / n + float(b @ b)
    if not square > 0:
        raise NumericalError(
            "all classes have the same scores, which leaves nothing to add. Usual cause: a ridge or shrinkage "
            "far too large for the scale of the features; lower it."
        )
    return float(np.sqrt(2 * square / (c - 1)))
