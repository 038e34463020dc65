"""The learner that most methods are: transform, map, sums, head, core, and a rule that chooses."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from sparcl.algebra.backend import host
from sparcl.algebra.capacity import Session, check_fit
from sparcl.algebra.spectra import descending_eigh
from sparcl.algebra.sums import Sums, check_lengths
from sparcl.base.checks import DTYPES, check_choice
from sparcl.base.errors import InputError
from sparcl.base.state import Shape, nodes, renewed
from sparcl.base.types import Array
from sparcl.learners.learner import Learner, check_scores, checked_rows
from sparcl.learners.summed import Summed
from sparcl.parts.batch import ROWS, Arrival, Batch, Point, Solutions, reordered
from sparcl.parts.core import Core, NoCore, Request
from sparcl.parts.heads import BalancedRidge, Head, Ridge
from sparcl.parts.maps import Features, Map
from sparcl.parts.row_weights import AllRows
from sparcl.parts.rules import AllSessions, Given, Rule
from sparcl.parts.transforms import Identity, Transform

CLOSE = 1e-3  # rounding of sums over a ridge from which on the smallest eigenvalue of R is worth its O(D^3)
MAPPED = 2**28  # bytes of mapped rows that are kept from session to session to be scored
HELD_OUT = "its rule keeps sums of rows that it held out, and nothing says which rows those were"


def check_parts(
    head: Head, core: NoCore, rule: Rule, row_weights: AllRows, columns: str = "plain"
) -> None:
    """Raise InputError where parts do not go together."""
    if check_choice("columns", columns, ("plain", "unit")) == "unit" and (
        not isinstance(head, Ridge) or core.blends
    ):
        raise InputError(
            "columns = 'unit' scales the weights of a ridge: it goes with the heads 'ridge' and 'balanced-ridge', and "
            "with no other head beside them."
        )
    if row_weights.whole_session and head.balanced:
        raise InputError(
            "The heads 'balanced-ridge' and 'balanced-by-class' weight each row by its class's count: they go with "
            "row_weights 'all' alone."
        )
    if head.needs_number and not isinstance(rule, Given):
        raise InputError(f"{type(head).__name__} {head.needs_number}: give a number as ridge.")
    if core.of_ridge and type(head) is not Ridge:
        raise InputError(
            "A core holds coordinates of the ridge's weights: it goes with the head 'ridge' alone."
        )
    if (
        isinstance(core, Core)
        and core.update == "woodbury"
        and not (core.recursive and rule.single)
    ):
        raise InputError(
            "update = 'woodbury' keeps one residual inverse: it goes with one fixed ridge, one "
            "core, exact coupling, full new classes, freezing, and no linear expansion."
        )
    if not head.fits_targets and rule.needs_targets:
        raise InputError(
            "Scores of this head are no estimates of one-hot targets, so that a squared error says nothing "
            "about them: choose by ridge = 'gaussian', or give a number."
        )
    if core.candidates > 1 and not rule.compares_cores:
        raise InputError(
            "A rule that looks at the newest session cannot tell cores apart: give one tau or k."
        )


@dataclass(eq=False, kw_only=True)
class Mapped(Learner):
    """Sees rows H (n, D): features transformed, and mapped as the first session decides for good.

    Parameters
    ----------
    transform : of each row; map : a frozen one

    Attributes
    ----------
    sums : R, C and n of all sessions; None before the first
    """

    transform: Transform = field(default_factory=Identity)
    map: Map = field(default_factory=Features)
    host_only: ClassVar[str] = ""
    kept: ClassVar[dict[str, Shape | None]] = {"sums": Sums | None}

    def __post_init__(self) -> None:
        super().__post_init__()
        self.sums: Sums | None = None

    def check_state(self) -> None:
        """Raise ValueError unless the map's outputs are those that were summed, and as for every learner."""
        if self.sums is not None and self.map.output != self.sums.D:
            raise ValueError(f"a map to {self.map.output} coordinates, and sums of {self.sums.D}")
        super().check_state()

    @property
    def total(self) -> Sums:
        """The sums; InputError before the first session."""
        if self.sums is None:
            raise InputError("Nothing was summed yet: fit a session first.")
        return self.sums

    @property
    def keeps_samples(self) -> bool:  # type: ignore[override]
        """Whether the map keeps samples, by design."""
        return self.map.keeps_samples

    # --- the first session -------------------------------------------------------------------

    def prepare(self, Phi: Array, classes: int = 0) -> Array:
        """Return transformed rows of Phi (n, d), which fix transform, map and sums in the first session.

        ``classes`` of that session count for the memory that is asked for.
        """
        Phi = np.asarray(Phi, dtype=self.dtype)
        if self.sums is None:
            self.transform.begin(Phi)
            X = self.transform(Phi)
            self.begin(X, classes)
            return X
        return self.transform(Phi)

    def begin(self, Phi: Array, classes: int = 0) -> None:
        """Fix for good what transformed rows of the first session decide: the map, and the size of all sums."""
        if self.sums is None:
            self.map.begin(Phi)
            self._begin_sums(Phi.shape[1], len(Phi), classes)

    @abstractmethod
    def _begin_sums(self, d: int, rows: int = ROWS, classes: int = 0) -> None:
        """Begin sums for features d, of which so many rows are mapped at once."""

    # --- rows --------------------------------------------------------------------------------

    def expand(self, Phi: Array) -> Array:
        """Return transformed and mapped rows (n, D) of features Phi (n, d), on the host."""
        return host(self._expanded(self.prepared(Phi)))

    def _expanded(self, Phi: Array) -> Array:
        """Return mapped rows (n, D) of prepared features Phi (n, d), where this learner computes."""
        return self.map(self.on.array(self.transform(np.asarray(Phi, dtype=self.dtype))))

    def _mapped(self, X: Array) -> Array:
        """Map transformed rows X that are to be summed; NumericalError where some would vanish in R."""
        H = self.map(self.on.array(X))
        check_lengths(self.on.squared_lengths(H), self.total.mean_square)
        return H


@dataclass(eq=False)
class Composed(Mapped, Summed):
    """Rows are transformed and mapped, summed, and turned into weights by a head, held on a core.

    A session of n rows costs 2 n d M flops for the map, n D^2 for the sums, what head and core state
    for their solutions, and what the rule takes.

    Parameters
    ----------
    transform, map : as of :class:`sparcl.learners.composed.Mapped`; head : weights from sums
    core : what holds old columns of a ridge; rule : which ridge, shrinkage or core is taken
    dtype : working precision
    row_weights : how much a session's rows count before they are summed
    columns : ``plain``, or ``unit`` for a ridge: rows are scored by each class's weights over their norm, as in
        DPCR's classifier (ICML 2025); the rules ``newest``, ``gcv``, ``folds`` and ``all`` judge scores without that

    Attributes
    ----------
    sums : R, C and n of all sessions; None before the first
    solutions : weights at every point that is kept
    """

    head: Head = field(default_factory=Ridge)
    core: NoCore = field(default_factory=NoCore)
    rule: Rule = field(default_factory=Given)
    dtype: str = "float64"
    row_weights: AllRows = field(default_factory=AllRows)
    columns: str = "plain"
    kept: ClassVar[dict[str, Shape | None]] = {"solutions": Solutions}

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("dtype", self.dtype, DTYPES)
        check_parts(self.head, self.core, self.rule, self.row_weights, self.columns)
        self.solutions = Solutions(self.columns == "unit")
        self.rule.cores = self.core.candidates

    @property
    def host_only(self) -> str:  # type: ignore[override]
        """Why it computes on the host alone; empty where it can elsewhere."""
        if self.core.blends or type(self.row_weights) is not AllRows:
            return "row weights, and cores blended with another head, are written for NumPy"
        return ""

    def check_state(self) -> None:
        """Raise ValueError unless the points are those that the rule keeps, and as for every mapped learner."""
        kept = len(self.rule.points()) if isinstance(self.rule, Given) else 1
        if len(self.solutions.points) not in (0, kept):
            raise ValueError(f"{len(self.solutions.points)} points, and a rule for {kept}")
        super().check_state()

    def flops(self, n: int, d: int, c: int) -> float:
        """Return 2 n d M + n D^2 for map and sums, D^3 / 3 + 2 D^2 c for the weights, and a rule's candidates.

        These count as factors of the smaller of D and n, as in the dual that most rules solve.
        """
        M = int(getattr(self.map, "width", 0) or 0)
        D = d + M if self.map.keeps_features else M or d
        candidates = 0 if self.rule.single else len(self.rule.ridges) * self.core.candidates
        solved = D**3 / 3 + candidates * min(n, D) ** 3 / 3
        return 2.0 * n * d * M + n * D**2 + solved + 2.0 * D**2 * c

    # --- one session -------------------------------------------------------------------------

    def _fit(self, Phi: Array, columns: NDArray[np.integer], old: int, classes: int) -> None:
        counts = np.bincount(columns, minlength=classes)
        if self.sums is not None:
            counts = counts.astype(self.sums.counts.dtype)
            counts[: len(self.sums.counts)] += self.sums.counts
        weights = self.head.row_weights(columns, old, counts)
        order, cut = self.rule.arrange(columns, self.session)
        Phi = self.prepare(Phi, classes)
        batch = Batch(columns, old, classes, self.session, Phi, self._mapped, weights)
        if self.row_weights.whole_session:
            if self.rule.relative:
                self._fix_unit(batch)
            batch = self.row_weights.judge(batch, self.total, self.head, self.rule.absolute[0])
            order, cut = self.rule.arrange(batch.columns, self.session)
        self.learn(batch if order is None else batch.take(order), cut)

    def learn(self, batch: Batch, cut: int) -> None:
        """Learn a session's rows, of which those from ``cut`` on validate."""
        rule, total = self.rule, self.total
        if rule.relative:
            self._fix_unit(batch)
        points = rule.points()
        self.core.open(batch, total, points[0].ridge, rule.single)
        self.head.see(batch, total)
        if isinstance(rule, AllSessions) and rule.fitted is None:
            rule.fitted = self._fork(batch.Phi.shape[1])
        points = rule.choose(points, batch, cut, total, self.head)
        batch.add_to(total)
        self.keep(points, batch, total)

    def _fix_unit(self, batch: Batch) -> None:
        """Fix what a relative value of the rule stands for, in the first session."""
        if not self.rule.unit:
            self.rule.fix(self.head.unit(batch.mean_square()))

    def keep(self, points: list[Point], arrival: Arrival, total: Sums) -> None:
        """Solve at some points and keep the solutions; the sums hold the session already."""
        drop = isinstance(self.rule, Given) and self.rule.drop
        request = Request(self.head, total, points, self.solutions.weights, arrival, drop)
        self.solutions.take(points, self.core.solve(request))

    def _fork(self, d: int) -> Self:
        """Return a new learner of d features, of the same parts and map, that is solved at every candidate."""
        given = Given(self.rule.absolute, drop=True)
        fork = renewed(self, rule=given, map=self.map)
        fork.on, fork.d = self.on, d
        fork._begin_sums(d)
        return fork

    # --- what a user reads -------------------------------------------------------------------

    @property
    def weights(self) -> Array:
        """W (D, c) of the first point, or of the chosen one, on the host; as solved, whatever ``columns`` is."""
        return host(self.solutions.weights[0])

    def core_rows(self, Phi: Array) -> Array:
        """Return the coordinates (n, p) of features Phi (n, d) in which a core lives."""
        X = self.transform(np.asarray(self.prepared(Phi), dtype=self.dtype))
        return X if self.map.keeps_features else host(self.map(self.on.array(X)))

    def scores(self, Phi: Array) -> dict[tuple[int, int], Array]:
        """Return scores (n, c) of Phi (n, d) at every point (number of the value, number of the core)."""
        return self.solutions.all_scores(self.on, self._expanded(self.prepared(Phi)))

    def report(self) -> dict[str, Any]:
        """Return what the last session chose and measured: ridge, ranks, energies, losses."""
        if not self.solutions.points:
            return {}
        ridge = {"ridge": self.solutions.points[0][2]} if self.head.takes_ridge else {}
        solved = [node for node in (self.sums, *nodes(self.head)) if isinstance(node, Sums)]
        refined = [sums.residual for sums in solved if sums.residual is not None]
        ridge |= {"residual": max(refined)} if refined else {}
        parts = (self.core, self.rule, self.head, self.transform, self.map, self.row_weights)
        return ridge | {k: v for part in parts for k, v in part.report().items()}

    @property
    def posterior(self) -> bool:  # type: ignore[override]
        """Whether the head's scores are log-probabilities."""
        return self.head.posterior

    # --- a session in parts ------------------------------------------------------------------

    @property
    def undivided(self) -> str:
        """Why a session must come whole; empty where the weights follow from sums alone."""
        parts = (self.core, self.rule, self.transform, self.map, self.head, self.row_weights)
        return next((part.whole_session for part in parts if part.whole_session), "")

    def _add_samples(self, Phi: Array, columns: NDArray[np.integer], classes: int) -> None:
        Phi = self.prepare(Phi, classes)
        Batch(columns, len(self.classes), classes, self.session, Phi, self._mapped).add_to(
            self.total
        )

    def _add_sums(self, other: Self, columns: NDArray[np.integer], classes: int) -> None:
        if self.sums is None:
            self.transform, self.map = other.transform, other.map
            self._begin_sums(other.d, classes=classes)
        self.total.grow(classes)
        self.total.merge(other.total, columns)

    def _solve_sums(self, order: NDArray[np.integer]) -> None:
        if self.rule.relative:
            self.rule.fix(self.head.unit(self.total.mean_square))
        points, c = self.rule.points(), len(order)
        if not isinstance(self.rule, Given):  # what it chose stays
            points = [Point(int(i), int(j), ridge) for i, j, ridge in self.solutions.points]
        arrival = Arrival(np.zeros(0, dtype=np.int64), c, c, self.session)
        solved = self.core.solve(Request(self.head, self.total, points, [], arrival))
        self.solutions.take(points, [reordered(solution, order) for solution in solved])
        self.total.reorder(order)

    # --- forgetting --------------------------------------------------------------------------

    @property
    def cannot_forget(self) -> str:  # type: ignore[override]
        """Why no sample can be taken out of the state; empty where it can."""
        if self.map.keeps_samples:
            return "its map holds samples of the first session"
        if isinstance(self.rule, AllSessions):
            return f"{HELD_OUT} (a number as ridge holds none out)"
        if 0.0 in self.rule.ridges:
            return "a pseudo-inverse divides by what rounding leaves (a ridge above 0 does not)"
        if any(isinstance(node, Core) and node.project for node in nodes(self.core)):
            return "rows were projected by the sums of their time (project)"
        return self.row_weights.whole_session or self.head.keeps_rows

    def _past(self) -> tuple[list[str], list[str]]:
        cleared = [self.core.whole_session] if self.core.whole_session else []
        if isinstance(self.rule, Given) and self.rule.relative and self.head.takes_ridge:
            cleared.append("its ridge is in units of the first session's rows (relative)")
        parts = (self.rule, self.transform, self.map)
        return cleared, [part.whole_session for part in parts if part.whole_session]

    def _counts(self) -> NDArray[np.integer]:
        return self.total.counts

    def _take_away(self, Phi: Array, columns: NDArray[np.integer]) -> None:
        total, counts = self.total, self.total.counts
        gone = np.bincount(columns, minlength=len(counts))
        balanced = isinstance(self.head, BalancedRidge)
        if balanced and ((gone > 0) & (gone < counts)).any():
            raise InputError(
                "each row of a class has the weight 1 / N in its sums, with N rows of the class: forget whole "
                "classes."
            )
        weights = self.head.row_weights(columns, 0, counts)
        taken, X = total.empty(), self.transform(np.asarray(Phi, dtype=self.dtype))
        Batch(columns, 0, len(counts), self.session, X, self._mapped, weights).add_to(taken)
        total.take_away(taken, balanced)

    def _refit(self, order: NDArray[np.intp], refit: bool) -> float | None:
        total = self.total
        total.reorder(order)
        self.head.row_weights(np.zeros(0, dtype=np.int64), 0, total.counts)  # whether they suffice
        if refit:
            self.core = renewed(self.core)
            self.core.begin(self.d if self.map.keeps_features else total.D, self.dtype, self.on)
            if isinstance(self.rule, Given):
                self.rule.unit = 0.0
        total.ridge = total.n * total.mean_square  # where nothing is factored
        self._solve_sums(np.arange(len(order)))
        least, ridge = total.ridge, isinstance(self.head, Ridge)
        if self.head.takes_ridge:
            ridges = [value for _, _, value in self.solutions.points]
            least = min(self.head.effective(value, total.counts) for value in ridges)
        if ridge and max(total.rounding) > CLOSE * least:
            smallest = float(host(descending_eigh(total.R)[0])[-1])
            least += max(smallest - total.rounding[0], 0.0)
        W = self.weights
        if self.columns == "unit":
            # each column moves by what it would alone: the shortest one most
            lengths = np.linalg.norm(W, axis=0)
            shortest = int(np.argmin(np.where(lengths > 0, lengths, np.inf)))
            W = W[:, shortest : shortest + 1]
        return total.error(W, least, scatter=not ridge)

    def _begin_sums(self, d: int, rows: int = ROWS, classes: int = 0) -> None:
        """Begin sums for features d, of which so many rows are mapped at once."""
        D, size, rule = self.map.output, np.dtype(self.dtype).itemsize, self.rule
        rows = rows if rule.whole_session else min(rows, ROWS)
        check_fit(self.on, Session(d, rows, classes, size, rule.matrices, rule.squares), D)
        self.core.begin(d if self.map.keeps_features else D, self.dtype, self.on)
        self.sums = Sums(D, self.dtype, self.on)

    def scorer(self, Phi: Array) -> Callable[[int], Array]:
        """Return what scores the first n rows of Phi after any later session; they stay mapped where that is little."""
        if len(Phi) * self.total.D * np.dtype(self.dtype).itemsize > MAPPED:
            return super().scorer(Phi)
        H = self._expanded(checked_rows(Phi, self))
        return lambda n: check_scores(host(self.solutions.scores(self.on, H[:n])))

    def _logits(self, Phi: Array) -> Array:
        parts = [np.zeros((0, self.solutions.weights[0].shape[1]), dtype=self.dtype)]
        for start in range(0, len(Phi), ROWS):
            H = self._expanded(Phi[start : start + ROWS])
            parts.append(host(self.solutions.scores(self.on, H)))
        return np.concatenate(parts)


def refit_members(members: Sequence[Composed], order: NDArray[np.intp], refit: bool) -> float:
    """Refit learners that know classes by their columns; return the largest error (:class:`Forgotten`)."""
    errors = []
    for member in members:
        member.session *= not refit
        errors.append(member._refit(order, refit) or 0.0)
        member.classes = np.arange(len(order))
        member.session += refit
    return max(errors)
