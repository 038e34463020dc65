"""Rules that choose a ridge or its like, and a core, among candidates; one kind a file."""

from collections.abc import Sequence

from sparcl.base.checks import check_positive
from sparcl.base.errors import InputError
from sparcl.parts.rules.all_sessions import AllSessions
from sparcl.parts.rules.folds import Folds
from sparcl.parts.rules.given import Given
from sparcl.parts.rules.holdout import HoldOut
from sparcl.parts.rules.newest import CrossValidated, Newest
from sparcl.parts.rules.rule import Rule
from sparcl.parts.solutions import Point

__all__ = [
    "NARROW",
    "WIDE",
    "AllSessions",
    "CrossValidated",
    "Given",
    "HoldOut",
    "Newest",
    "Point",
    "Rule",
    "Value",
    "named",
]

Value = float | str | Sequence[float]

# Candidates where nobody names others; the pipeline takes those of params.yaml.
NARROW = (0.03, 0.1, 0.3, 1.0, 3.0)
WIDE = tuple(float(f"1e{power}") for power in range(-8, 9))  # RanPAC's

NAMES = ("newest", "gcv", "all", "gaussian", "folds")


def named(
    ridge: Value,
    grid: Sequence[float],
    holdout: HoldOut,
    relative: bool = False,
    folds: int = 4,
) -> Rule:
    """Return the rule that a method's hyper-parameter ``ridge`` stands for.

    Parameters
    ----------
    ridge : a number; a list of numbers, all of which are solved at once; or how one of ``grid`` is
        chosen in each session: ``newest`` (error on rows held out of it), ``gcv`` (generalised
        cross-validation on it), ``folds`` (accuracy on so many folds of it), ``all`` (squared error on rows
        held out of every session) or ``gaussian`` (accuracy predicted for these)
    relative : numbers and candidates are shares of the mean squared norm of a mapped row of the first
        session: one list then means the same for every map, scale and number of samples

    Raises
    ------
    InputError
        For another name, and for values that are not positive.
    """
    if isinstance(grid, str):
        raise InputError(f"grid = {grid!r}: it must be a list of numbers above 0.")
    candidates = tuple(grid)
    if ridge == "newest":
        return Newest(candidates, holdout, relative)
    if ridge == "gcv":
        return CrossValidated(candidates, relative)
    if ridge == "folds":
        return Folds(candidates, folds, relative)
    if ridge in ("all", "gaussian"):
        return AllSessions(
            candidates, "squared_error" if ridge == "all" else "accuracy", holdout, relative
        )
    if isinstance(ridge, str):
        raise InputError(f"ridge = {ridge!r}: it must be a number above 0, or {', '.join(NAMES)}.")
    values = tuple(ridge) if isinstance(ridge, (list, tuple)) else (ridge,)
    given = tuple(check_positive("ridge", value) for value in values)
    return Given(given, relative=relative)
