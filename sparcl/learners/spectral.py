"""Ridge learners whose old classes may be frozen on a spectral core: SPARCL and joint ridge."""

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.vq import kmeans2

from sparcl.algebra import linalg, ridge
from sparcl.algebra.partition import Partition, Rule, Spectrum, empty
from sparcl.algebra.statistics import Statistics
from sparcl.algebra.woodbury import ResidualInverse
from sparcl.base.checks import (
    check_choice,
    check_dtype,
    check_flag,
    check_fraction,
    check_int,
    check_positive,
)
from sparcl.base.errors import InputError
from sparcl.base.randomness import generator
from sparcl.learners.learner import Array, Learner
from sparcl.parts import expansion
from sparcl.parts.policy import Policy, policy

JUDGED_SHARE = 0.2  # of each session's rows: held out by the rule "all", as RanPAC does by "newest"


@dataclass(frozen=True)
class Settings:
    """Every switch of the solver, so that each ablation is a line of parameters.

    Parameters
    ----------
    ridges : values of lambda; candidates when ``ridge_rule`` chooses among them
    ridge_rule : ``fixed`` fits every ridge; ``newest`` chooses one a session by squared error on a
        held-out fifth of it (RanPAC); ``all`` by the squared error on a held-out fifth of *every*
        session, from sums alone, with a second learner that never sees those rows; ``gaussian`` by
        the accuracy that a Gaussian model of these sums predicts (``ridge.predicted_accuracy``)
    taus : energy thresholds of the core; with ``all`` and ``gaussian``, candidates too
    k : rank of the core in place of ``taus``
    refresh, warmup, condition_limit, trust_degrees : when the core is renewed, see :mod:`policy`
    cores : one core for each of so many clusters of classes (paper's remedy (iii))
    freeze : hold the old classes' core coordinates
    reappearing : ``frozen`` or ``free``: whether an old class with new samples is held as well
    new_classes : ``full`` ridge columns, or ``residual`` coordinates only (Algorithm 1)
    coupling : ``exact``, or ``dropped`` as Algorithm 1 prints it
    project : learn from new features projected into the null space of the previous sessions' R,
        which the paper tried and rejected
    expansion : ``none``; ``linear``, m random residual directions drawn anew with each partition;
        ``relu``, ``topk``, ``rbf``, a frozen map of m outputs of the unit-normed residual
    m : width of the expansion
    tau_map : energy of the base session that the nonlinear map leaves out; 0 maps all of it
    update : ``direct``, ``woodbury``, or ``auto`` (by the number of new rows)
    seed : of random directions, maps and hold-outs
    dtype : working precision
    """

    ridges: tuple[float, ...] = (1.0,)
    ridge_rule: str = "fixed"
    taus: tuple[float, ...] = ()
    k: int | None = None
    refresh: int = 1
    warmup: int = 1
    condition_limit: float | None = None
    trust_degrees: float | None = None
    cores: int = 1
    freeze: bool = True
    reappearing: str = "frozen"
    new_classes: str = "full"
    coupling: str = "exact"
    project: bool = False
    expansion: str = "none"
    m: int = 0
    tau_map: float = 0.5
    update: str = "auto"
    seed: int = 0
    dtype: str = "float64"

    def __post_init__(self) -> None:
        for value in self.ridges:
            check_positive("ridge", value)
        check_choice("ridge_rule", self.ridge_rule, ("fixed", "newest", "all", "gaussian"))
        check_choice("reappearing", self.reappearing, ("frozen", "free"))
        check_choice("new_classes", self.new_classes, ("full", "residual"))
        check_choice("coupling", self.coupling, ("exact", "dropped"))
        check_choice("expansion", self.expansion, ("none", "linear", *expansion.NONLINEAR))
        check_choice("update", self.update, ("auto", "direct", "woodbury"))
        check_flag("freeze", self.freeze)
        check_flag("project", self.project)
        check_int("cores", self.cores, least=1)
        check_int("seed", self.seed, least=0)
        check_int("m", self.m, least=0)
        if self.tau_map != 0:
            check_fraction("tau_map", self.tau_map)
        check_dtype(self.dtype)
        self.policy()
        if not self.rules():
            raise InputError("A core needs an energy threshold tau or a rank k: give one.")
        if (self.expansion == "none") != (self.m == 0):
            raise InputError(
                f"expansion = {self.expansion!r} with m = {self.m}: an expansion has a width m of at "
                "least 1, and without one m is 0."
            )
        if self.ridge_rule == "newest" and len(self.rules()) > 1:
            raise InputError(
                "ridge_rule = 'newest' chooses a ridge, and it needs one threshold tau or rank k."
            )
        if self.cores > 1 and self.expansion == "linear":
            raise InputError("expansion = 'linear' has one residual: it goes with cores = 1.")
        if self.update == "woodbury" and not self.updatable():
            raise InputError(
                "update = 'woodbury' keeps one residual inverse: it goes with one fixed ridge, one "
                "core, exact coupling, full new classes, freezing, and no linear expansion."
            )

    def rules(self) -> list[Rule]:
        """Return the core rules."""
        return [Rule(k=self.k)] if self.k is not None else [Rule(tau=tau) for tau in self.taus]

    def policy(self) -> Policy:
        """Return the refresh policy."""
        return policy(
            refresh=self.refresh,
            warmup=self.warmup,
            condition_limit=self.condition_limit,
            trust_degrees=self.trust_degrees,
        )

    def updatable(self) -> bool:
        """Return whether the recursive path computes the same weights as the direct one."""
        return (
            self.ridge_rule == "fixed"
            and len(self.ridges) == len(self.rules()) == self.cores == 1
            and self.freeze
            and (self.coupling, self.new_classes) == ("exact", "full")
            and self.reappearing == "frozen"
            and self.expansion != "linear"
        )

    def undivided(self) -> str:
        """Return what of these settings needs a session whole; nothing if weights follow from sums."""
        if self.k != 0:
            return "its core holds weights of earlier sessions (k = 0 has none)"
        if self.ridge_rule != "fixed":
            return (
                f"the rule {self.ridge_rule!r} holds rows of each session out (a number does not)"
            )
        if self.project or self.cores > 1:
            return "project and cores > 1 measure the session first"
        if self.expansion != "none" and (self.expansion not in ("relu", "topk") or self.tau_map):
            return "its map needs the first session whole (relu or topk with tau_map = 0 does not)"
        return ""


class Point(NamedTuple):
    """One solution: a ridge (its number and value) and a core rule (its number)."""

    i: int
    j: int
    ridge: float


class SpectralRidge(Learner):
    """Cumulative ridge with the old classes' core coordinates frozen (paper, section 4).

    In session t the core is spanned by the leading eigenvectors U_core of the *previous* sessions'
    R; with ``G = U_core^T W_{t-1}`` the columns of all classes seen before minimise the cumulative
    ridge objective subject to ``U_core^T W = G`` (Lemma 1), and new columns are the free ridge
    solution.  An empty core gives the joint ridge.

    A grid of ridges and thresholds is fitted at once: statistics and eigendecomposition are
    shared by all points, and the Cholesky factor and ``A^-1 U_core`` by all cores of a ridge.
    Cost per session, D = d (+ m): n D^2 + per ridge D^3 / 3 + 2 D^2 (c + k), and O(d^2 k) to
    O(d^3) where the core is renewed; with the recursive update of few rows see :mod:`woodbury`.
    """

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self.settings = settings
        self.dtype = np.dtype(settings.dtype)
        self.map: expansion.ResidualMap | None = None
        self.statistics: Statistics | None = None
        self.partitions: list[list[Partition]] = []  # by rule, then by cluster
        self.grams: list[linalg.Gram] = []  # R of each cluster's classes, when there are several
        self.centres: Array | None = None  # (cores, d) class-mean clusters of the base session
        self.cluster = np.zeros(0, dtype=np.int64)  # of each class column
        self.Qs: list[Array] = []  # random residual directions, by rule
        self.inverse: ResidualInverse | None = None
        self.judge: SpectralRidge | None = None
        self.judged: Statistics | None = None
        self._weights: dict[tuple[int, int], Array] = {}
        self._report: dict[str, Any] = {}

    # --- what a user reads -------------------------------------------------------------------

    @property
    def weights(self) -> Array:
        """W (D, c) of the first grid point, or of the chosen one."""
        return self._weights[0, 0]

    @property
    def core(self) -> Array:
        """Core basis (d, k) of the first rule and cluster in the session fitted last."""
        return self.partitions[0][0].U_core

    @property
    def Q(self) -> Array | None:
        """Random residual directions (d, m) of the first rule; None before the first partition."""
        return self.Qs[0] if self.Qs else None

    def expand(self, Phi: Array) -> Array:
        """Return the learner's own coordinates (n, D) of features Phi (n, d)."""
        Phi = np.asarray(Phi, dtype=self.dtype)
        return Phi if self.map is None else self.map(Phi)

    def report(self) -> dict[str, Any]:
        """Return ridge, k, r, energies, and what policy and update decided, of the last session."""
        return dict(self._report)

    def scores(self, Phi: Array) -> dict[tuple[int, int], Array]:
        """Return scores (n, c) of Phi (n, d) at every grid point (ridge number, rule number)."""
        X = self.expand(Phi)
        return {point: linalg.product(X, W) for point, W in self._weights.items()}

    def _logits(self, Phi: Array) -> Array:
        return linalg.product(self.expand(Phi), self.weights)

    # --- what a user keeps -------------------------------------------------------------------

    def _state(self) -> dict[str, Any]:
        parts = {
            f"{j}/{g}": {
                "U_core": part.U_core,
                "measured": np.array([part.energy, part.energy_before]),
                "origin": np.array(part.origin),
            }
            for j, cores in enumerate(self.partitions)
            for g, part in enumerate(cores)
        }
        state: dict[str, Any] = {
            "settings": _json(dataclasses.asdict(self.settings)),
            "report": _json(self._report),
            "cluster": self.cluster,
            "partition": parts,
            "weights": {f"{i}/{j}": W for (i, j), W in self._weights.items()},
            "gram": {str(g): R.full for g, R in enumerate(self.grams)},
            "Q": {str(j): Q for j, Q in enumerate(self.Qs)},
        }
        if self.statistics is not None:
            state["statistics"] = self.statistics.state()
        if self.centres is not None:
            state["centres"] = self.centres
        if self.map is not None:
            state["map"] = {"basis": self.map.basis, "bandwidth": self.map.bandwidth}
        if self.inverse is not None:
            state["inverse"] = self.inverse.state()
        if self.judge is not None:
            state["judge"] = self.judge.state()
        if self.judged is not None:
            state["judged"] = self.judged.state()
        return state

    @classmethod
    def _from_state(cls, state: Mapping[str, Any]) -> Self:
        raw = json.loads(str(state["settings"]))
        tuples = {key: tuple(value) for key, value in raw.items() if isinstance(value, list)}
        learner = cls(Settings(**(raw | tuples)))
        settings = learner.settings
        learner._report = json.loads(str(state["report"]))
        learner.cluster = state["cluster"]
        parts = state.get("partition", {})
        for j in range(len(settings.rules()) if parts else 0):
            row = [parts[str(j)][str(g)] for g in range(settings.cores)]
            learner.partitions.append(
                [
                    Partition(
                        np.asfortranarray(part["U_core"]),
                        *map(float, part["measured"]),
                        tuple(map(int, part["origin"])),
                    )
                    for part in row
                ]
            )
        learner._weights = {
            (int(i), int(j)): W
            for i, row in state.get("weights", {}).items()
            for j, W in row.items()
        }
        learner.grams = [linalg.Gram.wrap(R) for R in _listed(state.get("gram", {}))]
        learner.Qs = _listed(state.get("Q", {}))
        learner.centres = state.get("centres")
        if "statistics" in state:
            learner.statistics = Statistics.from_state(state["statistics"])
        if "map" in state:
            stored = state["map"]
            learner.map = expansion.ResidualMap(
                settings.expansion,
                np.asfortranarray(stored["basis"]),
                settings.m,
                settings.seed,
                float(stored["bandwidth"]),
            )
        if "inverse" in state:
            learner.inverse = ResidualInverse.from_state(state["inverse"])
        if "judge" in state:
            learner.judge = cls.from_state(state["judge"])
        if "judged" in state:
            learner.judged = Statistics.from_state(state["judged"])
        return learner

    # --- one session -------------------------------------------------------------------------

    def _fit(self, Phi: Array, columns: NDArray[np.integer], old: int, classes: int) -> None:
        Phi = np.asarray(Phi, dtype=self.dtype)
        if self.settings.ridge_rule != "fixed" and len(Phi) < 2:
            raise InputError(
                f"ridge_rule = '{self.settings.ridge_rule}' holds samples out: got one."
            )
        if self.statistics is None:
            self._start(Phi, columns, classes)
        kept = self._report, self.partitions, self.Qs, self.cluster
        try:
            self._learn(Phi, columns, old, classes)
        except InputError:
            # raised before any sum is touched: what was only replaced is put back
            self._report, self.partitions, self.Qs, self.cluster = kept
            raise

    def _learn(self, Phi: Array, columns: NDArray[np.integer], old: int, classes: int) -> None:
        self._report = {}
        renewed = self._renew_partitions(Phi.shape[1])
        X = self.expand(Phi)
        if self.settings.project:
            X = self._projected(X)
        self._assign_clusters(Phi, columns, classes)
        points = self._points(Phi, X, columns, old, classes)
        held = np.arange(classes) < (old if self.settings.freeze else 0)
        if self.settings.reappearing == "free":
            held[np.unique(columns)] = False
        recursive = self._recursive(len(X), renewed)
        if recursive and self.inverse is None:
            self.inverse = ResidualInverse(
                self.statistics.gram, self.settings.ridges[0], self._embedded(self.core)
            )
        self.statistics.grow(classes)
        self.statistics.accumulate(X, columns)
        for g, R in enumerate(self.grams):
            R.add(Phi[self.cluster[columns] == g])
        if recursive:
            self._weights = {(0, 0): self._updated(X, columns, old, classes)}
        else:
            self.inverse = None
            self._weights = self._solved(points, held, old)
        self._report |= self._measured(points[0]) | {
            "update": "woodbury" if recursive else "direct"
        }

    def _start(self, Phi: Array, columns: NDArray[np.integer], classes: int) -> None:
        """Draw what the base session fixes for good: the map and the clusters of classes."""
        settings, d = self.settings, Phi.shape[1]
        if classes < settings.cores:
            raise InputError(
                f"cores = {settings.cores}, but the base session has {classes} classes."
            )
        if self.map is None and settings.expansion in expansion.NONLINEAR:
            base = linalg.Gram(d, self.dtype)
            base.add(Phi)
            left_out = Rule(tau=settings.tau_map) if settings.tau_map else Rule(k=0)
            basis = Spectrum(base.full).split(left_out).U_core
            self.map = expansion.residual_map(
                settings.expansion, basis, Phi, settings.m, settings.seed
            )
        self.statistics = Statistics(d if self.map is None else d + settings.m, self.dtype)
        if settings.cores > 1:
            if self.centres is None:
                means = _class_means(Phi, columns, range(classes))
                spread = _spread_rows(means, settings.cores)
                self.centres = kmeans2(means, spread, minit="matrix")[0]
            self.grams = [linalg.Gram(d, self.dtype) for _ in range(settings.cores)]
        if settings.ridge_rule in ("all", "gaussian"):
            self.judge = SpectralRidge(dataclasses.replace(settings, ridge_rule="fixed"))
            # one map, or the held-out sums would not be its own; one clustering, from all rows
            self.judge.map, self.judge.centres = self.map, self.centres
        self.partitions = [
            [empty(d, self.dtype) for _ in range(settings.cores)] for _ in settings.rules()
        ]

    def _assign_clusters(self, Phi: Array, columns: NDArray[np.integer], classes: int) -> None:
        """Put each new class into the cluster whose centre is nearest to its mean."""
        known = len(self.cluster)
        new = np.zeros(classes - known, dtype=np.int64)
        if self.centres is not None and len(new):
            means = _class_means(Phi, columns, range(known, classes))
            new = np.argmin(((means[:, None] - self.centres) ** 2).sum(axis=2), axis=1)
        self.cluster = np.concatenate([self.cluster, new])

    def _renew_partitions(self, d: int) -> bool:
        """Split the space by R of the previous sessions where the policy says so."""
        settings, decide = self.settings, self.settings.policy()
        spectra = [Spectrum(R, self.session, d) for R in self.grams or [self.statistics.gram]]
        rules, partitions = settings.rules(), [list(cores) for cores in self.partitions]
        renewed = False
        # the largest threshold first: the others take part of its decomposition
        for j in sorted(range(len(rules)), key=lambda j: -(rules[j].tau or 0)):
            if rules[j].k == 0:  # an empty core is the same in every session
                continue
            for g, spectrum in enumerate(spectra):
                due, measured = decide.renews(
                    self.session, spectrum, settings.ridges[0], partitions[j][g]
                )
                if (j, g) == (0, 0):
                    self._report |= measured
                if due:
                    partitions[j][g] = spectrum.split(rules[j])
                    renewed = True
        if renewed and settings.expansion == "linear":
            rng = generator("residual-directions", settings.seed, self.session)
            self.Qs = [
                expansion.residual_directions(cores[0].U_core, settings.m, rng).astype(self.dtype)
                for cores in partitions
            ]
        self.partitions = partitions
        self._report["renewed"] = renewed
        return renewed

    def _projected(self, X: Array) -> Array:
        """Return X (n, D) without its part in the range of the previous sessions' R: O(D^3)."""
        values, vectors = linalg.descending_eigh(self.statistics.R)
        seen = vectors[:, values > len(values) * np.finfo(self.dtype).eps * max(values[0], 1)]
        return X - linalg.product(linalg.product(X, seen), seen.T)

    def _points(
        self, Phi: Array, X: Array, columns: NDArray[np.integer], old: int, classes: int
    ) -> list[Point]:
        """Return what is to be solved: the grid, or the one point that the ridge rule chooses."""
        settings, ridges = self.settings, self.settings.ridges
        if settings.ridge_rule == "fixed":
            return self._grid()
        fit, judged = _held_out(columns, generator("holdout", settings.seed, self.session))
        if settings.ridge_rule == "newest":
            Y = (columns[:, None] == np.arange(classes)).astype(self.dtype)
            value, errors = ridge.holdout(X[fit], Y[fit], X[judged], Y[judged], np.array(ridges))
            self._report["holdout_errors"] = errors.tolist()
            return [Point(0, 0, value)]
        errors = self._judged_errors(Phi, X, columns, fit, judged, old, classes)
        self._report["holdout_errors"] = list(errors.values())
        i, j = min(errors, key=lambda point: (errors[point], point))
        return [Point(0, j, ridges[i])]

    def _grid(self) -> list[Point]:
        """Return all pairs of a ridge and a core rule."""
        return [
            Point(i, j, value)
            for i, value in enumerate(self.settings.ridges)
            for j in range(len(self.partitions))
        ]

    def _judged_errors(
        self,
        Phi: Array,
        X: Array,
        columns: NDArray[np.integer],
        fit: NDArray[np.intp],
        judged: NDArray[np.intp],
        old: int,
        classes: int,
    ) -> dict[tuple[int, int], float]:
        """Return how badly each grid point does on the rows held out in all sessions so far.

        From sums alone, and of weights that never saw those rows: a second learner runs on the
        others, with frozen coordinates of its own.  2 D^2 c flops a point beside its fit.
        """
        # a class whose every row is held out keeps its column and its cluster all the same
        self.judge.cluster = self.cluster
        self.judge.fit_columns(Phi[fit], columns[fit], old, classes)
        if self.judged is None:
            self.judged = Statistics(X.shape[1], self.dtype)
        self.judged.grow(classes)
        self.judged.accumulate(X[judged], columns[judged])
        R, C, counts = self.judged.R, self.judged.C, self.judged.counts
        if self.settings.ridge_rule == "all":
            return {point: ridge.squared_error(W, R, C) for point, W in self.judge._weights.items()}
        return {
            point: -ridge.predicted_accuracy(W, R, C, counts)
            for point, W in self.judge._weights.items()
        }

    def fit_columns(self, Phi: Array, columns: NDArray[np.integer], old: int, classes: int) -> None:
        """Fit rows whose class columns another learner has assigned."""
        self._fit(Phi, columns, old, classes)
        self.classes, self._d = np.arange(classes), Phi.shape[1]
        self.session += 1

    # --- a session in parts ------------------------------------------------------------------

    @property
    def undivided(self) -> str:
        """Why a session must come whole; empty for joint ridge: no core, a fixed ridge."""
        return self.settings.undivided()

    def _settings(self) -> dict[str, Any]:
        return dataclasses.asdict(self.settings)

    def _add_samples(self, Phi: Array, columns: NDArray[np.integer], classes: int) -> None:
        Phi = np.asarray(Phi, dtype=self.dtype)
        if self.statistics is None:
            self._start(Phi, columns, classes)
        self.inverse = None
        self.statistics.grow(classes)
        self.statistics.accumulate(self.expand(Phi), columns)

    def _add_sums(self, other: Self, columns: NDArray[np.integer], classes: int) -> None:
        if self.statistics is None:
            self.map, self.partitions = other.map, [list(cores) for cores in other.partitions]
            self.statistics = Statistics(len(other.statistics.gram), self.dtype)
        self.inverse = None
        self.statistics.grow(classes)
        self.statistics.merge(other.statistics, columns)

    def _solve_sums(self, order: NDArray[np.integer]) -> None:
        points = self._grid()
        weights = self._solved(points, np.zeros(len(order), dtype=bool), len(order))
        self._weights = {key: np.asfortranarray(W[:, order]) for key, W in weights.items()}
        self.statistics.reorder(order)
        self.cluster = np.zeros(len(order), dtype=np.int64)
        self._report = {"renewed": False, "update": "direct"} | self._measured(points[0])

    # --- weights -----------------------------------------------------------------------------

    def _solved(
        self, points: list[Point], held: NDArray[np.bool_], known: int
    ) -> dict[tuple[int, int], Array]:
        """Return the weights of every point by the direct path; ``known`` columns are not new."""
        statistics, weights = self.statistics, {}
        for value in dict.fromkeys(point.ridge for point in points):
            same = [point for point in points if point.ridge == value]
            for group in [[point] for point in same] if self.Qs else [same]:
                # Features [P_res f ; Q^T f] with penalty ridge are the residual with penalty
                # ridge (I + Q Q^T)^-1 = ridge (I - Q Q^T / 2): it is halved along span(Q).
                downdate = (value / 2, self.Qs[group[0].j]) if self.Qs else None
                with statistics.gram.factored(value, downdate=downdate) as A:
                    W_free = ridge.joint(A, statistics.C)
                    V = self._core_solutions(A, {point.j for point in group})
                for point in group:
                    key = (point.i, point.j) if self.settings.ridge_rule == "fixed" else (0, 0)
                    weights[key] = self._constrained(key, point.j, V, W_free, held, known)
        return weights

    def _core_solutions(self, A: linalg.Factor, rules: set[int]) -> dict[tuple, Array]:
        """Return ``A^-1 U_core`` of the widest core of each decomposition, by its identity."""
        widest: dict[tuple, Partition] = {}
        for j in sorted(rules):
            for g, part in enumerate(self.partitions[j]):
                name = (*part.origin, g)
                if name not in widest or widest[name].k < part.k:
                    widest[name] = part
        return {name: A.solve(self._embedded(part.U_core)) for name, part in widest.items()}

    def _constrained(
        self,
        key: tuple[int, int],
        j: int,
        V: dict[tuple, Array],
        W_free: Array,
        held: NDArray[np.bool_],
        known: int,
    ) -> Array:
        """Hold the old columns of every cluster at their core coordinates."""
        W = W_free.copy()
        exact = self.settings.coupling == "exact"
        for g, part in enumerate(self.partitions[j]):
            if part.k == 0:
                continue
            # cores of one decomposition are nested: the first k columns of the widest one
            U, V_core = self._embedded(part.U_core), V[*part.origin, g][:, : part.k]
            old = np.flatnonzero(held & (self.cluster == g))
            if len(old):
                G = linalg.product(U.T, self._weights[key][:, old])
                W[:, old] = ridge.constrained(U, V_core, W_free[:, old], G, coupling=exact)
            new = known + np.flatnonzero(self.cluster[known:] == g)
            if self.settings.new_classes == "residual" and len(new):
                nothing = np.zeros((part.k, len(new)), dtype=W.dtype)
                W[:, new] = ridge.constrained(U, V_core, W_free[:, new], nothing)
        return W

    def _recursive(self, n: int, renewed: bool) -> bool:
        """Return whether this session updates the kept inverse instead of factoring R again."""
        settings = self.settings
        if settings.update == "direct" or not settings.updatable() or renewed or not self.session:
            return False
        return settings.update == "woodbury" or ResidualInverse.pays(n, len(self.statistics.gram))

    def _updated(self, X: Array, columns: NDArray[np.integer], old: int, classes: int) -> Array:
        """Return the weights of the one point by the recursive path."""
        return self.inverse.update(X, columns, self.weights, classes, self.statistics.gram)

    def _embedded(self, U_core: Array) -> Array:
        """Pad a core basis (d, k) with zero rows to the learner's coordinates (D, k)."""
        D = len(self.statistics.gram)
        if len(U_core) == D:
            return U_core
        padded = np.zeros((D, U_core.shape[1]), dtype=U_core.dtype, order="F")
        padded[: len(U_core)] = U_core
        return padded

    def _measured(self, point: Point) -> dict[str, Any]:
        part = self.partitions[point.j][0]
        rule = self.settings.rules()[point.j]
        return {
            "ridge": point.ridge,
            "tau": rule.tau,
            "k": part.k,
            "r": part.r,
            "energy": part.energy,
            "energy_before": part.energy_before,
        }


def _held_out(
    columns: NDArray[np.integer], rng: np.random.Generator
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Split rows into those that fit and those that judge: a fifth of each class, one at least.

    A class of one row fits; where no class has two, the last row judges.
    """
    judged: list[int] = []
    for column in np.unique(columns):
        rows = rng.permutation(np.flatnonzero(columns == column))
        if len(rows) > 1:
            judged += rows[: max(round(JUDGED_SHARE * len(rows)), 1)].tolist()
    held = np.array(sorted(judged) or [len(columns) - 1])
    return np.setdiff1d(np.arange(len(columns)), held), held


def _class_means(Phi: Array, columns: NDArray[np.integer], classes: range) -> Array:
    return np.stack([Phi[columns == column].mean(axis=0) for column in classes])


def _spread_rows(rows: Array, count: int) -> Array:
    """Return ``count`` rows far from each other: the first, then the farthest from all taken."""
    taken = [0]
    while len(taken) < count:
        distance = ((rows[:, None] - rows[taken]) ** 2).sum(axis=2).min(axis=1)
        taken.append(int(np.argmax(distance)))
    return rows[taken]


def _json(value: dict[str, Any]) -> str:
    return json.dumps(value, sort_keys=True, default=np.generic.item)  # numpy's numbers as Python's


def _listed(numbered: Mapping[str, Array]) -> list[Array]:
    return [np.array(numbered[str(i)], order="F") for i in range(len(numbered))]
