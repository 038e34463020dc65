"""Rules that choose a ridge or its like, and a core, among candidates."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from sparcl.algebra import ridge
from sparcl.algebra.backend import HOST, host, like
from sparcl.algebra.sums import Sums
from sparcl.base.checks import check_choice, check_flag, check_fraction, check_int, check_positives
from sparcl.base.errors import InputError, NumericalError
from sparcl.base.randomness import generator
from sparcl.base.state import Shape, Stateful
from sparcl.base.types import Array
from sparcl.parts.batch import Batch, Point, Solutions
from sparcl.parts.heads.ridge import Head

Value = float | str | Sequence[float]

# Candidates where no setting names others.
NARROW = (0.03, 0.1, 0.3, 1.0, 3.0)
WIDE = tuple(float(f"1e{power}") for power in range(-8, 9))  # RanPAC's

NAMES = ("newest", "gcv", "all", "gaussian", "folds")
LOSSES = ("squared_error", "accuracy")


class Rule(Stateful):
    """Chooses a ridge among ``ridges``, and a core where there are several.

    Attributes
    ----------
    ridges : candidates, or what is given
    relative : whether these are shares of ``unit``, which the first session fixes
    unit : mean squared norm of a mapped row of the first session, or 1 for a head whose ridge has no
        scale; 0 before
    cores : among which to choose, set by the learner that has them
    single : whether it gives one ridge, for good
    whole_session : why a session must come whole; empty where nothing looks at its rows
    compares_cores : whether it can choose among several cores
    needs_targets : whether it judges scores by their distance to one-hot targets
    holdout : which rows of a session validate; None where none do
    name : what a user calls it, where rows are held out
    matrices : sums R that are kept, those of the learner among them
    squares : matrices (n, n) of a session's n rows, or (D, D) of fewer coordinates, that a choice takes besides
    """

    ridges: tuple[float, ...]
    relative: bool
    unit: float
    cores: int
    single: bool = False
    whole_session: ClassVar[str] = ""
    compares_cores: ClassVar[bool] = True
    needs_targets: bool = False
    holdout: "HoldOut | None" = None
    name: str = ""
    matrices: ClassVar[int] = 1
    squares: ClassVar[int] = 0
    kept: ClassVar[dict[str, Shape | None]] = {"unit": float}

    def __post_init__(self) -> None:
        check_flag("relative", self.relative)
        self.unit, self.cores = 0.0, 1

    def fix(self, unit: float) -> None:
        """Fix for good what a relative ridge of 1 stands for; later calls change nothing."""
        self.unit = self.unit or unit

    @property
    def absolute(self) -> tuple[float, ...]:
        """The ridges in the head's own units."""
        return tuple(self.unit * share for share in self.ridges) if self.relative else self.ridges

    def points(self) -> list[Point]:
        """Return all ridges and cores, the ridge's number first."""
        points: list[Point] = []
        for i, value in enumerate(self.absolute):
            points += map(Point, repeat(i), range(self.cores), repeat(value))
        return points

    def arrange(
        self, columns: NDArray[np.integer], session: int
    ) -> tuple[NDArray[np.intp] | None, int]:
        """Return an order of the rows with those held out last, and how many come before them.

        None for the order as it is.  InputError for a single row, where some are held out.
        """
        if self.holdout is None:
            return None, len(columns)
        need_two(len(columns), self.name)
        fit, validate = self.holdout.split(columns, session)
        return np.concatenate([fit, validate]), len(fit)

    def choose(
        self, points: list[Point], batch: Batch, cut: int, before: Sums, head: Head
    ) -> list[Point]:
        """Return which points are solved; rows from ``cut`` on are held out, ``before`` is of earlier sessions."""
        raise TypeError(f"{type(self).__name__} chooses nothing")

    def report(self) -> dict[str, Any]:
        """Return what the last choice rested on."""
        return {"unit": self.unit} if self.relative else {}


@dataclass(eq=False)
class Given(Rule):
    """Solve at every ridge that is given.

    Parameters
    ----------
    drop : leave out a ridge that has no solution in this precision, rather than fail
    """

    ridges: tuple[float, ...] = (1.0,)
    relative: bool = False
    drop: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self.single = len(self.ridges) == 1

    def choose(
        self, points: list[Point], batch: Batch, cut: int, before: Sums, head: Head
    ) -> list[Point]:
        """Return all points."""
        return points


class Judging(Rule):
    """A rule that takes the candidate with the smallest loss.

    Attributes
    ----------
    losses : of each candidate in the last session
    """

    kept: ClassVar[dict[str, Shape | None]] = {"losses": list[float]}

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positives("ridges", self.ridges)
        self.losses: list[float] = []

    def best(self, points: list[Point], losses: list[float], where: str) -> list[Point]:
        """Keep the losses of points; return the first one with the smallest finite loss, as number 0."""
        self.losses = losses
        return [best(points, losses, where)._replace(i=0)]

    def report(self) -> dict[str, Any]:
        """Return the loss of each candidate in the last session; accuracies are negative."""
        return super().report() | {"validation_losses": self.losses}


def best(points: list[Point], losses: list[float], where: str) -> Point:
    """Return the first point with the smallest finite loss.

    Raises
    ------
    NumericalError
        When no loss is finite.
    """
    finite = np.where(np.isfinite(losses), losses, np.inf)
    if np.isinf(finite).all():
        ridges = [point.ridge for point in points]
        raise NumericalError(
            f"No ridge among {min(ridges):g} to {max(ridges):g} gives a finite {where}: raise them (ridges), "
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


@dataclass(eq=False)
class HoldOut(Stateful):
    """A random share of a session's rows, or of each class's.

    Parameters
    ----------
    share : of the rows that validate, in (0, 1)
    by_class : hold out ``share`` of each class, one row at least; a class of one row fits, and where
        no class has two, the last row validates.  Otherwise a share of all rows, as RanPAC does
    seed : of the split, together with the session's number
    """

    share: float = 0.2
    by_class: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        check_fraction("validation_share", self.share)
        check_flag("by_class", self.by_class)
        check_int("seed", self.seed, least=0)

    def split(
        self, columns: NDArray[np.integer], session: int
    ) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the rows that fit and those that validate, of class columns (n,), n >= 2."""
        rng = generator("holdout", self.seed, session)
        n = len(columns)
        if not self.by_class:
            shuffled = rng.permutation(n)
            cut = int((1 - self.share) * n)
            return shuffled[:cut], shuffled[cut:]
        held: list[int] = []
        for column in np.unique(columns):
            rows = rng.permutation(np.flatnonzero(columns == column))
            if len(rows) > 1:
                held += rows[: max(round(self.share * len(rows)), 1)].tolist()
        validate = np.array(sorted(held) or [n - 1])
        return np.setdiff1d(np.arange(n), validate), validate


class OfSession(Judging):
    """A rule whose losses are those of the newest session."""

    compares_cores: ClassVar[bool] = False
    needs_targets = True

    def choose(
        self, points: list[Point], batch: Batch, cut: int, before: Sums, head: Head
    ) -> list[Point]:
        """Return the one point with the smallest loss."""
        # targets have the session's columns alone: in the others they and the scores are 0
        H = batch.H
        Y = before.on.one_hot(batch.columns, np.unique(batch.columns), H)
        if batch.weights is not None:
            root = like(np.sqrt(batch.weights)[:, None], H)
            H, Y = H * root, Y * root
        counts = np.bincount(batch.columns)
        ridges = np.array([head.effective(point.ridge, counts) for point in points])
        losses = self._losses(H, Y, cut, ridges).tolist()
        return self.best(points, losses, "error on the session")

    def _losses(self, H: Array, Y: Array, cut: int, ridges: Array) -> Array:
        """Return the loss (g,) of each ridge on mapped rows H (n, D) with targets Y (n, c)."""
        raise TypeError(f"{type(self).__name__} has no loss")


@dataclass(eq=False)
class Newest(OfSession):
    """Squared error on rows held out of the newest session (RanPAC, NeurIPS 2023)."""

    ridges: tuple[float, ...]
    relative: bool = False
    holdout: HoldOut = field(default_factory=HoldOut)
    squares: ClassVar[int] = 1
    whole_session: ClassVar[str] = "the rule 'newest' looks at each session (a number does not)"
    name = "newest"

    def _losses(self, H: Array, Y: Array, cut: int, ridges: Array) -> Array:
        return ridge.holdout(H[:cut, :], Y[:cut, :], H[cut:, :], Y[cut:, :], ridges)


@dataclass(eq=False)
class CrossValidated(OfSession):
    """Generalised cross-validation on the newest session (Fly-CL, 2025)."""

    ridges: tuple[float, ...]
    relative: bool = False
    squares: ClassVar[int] = 5  # K, and of a candidate its shift, factor and inverse
    whole_session: ClassVar[str] = "the rule 'gcv' looks at each session (a number does not)"

    def _losses(self, H: Array, Y: Array, cut: int, ridges: Array) -> Array:
        return ridge.gcv(H, Y, ridges)


class Fitting(Protocol):
    """A learner that sees the rows that fit, and is solved at every candidate."""

    solutions: Solutions

    def learn(self, batch: Batch, cut: int) -> None:
        """Learn the rows of a session, of which those from ``cut`` on validate."""


@dataclass(eq=False)
class AllSessions(Judging):
    """How well each candidate does on the rows held out of every session, from sums alone.

    A second learner of the same composition sees the other rows, with frozen coordinates of its own,
    so that weights never meet the rows that judge them.  Cost: a session of that learner, and
    2 D^2 c flops a candidate.

    Parameters
    ----------
    loss : ``squared_error`` (``ridge.squared_error``), or ``accuracy`` that a Gaussian model of these
        sums predicts (``ridge.predicted_accuracy``)
    holdout : which rows are held out

    Attributes
    ----------
    fitted : the second learner; validation : sums of the rows held out; None before the first session
    """

    ridges: tuple[float, ...]
    relative: bool = False
    loss: str = "accuracy"
    holdout: HoldOut = field(default_factory=HoldOut)
    matrices: ClassVar[int] = 3  # those of the other learner and of the rows held out besides
    whole_session: ClassVar[str] = "its rule holds rows of each session out (a number does not)"
    kept: ClassVar[dict[str, Shape | None]] = {
        "fitted": Stateful | None,
        "validation": Sums | None,
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("loss", self.loss, LOSSES)
        self.needs_targets = self.loss == "squared_error"
        self.name = "all" if self.needs_targets else "gaussian"
        self.fitted: Fitting | None = None
        self.validation: Sums | None = None

    def check_state(self) -> None:
        """Raise ValueError unless the second learner has as many candidates."""
        many = len(self.ridges) * self.cores
        if self.fitted is not None and len(self.fitted.solutions.points) not in (0, many):
            raise ValueError(f"{many} candidates, and a second learner of others")

    def choose(
        self, points: list[Point], batch: Batch, cut: int, before: Sums, head: Head
    ) -> list[Point]:
        """Return the one point that does best on all rows held out so far."""
        if self.fitted is None:
            raise TypeError("the learner whose rule this is makes a fork of itself first")
        if self.validation is None:
            self.validation = before.empty()
        self.fitted.learn(batch.take(slice(cut)), cut)
        batch.take(slice(cut, None)).add_to(self.validation)
        solved = self.fitted.solutions
        judged = iter(solved) if self.needs_targets else solved.scored()
        losses = [self._loss(self.validation, W, b) for W, b in judged]
        return self.best(points, losses, "loss on the rows held out")

    def _loss(self, sums: Sums, W: Array, b: Array | None) -> float:
        """Return the loss of W (D, c), b (c,) on the rows held out; infinite where W has no column, unsolved."""
        if W.shape[1] != len(sums.counts):
            return np.inf
        if self.loss == "squared_error":
            return ridge.squared_error(W, sums.R, sums.C)
        return -ridge.predicted_accuracy(W, sums.R, sums.C, sums.counts, b)


@dataclass(eq=False)
class Folds(Judging):
    """Mean accuracy over folds of the session's rows, each scored by a ridge on all the rest (LayUP, 2024).

    Folds are stratified and keep the rows' order (:func:`stratified`); the argmax is over all classes, those
    of earlier sessions included, and ties go to the first candidate.  With B = R + ridge I over the earlier
    sessions, H the session's rows, ``G = H B^-1 H^T`` and ``P = H B^-1 C``, the scores of fold F by a ridge that
    saw the earlier sessions and the other rows T are ``P_F + G_FT (I + G_TT)^-1 (Y_T - P_T)``: one factor a
    candidate serves all folds.  Cost: D^3 / 3 + 2 D^2 n + n^2 D flops a candidate for n rows.

    Parameters
    ----------
    folds : at least 2; a session needs as many rows
    """

    ridges: tuple[float, ...]
    relative: bool = False
    folds: int = 4
    compares_cores: ClassVar[bool] = False
    squares: ClassVar[int] = 1
    needs_targets = True  # scores are those of a ridge
    whole_session: ClassVar[str] = "its rule looks at each session (a number does not)"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_int("folds", self.folds, least=2)

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

    def choose(
        self, points: list[Point], batch: Batch, cut: int, before: Sums, head: Head
    ) -> list[Point]:
        """Return the point with the best mean accuracy."""
        fold = stratified(batch.columns, self.folds)
        losses = [self._loss(batch, before, fold, point.ridge) for point in points]
        return self.best(points, losses, "accuracy on the folds")

    def _loss(self, batch: Batch, before: Sums, fold: NDArray[np.integer], ridge: float) -> float:
        """Return the mean error over folds; infinite where there is no solution in this precision."""
        H, c, on = batch.H, before.C.shape[1], before.on
        P = np.zeros((len(batch.columns), batch.classes), dtype=on.dtype(H))
        try:
            with before.factored(ridge) as B:
                V = B.solve(on.laid_out(H.T))
                P[:, :c] = host(V.T @ before.C)
            G = host(on.product(H, V))  # folds are scored on the host
            wrong = [_wrong(G, P, batch.columns, fold == f) for f in range(self.folds)]
        except NumericalError:
            return np.inf
        return float(np.mean([part for part in wrong if part is not None]))


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
    scores = P[held] + G[np.ix_(held, others)] @ HOST.block_solve(K, missing)
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


def named(
    ridge: Value,
    ridges: Sequence[float],
    holdout: HoldOut,
    relative: bool = False,
    folds: int = 4,
) -> Rule:
    """Return the rule that a method's hyper-parameter ``ridge`` stands for.

    Parameters
    ----------
    ridge : a number; a list of numbers, all of which are solved at once; or how one of ``ridges`` is
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
    candidates = tuple(ridges)
    if ridge == "newest":
        return Newest(candidates, relative, holdout)
    if ridge == "gcv":
        return CrossValidated(candidates, relative)
    if ridge == "folds":
        return Folds(candidates, relative, folds)
    if ridge in ("all", "gaussian"):
        loss = "squared_error" if ridge == "all" else "accuracy"
        return AllSessions(candidates, relative, loss, holdout)
    if isinstance(ridge, str):
        raise InputError(f"ridge = {ridge!r}: it must be a number above 0, or {', '.join(NAMES)}.")
    values = tuple(ridge) if isinstance(ridge, (list, tuple)) else (ridge,)
    return Given(check_positives("ridge", values), relative)
