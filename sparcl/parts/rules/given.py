"""Values that are given: one, or a grid whose every point is solved."""

from dataclasses import dataclass

from sparcl.parts.batch import Batch
from sparcl.parts.rules.rule import Fitting, Rule
from sparcl.parts.solutions import Point


@dataclass(eq=False)
class Given(Rule):
    """Solve at every value of the grid.

    Parameters
    ----------
    grid : values; relative : as shares (:class:`Rule`)
    drop : leave out a value that has no solution in this precision, rather than fail
    """

    grid: tuple[float, ...] = (1.0,)
    drop: bool = False
    relative: bool = False

    @property
    def single(self) -> bool:
        """Whether it gives one value, for good."""
        return len(self.grid) == 1

    def choose(self, batch: Batch, cut: int, learner: Fitting) -> list[Point]:
        """Return all points."""
        return self.points(learner.cores)
