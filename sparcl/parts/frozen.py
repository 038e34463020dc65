"""A head whose old columns never change: what an old class was given stays."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sparcl.base.state import Shape
from sparcl.base.types import Array
from sparcl.parts.core import Asked, Unheld
from sparcl.parts.solutions import Solution


@dataclass(eq=False)
class Frozen(Unheld):
    """Old classes keep weights and bias altogether, of any head; new ones take the head's solution.

    The limit of a core that holds all of the space.  Cost: that of the head.

    Attributes
    ----------
    before : b (c,) of every point after the last session, for heads that have one
    """

    kept: ClassVar[dict[str, Shape | None]] = {"before": (None,)}

    def __post_init__(self) -> None:
        self.before: list[Array] = []

    def solve(self, asked: Asked) -> list[Solution]:
        """Return weights (D, c) and bias (c,) at every point, old columns as they were."""
        solved, previous, old = super().solve(asked), asked.previous, asked.arrival.old
        result: list[Solution] = []
        for p, (W, b) in enumerate(solved):
            if previous and previous[p].shape[1] == old:
                W = np.asfortranarray(np.hstack([previous[p], W[:, old:]]))
                b = None if b is None else np.concatenate([self.before[p], b[old:]])
            result.append((W, b))
        self.before = [b for _, b in result if b is not None]
        return result

    @property
    def whole_session(self) -> str:  # type: ignore[override]
        """Why a session must come whole."""
        return "it keeps weights of earlier sessions"
