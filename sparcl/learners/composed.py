"""The learner that most methods are: transform, map, sums, head, core, and a rule that chooses."""

from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from sparcl.algebra.backend import host
from sparcl.algebra.memory import Session, check_fit
from sparcl.algebra.sums import Sums
from sparcl.base.checks import check_dtype
from sparcl.base.state import Shape, nodes, renewed
from sparcl.base.types import Array
from sparcl.learners.mapped import Mapped
from sparcl.learners.matching import check_parts
from sparcl.learners.summed import Summed
from sparcl.parts.batch import ROWS, Arrival, Batch
from sparcl.parts.core import Asked, Unheld
from sparcl.parts.heads import Head, Ridge
from sparcl.parts.rules import Given, Rule
from sparcl.parts.solutions import Point, Solutions, reordered
from sparcl.parts.trust import Trust

CPU_PARTS = "trust in rows, and cores beside another head, are written for NumPy"


@dataclass(eq=False)
class Composed(Mapped, Summed):
    """Rows are transformed and mapped, summed, and turned into weights by a head, held on a core.

    A session of n rows costs 2 n d M flops for the map, n D^2 for the sums, what head and core state
    for their solutions, and what the rule takes.

    Parameters
    ----------
    transform, map : as of :class:`sparcl.learners.mapped.Mapped`; head : weights from sums
    core : what holds old columns of a ridge; rule : which ridge, shrinkage or core is taken
    dtype : working precision
    trust : how far a session's rows are trusted before they are summed

    Attributes
    ----------
    sums : R, C and n of all sessions; None before the first
    solutions : weights at every point that is kept
    """

    head: Head = field(default_factory=Ridge)
    core: Unheld = field(default_factory=Unheld)
    rule: Rule = field(default_factory=Given)
    dtype: str = "float64"
    trust: Trust = field(default_factory=Trust)
    host_only: ClassVar[str] = ""  # but for what CPU_PARTS names
    kept: ClassVar[dict[str, Shape | None]] = {"solutions": None}

    def __post_init__(self) -> None:
        super().__post_init__()
        check_dtype(self.dtype)
        self.solutions = Solutions()
        check_parts(self.head, self.core, self.rule, self.trust)

    def flops(self, n: int, d: int, c: int) -> float:
        """Return 2 n d M + n D^2 for map and sums, D^3 / 3 + 2 D^2 c for the weights, and a rule's candidates.

        These count as factors of the smaller of D and n, as in the dual that most rules solve.
        """
        M = int(getattr(self.map, "width", 0) or 0)
        D = d + M if self.map.keeps_features else M or d
        candidates = 0 if self.rule.single else len(self.rule.grid) * self.core.candidates
        solved = D**3 / 3 + candidates * min(n, D) ** 3 / 3
        return 2.0 * n * d * M + n * D**2 + solved + 2.0 * D**2 * c

    # --- one session -------------------------------------------------------------------------

    def _fit(self, Phi: Array, columns: NDArray[np.integer], old: int, classes: int) -> None:
        counts = np.bincount(columns, minlength=classes)
        if self.sums is not None:
            counts = counts.astype(self.sums.counts.dtype)
            counts[: len(self.sums.counts)] += self.sums.counts
        self.head.check(counts)
        weights = self.head.row_weights(columns, old)
        order, cut = self.rule.arrange(columns, self.session)
        Phi = self.prepare(Phi, classes)
        batch = Batch(columns, old, classes, self.session, Phi, self._mapped, weights)
        if self.trust.whole_session:
            self._fix_unit(batch)
            batch = self.trust.judge(batch, self.total, self.head, self.rule.values[0])
            order, cut = self.rule.arrange(batch.columns, self.session)
        self.learn(batch if order is None else batch.take(order), cut)

    def learn(self, batch: Batch, cut: int) -> None:
        """Learn a session's rows, of which those from ``cut`` on validate."""
        self._fix_unit(batch)
        self.core.open(batch, self.total, self.rule.values[0], self.rule.single)
        self.head.see(batch, self.total)
        points = self.rule.choose(batch, cut, self)
        batch.add_to(self.total)
        self.keep(points, batch)

    def _fix_unit(self, batch: Batch) -> None:
        """Fix what a relative value of the rule stands for, in the first session."""
        if self.rule.relative and not self.rule.unit:
            self.rule.fix(self.head.unit(batch.mean_square()))

    def keep(self, points: list[Point], arrival: Arrival) -> None:
        """Solve at some points and keep the solutions; the sums hold the session already."""
        drop = isinstance(self.rule, Given) and self.rule.drop
        asked = Asked(self.head, self.total, points, self.solutions.weights, arrival, drop)
        self.solutions.take(points, self.core.solve(asked))

    def twin(self, rule: Rule, d: int) -> Self:
        """Return a new learner of d features, of the same composition and map, with another rule."""
        twin = renewed(self, rule=rule, map=self.map)
        twin.on = self.on
        twin._begin_sums(d)
        return twin

    # --- what a user reads -------------------------------------------------------------------

    @property
    def weights(self) -> Array:
        """W (D, c) of the first point, or of the chosen one, on the host."""
        return host(self.solutions.weights[0])

    def core_rows(self, Phi: Array) -> Array:
        """Return the coordinates (n, p) of features Phi (n, d) in which a core lives."""
        rows = self.prepared(Phi)
        return self._transformed(rows) if self.map.keeps_features else host(self._expanded(rows))

    def scores(self, Phi: Array) -> dict[tuple[int, int], Array]:
        """Return scores (n, c) of Phi (n, d) at every point (number of the value, number of the core)."""
        return self.solutions.all_scores(self.place(Phi))

    def report(self) -> dict[str, Any]:
        """Return what the last session chose and measured: ridge, ranks, energies, losses."""
        if not self.solutions.points:
            return {}
        ridge = {"ridge": self.solutions.points[0][2]} if self.head.takes_ridge else {}
        solved = [node.gram for node in (self.sums, *nodes(self.head)) if isinstance(node, Sums)]
        refined = [gram.residual for gram in solved if gram.residual is not None]
        ridge |= {"residual": max(refined)} if refined else {}
        parts = (self.core, self.rule, self.head, self.transform, self.map, self.trust)
        return ridge | {k: v for part in parts for k, v in part.report().items()}

    @property
    def posterior(self) -> bool:  # type: ignore[override]
        """Whether the head's scores are log-probabilities."""
        return self.head.posterior

    # --- a session in parts ------------------------------------------------------------------

    @property
    def undivided(self) -> str:
        """Why a session must come whole; empty where the weights follow from sums alone."""
        parts = (self.core, self.rule, self.transform, self.map, self.head, self.trust)
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
        points, c = self.rule.points(self.core.candidates), len(order)
        arrival = Arrival(np.zeros(0, dtype=np.int64), c, c, self.session)
        solved = self.core.solve(Asked(self.head, self.total, points, [], arrival))
        self.solutions.take(points, [reordered(solution, order) for solution in solved])
        self.total.reorder(order)

    # --- what rules and the methods above share ----------------------------------------------

    @property
    def cores(self) -> int:
        """Cores among which a rule chooses."""
        return self.core.candidates

    def effective(self, value: float, counts: NDArray[np.integer]) -> float:
        """Return the ridge on the sums that a value stands for, given the samples (c,) of each class."""
        return self.head.effective(value, counts)

    def _begin_sums(self, d: int, rows: int = ROWS, classes: int = 0) -> None:
        """Begin sums for features d, of which so many rows are mapped at once."""
        D, size, rule = self.map.output, np.dtype(self.dtype).itemsize, self.rule
        rows = rows if rule.whole_session else min(rows, ROWS)
        check_fit(self.on, Session(d, rows, classes, size, rule.matrices, rule.squares), D)
        self.core.begin(d if self.map.keeps_features else D, self.dtype, self.on)
        self.sums = Sums(D, self.dtype, self.on)

    def _logits(self, Phi: Array) -> Array:
        starts = range(0, len(Phi), ROWS)
        parts = [host(self.solutions.scores(self._expanded(Phi[i : i + ROWS]))) for i in starts]
        return np.concatenate(parts) if parts else np.zeros((0, len(self.classes)))
