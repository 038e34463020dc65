"""Scores of a ridge that a core holds, added to those of another head from the same sums.

The held ridge remembers what old classes were given; a discriminant on the same sums sees every
session.  Each head's scores are divided by the spread of their differences between classes over all
rows summed, which makes them comparable, and added.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from sparcl.algebra.backend import Backend
from sparcl.algebra.sums import Sums
from sparcl.base.checks import check_fraction, check_positive
from sparcl.base.errors import NumericalError
from sparcl.base.state import Shape
from sparcl.base.types import Array
from sparcl.parts.batch import Solution
from sparcl.parts.core import Core, NoCore, Request
from sparcl.parts.heads import RidgedScatter
from sparcl.parts.heads.ridge import Head


@dataclass(eq=False)
class Blend(NoCore):
    """``z = (1 - weight) z_held / s_held + weight z_other / s_other``, of every point.

    A session costs what both heads cost, and 4 D^2 c flops for the two spreads s.

    Parameters
    ----------
    core : holds the ridge
    other : the head beside it; ridge : its ridge or shrinkage
    weight : of the other head, in (0, 1)

    Attributes
    ----------
    held : W (D, c) of the held ridge at every point
    """

    core: Core
    other: Head
    ridge: float
    weight: float = 0.5
    host_only: ClassVar[bool] = True
    kept: ClassVar[dict[str, Shape | None]] = {"held": ("D", None)}

    def __post_init__(self) -> None:
        check_positive("value", self.ridge)
        check_fraction("weight", self.weight)
        self.candidates = self.core.candidates  # type: ignore[misc]
        self.held: list[Array] = []

    @property
    def U_core(self) -> Array:
        """Basis (p, k) of the core."""
        return self.core.U_core

    @property
    def whole_session(self) -> str:  # type: ignore[override]
        """Why a session must come whole; empty where it need not."""
        return self.core.whole_session or self.other.whole_session

    @property
    def needs_rows(self) -> str:  # type: ignore[override]
        """Why sums of a session do not suffice; empty where they do."""
        return self.core.needs_rows

    def begin(self, p: int, dtype: str, on: Backend) -> None:
        """Start with an empty core in p coordinates."""
        self.core.begin(p, dtype, on)

    def renew(self, sums: Sums, session: int, ridge: float) -> None:
        """Renew the core from the sums of the previous sessions."""
        self.core.renew(sums, session, ridge)

    def solve(self, request: Request) -> list[Solution]:
        """Return weights (D, c) and bias (c,) of the sum of both scores at every point."""
        sums = request.sums
        self.held = [W for W, _ in self.core.solve(replace(request, previous=self.held))]
        W_other, b_other = self.other.solve(sums, self.ridge)
        bias = np.zeros(W_other.shape[1]) if b_other is None else b_other
        share = self.weight / score_spread(sums, W_other, bias)
        result: list[Solution] = []
        for W in self.held:
            if W.shape[1] == 0:  # a point without a solution in this precision
                result.append((W, np.zeros(0)))
                continue
            own = (1 - self.weight) / score_spread(sums, W, np.zeros(W.shape[1]))
            result.append((np.asfortranarray(own * W + share * W_other), share * bias))
        return result

    def report(self) -> dict[str, Any]:
        """Return size and energies of the core."""
        return self.core.report()


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


def blend_scatter(
    *, tau: float, value: float = 1.0, weight: float = 0.5, refresh: int = 1
) -> Blend:
    """Return a ridge held on a core of energy ``tau``, beside the discriminant of the ridged scatter.

    Parameters
    ----------
    tau, refresh : of the core (:class:`sparcl.parts.core.Core`)
    value : ridge of the scatter, relative to its mean eigenvalue; weight : of the discriminant
    """
    return Blend(Core(tau=tau, refresh=refresh), RidgedScatter(), value, weight)
