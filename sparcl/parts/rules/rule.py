"""What every rule offers: which points of a grid of hyper-parameters are solved."""

from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from sparcl.algebra.sums import Sums
from sparcl.base.checks import check_flag
from sparcl.base.errors import InputError, NumericalError
from sparcl.base.state import Shape, Stateful
from sparcl.parts.batch import Batch
from sparcl.parts.solutions import Point, Solutions


class Fitting(Protocol):
    """What a rule needs of the learner that it chooses for."""

    solutions: Solutions

    @property
    def total(self) -> Sums:
        """Sums of what was learned."""

    @property
    def cores(self) -> int:
        """Cores among which to choose."""

    def effective(self, value: float, counts: NDArray[np.integer]) -> float:
        """Return the ridge on the sums that a value stands for."""

    def twin(self, rule: "Rule", d: int) -> "Fitting":
        """Return a new learner of d features, of the same composition and map, with another rule."""

    def learn(self, batch: Batch, cut: int) -> None:
        """Learn the rows of a session, of which those from ``cut`` on validate."""


class Rule(Stateful):
    """Chooses a value of ``grid``, and a core where there are several.

    Attributes
    ----------
    grid : candidates, or what is given
    relative : whether these are shares of ``unit``, which the first session fixes
    unit : mean squared norm of a mapped row of the first session, or 1 for a head whose value has no
        scale; 0 before
    whole_session : why a session must come whole; empty where nothing looks at its rows
    compares_cores : whether it can choose among several cores
    needs_targets : whether it judges scores by their distance to one-hot targets
    matrices : sums R that are kept, those of the learner among them
    squares : matrices (n, n) of a session's n rows, or (D, D) of fewer coordinates, that a choice takes besides
    """

    grid: tuple[float, ...]
    relative: bool
    unit: float
    whole_session: ClassVar[str] = ""
    compares_cores: ClassVar[bool] = True
    needs_targets: bool = False
    matrices: ClassVar[int] = 1
    squares: ClassVar[int] = 0
    kept: ClassVar[dict[str, Shape | None]] = {"unit": None}

    def __post_init__(self) -> None:
        check_flag("relative", self.relative)
        self.unit = 0.0

    def fix(self, unit: float) -> None:
        """Fix for good what a relative value of 1 stands for; later calls change nothing."""
        self.unit = self.unit or unit

    @property
    def values(self) -> tuple[float, ...]:
        """The grid in the head's own units."""
        return tuple(self.unit * share for share in self.grid) if self.relative else self.grid

    @property
    def single(self) -> bool:
        """Whether it gives one value, for good."""
        return False

    def points(self, cores: int) -> list[Point]:
        """Return all points of the grid, the ridge's number first."""
        return [Point(i, j, v) for i, v in enumerate(self.values) for j in range(cores)]

    def arrange(
        self, columns: NDArray[np.integer], session: int
    ) -> tuple[NDArray[np.intp] | None, int]:
        """Return an order of the rows with those held out last, and how many come before them."""
        return None, len(columns)

    def choose(self, batch: Batch, cut: int, learner: Fitting) -> list[Point]:
        """Return what is to be solved; rows from ``cut`` on are held out."""
        raise TypeError(f"{type(self).__name__} chooses nothing")

    def report(self) -> dict[str, Any]:
        """Return what the last choice rested on."""
        return {"unit": self.unit} if self.relative else {}


def best(points: list[Point], losses: list[float], where: str) -> Point:
    """Return the first point with the smallest finite loss.

    Raises
    ------
    NumericalError
        When no loss is finite.
    """
    finite = np.where(np.isfinite(losses), losses, np.inf)
    if np.isinf(finite).all():
        values = [point.value for point in points]
        raise NumericalError(
            f"No ridge among {min(values):g} to {max(values):g} gives a finite {where}: raise the grid, "
            "or use dtype float64."
        )
    return points[int(np.argmin(finite))]


def need_two(n: int, rule: str) -> None:
    """Raise InputError unless a session of n samples can be divided."""
    if n < 2:
        raise InputError(
            f"ridge = {rule!r} validates on a part of the session and needs two samples at least, got "
            "one: join the session with another, or give the ridge as a number."
        )
