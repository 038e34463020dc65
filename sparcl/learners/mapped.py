"""Joint ridge on a frozen map of the feature: the family that most closed-form peers belong to."""

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sparcl.algebra import ridge
from sparcl.algebra.linalg import product
from sparcl.algebra.statistics import Statistics
from sparcl.base.checks import check_choice, check_dtype, check_int, check_positive
from sparcl.base.errors import InputError
from sparcl.base.randomness import generator
from sparcl.learners.learner import Array, Learner
from sparcl.parts.maps import KernelMap, RandomMap, kernel_map

GRID = tuple(10.0 ** np.arange(-8, 9))  # RanPAC's candidates
FIT_SHARE = 0.8  # of a session's rows fits while a ridge is judged on the rest (RanPAC)
RULES = ("newest", "gcv", "all", "gaussian")
ROWS = 4096  # rows mapped at a time, so that memory does not grow with them


@dataclass(frozen=True)
class Settings:
    """What distinguishes one member of the family from another.

    Parameters
    ----------
    ridge : lambda, or the rule that chooses it among ``grid`` in each session: ``newest``, the
        squared error on a random fifth of the session (RanPAC); ``gcv``, generalised
        cross-validation on the session (Fly-CL); ``all`` and ``gaussian``, squared error and
        predicted accuracy on a fifth of every session, from sums (this project)
    width, draw, activation, nonzeros, level : of :class:`sparcl.parts.maps.RandomMap`
    centres, sigma : of :func:`sparcl.parts.maps.kernel_map`, with ``draw`` = ``kernel``
    balanced : weigh each class by one over its samples (AIR)
    seed : of the map and of hold-outs
    dtype : working precision
    """

    ridge: float | str
    width: int
    draw: str = "gaussian"
    activation: str = "relu"
    nonzeros: int = 300
    level: float = 0.3
    centres: str = "data"
    sigma: float | str = "median"
    balanced: bool = False
    grid: tuple[float, ...] = GRID
    seed: int = 0
    dtype: str = "float64"

    def __post_init__(self) -> None:
        if isinstance(self.ridge, str):
            check_choice("ridge", self.ridge, RULES)
        else:
            check_positive("ridge", self.ridge)
        for value in self.grid:
            check_positive("grid", value)
        check_int("width", self.width, least=1)
        check_int("seed", self.seed, least=0)
        check_dtype(self.dtype)
        if self.draw == "kernel":
            check_choice("centres", self.centres, ("data", "official"))
            if self.sigma != "median":
                check_positive("sigma", self.sigma)
        else:
            self.random_map(1)

    def random_map(self, d: int) -> RandomMap:
        """Return the map of d features."""
        names = ("width", "seed", "draw", "activation", "nonzeros", "level", "dtype")
        return RandomMap(d, **{name: getattr(self, name) for name in names})


class MappedRidge(Learner):
    """``W_t = (G + ridge_t I)^-1 C`` with G, C the sums of h^T h and h^T y over all sessions.

    Costs a session of n rows: 2 n d M for the map, n M^2 + M^3 / 3 + 2 M^2 c flops for the
    weights, and what the ridge rule takes: n_fit^2 M + |grid| n_fit^3 / 3 for ``newest``,
    n^2 M + 4 n^3 / 3 for ``gcv``, |grid| (M^3 / 3 + 4 M^2 c) and two more sums for ``all`` and
    ``gaussian``.
    """

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self.settings = settings
        self.dtype = np.dtype(settings.dtype)
        self.map: RandomMap | KernelMap | None = None
        self.statistics: Statistics | None = None
        self.fitted: Statistics | None = None  # of the rows that fit while a ridge is judged
        self.judged: Statistics | None = None  # and of those that judge
        self.weights: Array = np.zeros((settings.width, 0), dtype=self.dtype)
        self.ridge = np.nan
        self.width = settings.width

    def expand(self, Phi: Array) -> Array:
        """Return h (n, M) of features Phi (n, d)."""
        return self.map(Phi)

    def holdout_indices(self, n: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the rows of the session fitted last (n samples) that fitted and that judged."""
        return self._split(n, self.session - 1)

    def report(self) -> dict[str, Any]:
        """Return the ridge of the last session."""
        return {"ridge": self.ridge}

    def _split(self, n: int, session: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        shuffled = generator("holdout", self.settings.seed, session).permutation(n)
        cut = int(FIT_SHARE * n)
        return shuffled[:cut], shuffled[cut:]

    # --- one session -------------------------------------------------------------------------

    def _fit(self, Phi: Array, columns: NDArray[np.integer], old: int, classes: int) -> None:
        rule = self.settings.ridge
        if isinstance(rule, str) and rule != "gcv" and len(Phi) < 2:
            raise InputError(
                f"ridge = '{rule}' judges on a fifth of the session and needs two samples at least, "
                "got one: join the session with another, or give the ridge as a number."
            )
        self._refuse_return(columns, old)
        self._start(Phi)
        weights = self._row_weights(columns)
        if rule in ("newest", "gcv"):
            self._choose_and_add(Phi, columns, old, classes, weights)
        else:
            if rule in ("all", "gaussian"):
                self._hold_out(Phi, columns, old, classes, weights)
            self._add(self.statistics, Phi, columns, old, classes, weights)
        if not isinstance(rule, str):
            self.ridge = float(rule)
        elif rule in ("all", "gaussian"):
            self.ridge = self._chosen_from_sums()
        self.weights = self._solved(self.statistics, self.ridge)

    # --- a session in parts ------------------------------------------------------------------

    @property
    def undivided(self) -> str:
        """Why a session must come whole; empty for a map drawn at random and a fixed ridge."""
        if isinstance(self.settings.ridge, str):
            return f"the rule {self.settings.ridge!r} looks at each session (a number does not)"
        if self.settings.draw == "kernel":
            return "its centres are drawn from the first session"
        if self.settings.balanced:
            return "it weighs each class by its final count"
        return ""

    def _settings(self) -> dict[str, Any]:
        return dataclasses.asdict(self.settings)

    def _add_samples(self, Phi: Array, columns: NDArray[np.integer], classes: int) -> None:
        self._start(Phi)
        self._add(self.statistics, Phi, columns, classes, classes, None)

    def _add_sums(self, other: Self, columns: NDArray[np.integer], classes: int) -> None:
        if self.statistics is None:
            self.map = other.map
            self.statistics = Statistics(self.width, self.dtype)
        self.statistics.grow(classes)
        self.statistics.merge(other.statistics, columns)

    def _solve_sums(self, order: NDArray[np.integer]) -> None:
        self.ridge = float(self.settings.ridge)
        self.weights = np.asfortranarray(self._solved(self.statistics, self.ridge)[:, order])
        self.statistics.reorder(order)

    # --- sums and weights --------------------------------------------------------------------

    def _start(self, Phi: Array) -> None:
        """Draw the map in the first session."""
        if self.map is not None:
            return
        settings = self.settings
        if settings.draw == "kernel":
            self.map = kernel_map(
                Phi,
                settings.width,
                settings.seed,
                centres=settings.centres,
                sigma=settings.sigma,
                dtype=settings.dtype,
            )
            self.width = len(self.map.centres)
        else:
            self.map = settings.random_map(Phi.shape[1])
        self.statistics = Statistics(self.width, self.dtype)

    def _solved(self, statistics: Statistics, value: float) -> Array:
        """Return the weights (M, c) from sums: M^3 / 3 + 2 M^2 c flops."""
        with statistics.gram.factored(value / self._kappa(statistics.counts)) as A:
            return ridge.joint(A, statistics.C)

    def _weighed(self, Phi: Array, weights: Array | None) -> Array:
        """Return h (n, M), each row times the root of its weight."""
        H = self.expand(Phi)
        if weights is not None:
            H *= np.sqrt(weights)[:, None].astype(self.dtype)
        return H

    def _add(
        self,
        statistics: Statistics,
        Phi: Array,
        columns: NDArray[np.integer],
        old: int,
        classes: int,
        weights: Array | None,
    ) -> None:
        statistics.grow(classes)
        for start in range(0, len(Phi), ROWS):
            block = slice(start, start + ROWS)
            part = None if weights is None else weights[block]
            statistics.accumulate(self._weighed(Phi[block], part), columns[block])
        self._square_weights(statistics, columns, old, classes, weights)

    # --- class balance (AIR) -----------------------------------------------------------------

    def _refuse_return(self, columns: NDArray[np.integer], old: int) -> None:
        if self.settings.balanced and (columns < old).any():
            raise InputError(
                "a class of an earlier session returned. AIR weighs a class by its final count, "
                "and its sum is in already: give all samples of a class in one session."
            )

    def _row_weights(self, columns: NDArray[np.integer]) -> Array | None:
        """Return 1 / N_c of each row (n,), or None where rows weigh the same."""
        if not self.settings.balanced:
            return None
        return 1.0 / np.bincount(columns)[columns]

    def _square_weights(
        self,
        statistics: Statistics,
        columns: NDArray[np.integer],
        old: int,
        classes: int,
        weights: Array | None,
    ) -> None:
        """Turn sum_i sqrt(w) h of the new classes into sum_i w h; rows of a class weigh the same."""
        if weights is not None:
            of_class = np.zeros(classes)
            of_class[columns] = weights
            statistics.C[:, old:] *= np.sqrt(of_class[old:]).astype(self.dtype)

    def _kappa(self, counts: NDArray[np.integer]) -> float:
        """Return kappa = K / sum_c 1/N_c, so that the class weights kappa / N_c average to 1."""
        if not self.settings.balanced:
            return 1.0
        live = counts[counts > 0]
        return len(live) / float(np.sum(1.0 / live))

    # --- how the ridge is chosen -------------------------------------------------------------

    def _choose_and_add(
        self,
        Phi: Array,
        columns: NDArray[np.integer],
        old: int,
        classes: int,
        weights: Array | None,
    ) -> None:
        """Choose the ridge that serves the session best, by hold-out or GCV; add it to the sums.

        Both need h of all its rows, so it is mapped once; rows are permuted before, not copied after.
        Targets have the session's columns alone: in the others they and the scores are 0.
        """
        fit, val = self._split(len(Phi), self.session)
        order = np.concatenate([fit, val])
        columns = columns[order]
        if weights is not None:
            weights = weights[order]
        H = self._weighed(Phi[order], weights)
        Y = (columns[:, None] == np.unique(columns)).astype(self.dtype)
        if weights is not None:
            Y *= np.sqrt(weights)[:, None].astype(self.dtype)
        # weights kappa / N_c at a ridge are weights 1 / N_c at ridge / kappa
        grid = np.array(self.settings.grid) / self._kappa(np.bincount(columns))
        if self.settings.ridge == "gcv":
            losses = ridge.gcv(H, Y, grid)[1]
        else:
            cut = len(fit)
            losses = ridge.holdout(H[:cut], Y[:cut], H[cut:], Y[cut:], grid)[1]
        self.ridge = float(self.settings.grid[int(np.argmin(losses))])
        self.statistics.grow(classes)
        self.statistics.accumulate(H, columns)
        self._square_weights(self.statistics, columns, old, classes, weights)

    def _hold_out(
        self,
        Phi: Array,
        columns: NDArray[np.integer],
        old: int,
        classes: int,
        weights: Array | None,
    ) -> None:
        """Add the session to the sums of the rows that fit and of those that judge."""
        if self.judged is None:
            self.fitted = Statistics(self.width, self.dtype)
            self.judged = Statistics(self.width, self.dtype)
        parts = self._split(len(Phi), self.session)
        for statistics, rows in zip((self.fitted, self.judged), parts, strict=True):
            part = None if weights is None else weights[rows]
            self._add(statistics, Phi[rows], columns[rows], old, classes, part)

    def _chosen_from_sums(self) -> float:
        """Return the ridge that serves the held-out rows of all sessions best."""
        R, C, counts = self.judged.R, self.judged.C, self.judged.counts

        def loss(value: float) -> float:
            W = self._solved(self.fitted, value)
            if self.settings.ridge == "all":
                return ridge.squared_error(W, R, C)
            return -ridge.predicted_accuracy(W, R, C, counts)

        return ridge.smallest(loss, self.settings.grid)

    # --- scores and state --------------------------------------------------------------------

    def _logits(self, Phi: Array) -> Array:
        parts = [
            product(self.expand(Phi[start : start + ROWS]), self.weights)
            for start in range(0, len(Phi), ROWS)
        ]
        return np.concatenate(parts) if parts else np.zeros((0, len(self.classes)))

    def _state(self) -> dict[str, Any]:
        state: dict[str, Any] = {
            "settings": json.dumps(dataclasses.asdict(self.settings), default=np.generic.item),
            "weights": self.weights,
            "ridge": self.ridge,
            "features": 0 if self._d is None else self._d,
        }
        for name in ("statistics", "fitted", "judged"):
            if getattr(self, name) is not None:
                state[name] = getattr(self, name).state()
        if isinstance(self.map, KernelMap):
            state["map"] = {"centres": self.map.centres, "sigma": self.map.sigma}
        return state

    @classmethod
    def _from_state(cls, state: Mapping[str, Any]) -> Self:
        raw = json.loads(str(state["settings"]))
        learner = cls(Settings(**(raw | {"grid": tuple(raw["grid"])})))
        learner.weights, learner.ridge = np.asfortranarray(state["weights"]), float(state["ridge"])
        for name in ("statistics", "fitted", "judged"):
            if name in state:
                setattr(learner, name, Statistics.from_state(state[name]))
        if "map" in state:
            centres, sigma = np.array(state["map"]["centres"]), float(state["map"]["sigma"])
            learner.map = KernelMap(centres, sigma, learner.settings.dtype)
            learner.width = len(centres)
        elif int(state["features"]):
            learner.map = learner.settings.random_map(int(state["features"]))
        return learner
