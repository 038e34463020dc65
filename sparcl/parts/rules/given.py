"""Values that are given: one, or a grid whose every point is solved."""

from dataclasses import dataclass

from sparcl.parts.batch import Batch
from sparcl.parts.rules.rule import Fitting, Point, Rule


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

    def choose(self, batch: Batch, cut: int, learner: Fitting) -> list[Point]:
        """Return all points."""
        return self.points(learner.cores)
