"""The learner that most methods are: transform, map, sums, head, perhaps a core, and a rule that chooses."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from sparcl.algebra import linalg
from sparcl.algebra.class_sums import ClassSums
from sparcl.algebra.sums import Sums
from sparcl.base.checks import check_dtype
from sparcl.base.errors import InputError, NumericalError
from sparcl.base.state import Shape
from sparcl.learners.learner import Array, Learner
from sparcl.parts.batch import ROWS, Batch
from sparcl.parts.constraint import constrained_weights
from sparcl.parts.core import Core
from sparcl.parts.heads import Head, Ridge
from sparcl.parts.maps import Map
from sparcl.parts.rules import Given, Point, Rule
from sparcl.parts.transforms import Identity, Transform


@dataclass(eq=False)
class Composed(Learner):
    """Rows are transformed and mapped, summed, and turned into weights by a head.

    A session of n rows costs 2 n d M flops for the map, n D^2 for the sums, what head and core state
    for their solutions, and what the rule takes.

    Parameters
    ----------
    transform : of each row; map : a frozen one, or None for the features themselves
    head : weights from sums; core : what holds old columns of a ridge, or None
    rule : which ridge, shrinkage or core is taken
    dtype : working precision

    Attributes
    ----------
    sums : R, C and n of all sessions
    solutions : W (D, c) of every point that is kept, one where the rule chooses; biases : b (c,) of each
        where the head has one
    points : what is solved, as (number of the value, number of the core, value)
    """

    transform: Transform = field(default_factory=Identity)
    map: Map | None = None
    head: Head = field(default_factory=Ridge)
    core: Core | None = None
    rule: Rule = field(default_factory=Given)
    dtype: str = "float64"
    kept: ClassVar[dict[str, Shape | None]] = {
        "sums": None,
        "solutions": ("D", None),
        "biases": (None,),
        "points": None,
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        check_dtype(self.dtype)
        if self.core is not None and type(self.head) is not Ridge:
            raise InputError(
                "A core holds coordinates of the ridge's weights: it goes with the head 'ridge' alone."
            )
        if self.core is not None and self.core.update == "woodbury" and not self._one_ridge:
            raise InputError(
                "update = 'woodbury' keeps one residual inverse: it goes with one fixed ridge, one "
                "core, exact coupling, full new classes, freezing, and no linear expansion."
            )
        if self.cores > 1 and not self.rule.compares_cores:
            raise InputError(
                "A rule that looks at the newest session cannot tell cores apart: give one tau or k."
            )
        self.sums: Sums | None = None
        self.solutions: list[Array] = []
        self.biases: list[Array] = []
        self.points: list[list[float]] = []

    # --- what a user reads -------------------------------------------------------------------

    @property
    def keeps_samples(self) -> bool:  # type: ignore[override]
        """Whether the map keeps samples, by design."""
        return self.map is not None and self.map.keeps_samples

    @property
    def weights(self) -> Array:
        """W (D, c) of the first point, or of the chosen one."""
        return self.solutions[0]

    @property
    def ridge(self) -> float:
        """Ridge or its like of the first point, or of the chosen one."""
        return float(self.points[0][2]) if self.points else np.nan

    def expand(self, Phi: Array) -> Array:
        """Return transformed and mapped rows (n, D) of features Phi (n, d)."""
        Phi = self.transform(np.asarray(Phi, dtype=self.dtype))
        return Phi if self.map is None else self.map(Phi)

    def core_rows(self, Phi: Array) -> Array:
        """Return the coordinates (n, p) of features Phi (n, d) in which the core lives."""
        return (
            self.transform(np.asarray(Phi, dtype=self.dtype))
            if self._features_first
            else self.expand(Phi)
        )

    def scores(self, Phi: Array) -> dict[tuple[int, int], Array]:
        """Return scores (n, c) of Phi (n, d) at every point (number of the value, number of the core)."""
        H = self.expand(Phi)
        return {(int(i), int(j)): self._scored(H, p) for p, (i, j, _) in enumerate(self.points)}

    def report(self) -> dict[str, Any]:
        """Return what the last session chose and measured: ridge, ranks, energies, losses."""
        if not self.points:
            return {}
        parts = [self.core, self.rule, self.head, *([self.map] if self.map else [])]
        chosen = {"ridge": self.ridge} if isinstance(self.head, Ridge) else {}
        for part in parts:
            chosen |= {} if part is None else part.report()
        return chosen

    # --- one session -------------------------------------------------------------------------

    def _fit(self, Phi: Array, columns: NDArray[np.integer], old: int, classes: int) -> None:
        batch, cut = self._arranged(Phi, columns, old, classes)
        self.learn(batch, cut)

    def _arranged(
        self, Phi: Array, columns: NDArray[np.integer], old: int, classes: int
    ) -> tuple[Batch, int]:
        """Return the session's rows, those that are held out last, and how many come before them."""
        counts = np.bincount(columns, minlength=classes)
        if self.sums is not None:
            counts[: len(self.sums.counts)] += self.sums.counts
        self.head.check(counts)
        weights = self.head.row_weights(columns, old)
        order, cut = self.rule.arrange(columns, self.session)
        Phi = self.transform(np.asarray(Phi, dtype=self.dtype))
        self._begin(Phi)
        if order is not None:
            Phi, columns = Phi[order], columns[order]
            weights = None if weights is None else weights[order]
        expand = (lambda rows: rows) if self.map is None else self.map
        return Batch(Phi, columns, old, classes, self.session, expand, weights), cut

    def learn(self, batch: Batch, cut: int | None = None) -> None:
        """Learn a session's arranged rows: renew the core, choose, sum, solve; rows from ``cut`` on validate."""
        sums, core, renewed, update = self._sums, self.core, False, False
        if core is not None:
            renewed = core.renew(sums, batch.session, self.rule.grid[0])
            batch.H = core.rows(batch.H, sums)
        points = self.rule.choose(batch, len(batch) if cut is None else cut, self)
        if core is not None and self._one_ridge:
            update = core.prepare_update(sums, len(batch), renewed, batch.session, points[0].value)
        sums.grow(batch.classes)
        for H, columns, weights in batch.blocks():
            sums.accumulate(H, columns, weights)
        if update:
            W = core.inverse.update(batch.H, batch.columns, self.weights, batch.classes, sums.gram)
            self._take(points, [(W, None)])
        else:
            held = np.zeros(0, dtype=bool) if core is None else core.held(batch)
            self._take(points, self._solved(points, held, batch.old))
        if core is not None:
            core.measured |= {"update": "woodbury" if update else "direct"}

    def learn_sums(self, labels: Sequence[int] | NDArray[np.integer], sums: ClassSums) -> None:
        """Learn the next session from the sums of its classes, which are new, without a sample.

        Weights are those that :meth:`fit_session` gives on the samples, to rounding.

        Raises
        ------
        InputError
            When the composition reads samples, a class was learned before or has no sample, or the
            features differ.
        NumericalError
            When the ridge system is not positive definite.
        """
        self._check_usable()
        needed = self.needs_rows
        if needed:
            raise InputError(f"Sums of classes do not hold what this method needs: {needed}.")
        where, old = f"session {self.session + 1}", len(self.classes)
        labels = np.sort(np.asarray(labels, dtype=np.int64))
        again = np.intersect1d(labels, self.classes)
        if len(again):
            raise InputError(
                f"{where}: class {again[0]} was learned before, all its samples at once."
            )
        if self.d not in (0, sums.d):
            raise InputError(
                f"{where}: sums of {sums.d} features, earlier sessions had {self.d}: all must come "
                "from the same backbone."
            )
        try:
            arriving = sums.of(labels)
            self._begin(np.zeros((0, sums.d)))
            classes, total = old + len(labels), self._sums
            if self.core is not None:
                self.core.renew(total, self.session, self.rule.grid[0])
            total.grow(classes)
            total.merge(arriving, range(old, classes))
            freezes = self.core is not None and self.core.freeze
            held = np.arange(classes) < (old if freezes else 0)
            points = self.rule.points(self.cores)
            self._take(points, self._solved(points, held, old))
        except InputError as error:
            raise InputError(f"{where}: {error}") from error
        except NumericalError as error:
            self.failure = str(error)
            raise NumericalError(f"{where}: {error}") from error
        if self.core is not None:
            self.core.measured |= {"update": "direct"}
        self.classes, self.d = np.concatenate([self.classes, labels]), sums.d
        self.session += 1

    # --- a session in parts ------------------------------------------------------------------

    @property
    def undivided(self) -> str:
        """Why a session must come whole; empty where the weights follow from sums alone."""
        parts = (self.core, self.rule, self.map, self.head)
        return next((part.whole_session for part in parts if part and part.whole_session), "")

    @property
    def needs_rows(self) -> str:
        """Why sums of classes in the features' own coordinates do not suffice; empty where they do."""
        if self.rule.whole_session:
            return "its rule holds samples out (give ridges as numbers)"
        if self.map is not None or not isinstance(self.transform, Identity):
            return "its map is applied to samples (sum its outputs instead)"
        if self.head.whole_session:
            return self.head.whole_session
        if self.dtype != "float64":
            return f"sums are kept in float64, not in {self.dtype}"
        return "" if self.core is None else self.core.needs_rows

    def _add_samples(self, Phi: Array, columns: NDArray[np.integer], classes: int) -> None:
        Phi = self.transform(np.asarray(Phi, dtype=self.dtype))
        self._begin(Phi)
        self._sums.grow(classes)
        for start in range(0, len(Phi), ROWS):
            rows = slice(start, start + ROWS)
            H = Phi[rows] if self.map is None else self.map(Phi[rows])
            self._sums.accumulate(H, columns[rows])

    def _add_sums(self, other: Self, columns: NDArray[np.integer], classes: int) -> None:
        if self.sums is None:
            self.map = other.map
            self._begin_sums(other.d)
        self._sums.grow(classes)
        self._sums.merge(other._sums, columns)

    def _solve_sums(self, order: NDArray[np.integer]) -> None:
        points = self.rule.points(self.cores)
        solved = self._solved(points, np.zeros(len(order), dtype=bool), len(order))
        self._take(
            points,
            [(np.asfortranarray(W[:, order]), None if b is None else b[order]) for W, b in solved],
        )
        self._sums.reorder(order)
        if self.core is not None:
            self.core.measured = {"renewed": False, "update": "direct"}

    # --- for rules ---------------------------------------------------------------------------

    @property
    def cores(self) -> int:
        """Core rules among which to choose, at least one."""
        return 1 if self.core is None else len(self.core.rules())

    @property
    def width(self) -> int:
        """Mapped coordinates D."""
        return self._sums.D

    def effective(self, value: float, counts: NDArray[np.integer]) -> float:
        """Return the ridge on the sums that a value stands for, given the samples (c,) of each class."""
        return self.head.effective(value, counts)

    def twin(self, rule: Rule, d: int) -> "Composed":
        """Return a new learner of d features, of the same composition and map, with another rule."""
        core = None if self.core is None else dataclasses.replace(self.core)
        twin = dataclasses.replace(self, rule=rule, core=core, head=dataclasses.replace(self.head))
        twin._begin_sums(d)
        return twin

    # --- weights -----------------------------------------------------------------------------

    @property
    def _sums(self) -> Sums:
        if self.sums is None:
            raise InputError("nothing was summed yet")
        return self.sums

    @property
    def _one_ridge(self) -> bool:
        """Whether one ridge is given, so that the recursive path computes the same weights."""
        given = isinstance(self.rule, Given) and len(self.rule.grid) == 1
        return given and self.core is not None and self.core.recursive

    def _begin(self, Phi: Array) -> None:
        """Fix for good what the first session decides: the map, and the sizes of all sums."""
        if self.sums is not None:
            return
        if self.map is not None:
            self.map.begin(Phi)
        self._begin_sums(Phi.shape[1])

    def _begin_sums(self, d: int) -> None:
        D = d if self.map is None else self.map.output
        if self.core is not None:
            self.core.begin(d if self._features_first else D, self.dtype)
        self.sums = Sums(D, self.dtype)

    @property
    def _features_first(self) -> bool:
        return self.map is None or self.map.keeps_features

    def _solved(
        self, points: list[Point], held: NDArray[np.bool_], known: int
    ) -> list[tuple[Array, Array | None]]:
        """Return weights and bias of every point; the first ``known`` columns are old."""
        drop = isinstance(self.rule, Given) and self.rule.drop
        if self.core is not None and (self.core.k != 0 or drop):
            W = constrained_weights(
                self.core, self._sums, points, self.solutions, held, known, drop=drop
            )
            return [(one, None) for one in W]
        if not drop:
            values = list(dict.fromkeys(point.value for point in points))
            by_value = dict(zip(values, self.head.solve_all(self._sums, values), strict=True))
            return [by_value[point.value] for point in points]
        result: list[tuple[Array, Array | None]] = []
        for point in points:
            try:
                result.append(self.head.solve(self._sums, point.value))
            except NumericalError:
                result.append((self._sums.C[:, :0], None))
        return result

    def _take(self, points: list[Point], solved: list[tuple[Array, Array | None]]) -> None:
        """Keep weights, biases and what was solved."""
        self.points = [[point.i, point.j, point.value] for point in points]
        self.solutions = [W for W, _ in solved]
        self.biases = [b for _, b in solved if b is not None]
        if self.core is not None:
            self.core.chosen = points[0].j

    def _scored(self, H: Array, p: int) -> Array:
        scores = linalg.product(H, self.solutions[p])
        return scores + self.biases[p] if self.biases else scores

    def _logits(self, Phi: Array) -> Array:
        parts = [
            self._scored(self.expand(Phi[start : start + ROWS]), 0)
            for start in range(0, len(Phi), ROWS)
        ]
        return np.concatenate(parts) if parts else np.zeros((0, len(self.classes)))
