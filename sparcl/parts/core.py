"""SPARCL's constraint: old classes keep their coordinates in the leading eigenspace of R.

In session t the core is spanned by the leading eigenvectors U_core of the *previous* sessions' R; with
``G = U_core^T W_{t-1}`` the columns of all classes seen before minimise the cumulative ridge objective
subject to ``U_core^T W = G`` (paper, Lemma 1), and new columns are the free ridge solution.  An empty
core gives the joint ridge; no core leaves every column to its head.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sparcl.algebra import ridge, spectra
from sparcl.algebra.backend import Backend, Factor, host
from sparcl.algebra.partition import (
    Partition,
    Spectrum,
    check_size,
    embedded,
    empty,
    residual_condition,
    residual_directions,
)
from sparcl.algebra.recursive import ResidualInverse
from sparcl.algebra.sums import Sums
from sparcl.base.checks import check_choice, check_flag, check_int, check_positive
from sparcl.base.errors import InputError, NumericalError
from sparcl.base.randomness import generator
from sparcl.base.state import Shape, Stateful
from sparcl.base.types import Array
from sparcl.parts.batch import Arrival, Batch, Point, Solution
from sparcl.parts.heads.ridge import Head


@dataclass(frozen=True)
class Request:
    """The problem to solve at the end of a session.

    Attributes
    ----------
    sums : of all sessions, this one among them; arrival : the session
    points : where; previous : weights (D, c_old) of every point before the session, or none
    drop : leave a point without a solution in this precision unsolved, (D, 0)
    """

    head: Head
    sums: Sums
    points: list[Point]
    previous: list[Array]
    arrival: Arrival
    drop: bool = False


@dataclass(eq=False)
class NoCore(Stateful):
    """Every column is the head's own solution.

    Attributes
    ----------
    candidates : cores among which to choose
    whole_session : why a session must come whole; needs_rows : why its sums do not suffice; empty where not
    of_ridge : whether it holds coordinates of a ridge's weights, and goes with the head 'ridge' alone
    blends : whether it adds scores of another head, which is written for NumPy
    """

    candidates: ClassVar[int] = 1
    whole_session: ClassVar[str] = ""
    needs_rows: ClassVar[str] = ""
    of_ridge: ClassVar[bool] = False
    blends: ClassVar[bool] = False

    def begin(self, p: int, dtype: str, on: Backend) -> None:
        """Nothing is kept of the first p coordinates."""

    def open(self, batch: Batch, sums: Sums, ridge: float, single: bool) -> None:
        """Prepare what the previous sessions' sums decide, before those of a session are added."""
        self.renew(sums, batch.session, ridge)

    def renew(self, sums: Sums, session: int, ridge: float) -> None:
        """Nothing is renewed."""

    def solve(self, request: Request) -> list[Solution]:
        """Return the head's weights (D, c) and bias (c,) at every point."""
        ridges = list(dict.fromkeys(point.ridge for point in request.points))
        if not request.drop:
            solved = dict(zip(ridges, request.head.solve_all(request.sums, ridges), strict=True))
        else:
            solved = {value: _solved_or_not(request.head, request.sums, value) for value in ridges}
        return [solved[point.ridge] for point in request.points]

    def report(self) -> dict[str, Any]:
        """Return nothing."""
        return {}


def _solved_or_not(head: Head, sums: Sums, ridge: float) -> Solution:
    """Return the solution at a ridge, or one without columns where there is none in this precision."""
    try:
        return head.solve(sums, ridge)
    except NumericalError:
        return sums.C[:, :0], None


@dataclass(eq=False)
class Core(NoCore):
    """Holds old columns; a new solution costs 2 D^2 k + k^3 / 3 flops beside that of the ridge.

    A renewal takes leading eigenvectors of the previous sessions' R, O(p^2 k) to O(p^3).  Without other
    settings there is a first one after ``warmup`` sessions, then one every ``refresh`` sessions.

    Parameters
    ----------
    tau : share of the energy in (0, 1) that the core holds, or several among which a rule chooses
    k : rank in place of tau, 0 for an empty core
    refresh : sessions between renewals; 0 keeps the first core (paper's "base only" with ``warmup`` 1)
    warmup : a longer one is the paper's remedy (i) for a small or atypical base session
    condition_limit : renew where the condition number of ``U_res^T (R + ridge I) U_res`` passes it (paper, "when
        the residual condition number exceeds a threshold"); O(d^3) a session for its eigenvalues
    trust_degrees : renew each session while the core turns by less: the largest canonical angle to the leading
        subspace of equal rank of the new R (paper's remedy (ii)); beyond it the core stays
    freeze : hold the old classes' core coordinates
    reappearing : ``frozen`` or ``free``: whether an old class with new samples is held as well
    new_classes : ``full`` ridge columns, or ``residual`` coordinates only (Algorithm 1)
    coupling : ``exact``, or ``dropped`` as Algorithm 1 prints it
    project : learn from rows projected into the null space of the previous sessions' R, which the
        paper tried and rejected
    directions : m random residual directions, drawn anew with each split (paper's linear expansion)
    update : ``direct``, ``woodbury`` (:mod:`sparcl.algebra.recursive`), or ``auto``, by the number of
        new rows
    seed : of the random directions

    Attributes
    ----------
    partitions : of each threshold; chosen : number of the one that was chosen last
    Qs : (p, m) random directions of each threshold, empty before the first split
    inverse : of the recursive path, where it is under way
    measured : what the last renewal decided, and from what
    """

    tau: float | Sequence[float] | None = 0.95
    k: int | None = None
    refresh: int = 1
    warmup: int = 1
    condition_limit: float | None = None
    trust_degrees: float | None = None
    freeze: bool = True
    reappearing: str = "frozen"
    new_classes: str = "full"
    coupling: str = "exact"
    project: bool = False
    directions: int = 0
    update: str = "auto"
    seed: int = 0
    of_ridge: ClassVar[bool] = True
    kept: ClassVar[dict[str, Shape | None]] = {
        "partitions": list[Partition],
        "chosen": int,
        "Qs": (None, None),
        "measured": dict[str, Any],
        "inverse": ResidualInverse | None,
    }

    def __post_init__(self) -> None:
        check_choice("reappearing", self.reappearing, ("frozen", "free"))
        check_choice("new_classes", self.new_classes, ("full", "residual"))
        check_choice("coupling", self.coupling, ("exact", "dropped"))
        check_choice("update", self.update, ("auto", "direct", "woodbury"))
        check_flag("freeze", self.freeze)
        check_flag("project", self.project)
        check_int("m", self.directions, least=0)
        check_int("seed", self.seed, least=0)
        self._check_refresh()
        if isinstance(self.tau, Sequence):
            self.tau = tuple(self.tau)
        taus = self.tau if isinstance(self.tau, tuple) else (self.tau,) * (self.tau is not None)
        self.taus: tuple[float | None, ...] = taus if self.k is None else (None,)
        if not self.taus:
            raise InputError("A core needs an energy threshold tau or a rank k: give one.")
        for tau in self.taus:
            check_size(tau, self.k)
        self.candidates = len(self.taus)  # type: ignore[misc]
        # the largest threshold first: the others take part of its decomposition
        self.falling = sorted(range(len(self.taus)), key=lambda j: -(self.taus[j] or 0))
        self.partitions: list[Partition] = []
        self.chosen = 0
        self.Qs: list[Array] = []
        self.measured: dict[str, Any] = {"renewed": False}
        self.inverse: ResidualInverse | None = None

    def check_state(self) -> None:
        """Raise ValueError unless the chosen partition is among those that are there, one a threshold."""
        several = len(self.taus)
        if len(self.partitions) not in (0, several) or not self.chosen < several:
            raise ValueError("partitions, thresholds and the chosen one do not belong together")

    def _check_refresh(self) -> None:
        check_int("refresh", self.refresh, least=0)
        check_int("warmup", self.warmup, least=1)
        if self.condition_limit is not None and self.trust_degrees is not None:
            raise InputError(
                "condition_limit and trust_degrees are two refresh policies: give one of them."
            )
        if self.condition_limit is not None:
            check_positive("condition_limit", self.condition_limit)
        if self.trust_degrees is not None:
            if check_positive("trust_degrees", self.trust_degrees) >= 90:
                raise InputError(
                    f"trust_degrees = {self.trust_degrees!r}: it must lie below 90, the largest angle there is."
                )

    @property
    def U_core(self) -> Array:
        """Basis (p, k) of the core that was chosen last, on the host."""
        return host(self.partitions[self.chosen].U_core)

    # --- renewal -----------------------------------------------------------------------------

    def begin(self, p: int, dtype: str, on: Backend) -> None:
        """Start with an empty core in the first p coordinates: R_0 = 0."""
        if self.k is not None and self.k > p:
            raise InputError(f"k = {self.k} exceeds the {p} feature dimensions that can be split.")
        self.partitions = [empty(p, dtype, on) for _ in self.taus]

    def renew(self, sums: Sums, session: int, ridge: float) -> None:
        """Split the space by R of the previous sessions, where the settings say so."""
        partitions, renewed = list(self.partitions), False
        p, largest = partitions[self.falling[0]].U_core.shape
        spectrum = Spectrum(sums, session, p, largest)
        measured: dict[str, Any] = {}
        for j in [] if self.k == 0 else self.falling:  # an empty core is the same in every session
            due, found = self._due(session, spectrum, ridge, partitions[j])
            measured = found if j == 0 else measured
            if due:
                partitions[j], renewed = spectrum.split(tau=self.taus[j], k=self.k), True
        if renewed and self.directions:
            rng = generator("residual-directions", self.seed, session)
            drawn = (residual_directions(p.U_core, self.directions, rng) for p in partitions)
            self.Qs = [sums.on.array(Q.astype(sums.dtype)) for Q in drawn]
        self.partitions = partitions
        self.measured = measured | {"renewed": renewed}

    def _due(
        self, session: int, spectrum: Spectrum, ridge: float, current: Partition
    ) -> tuple[bool, dict[str, Any]]:
        """Return whether a new partition replaces ``current``, and what was measured for it."""
        if self.condition_limit is None and self.trust_degrees is None:
            since = session - self.warmup
            return since == 0 or (since > 0 and self.refresh > 0 and since % self.refresh == 0), {}
        if session == 0:
            return False, {}
        if self.condition_limit is not None:
            condition = residual_condition(spectrum.R, ridge, current.U_core)
            due = session == 1 or condition > self.condition_limit
            return due, {"residual_condition": condition}
        if current.k == 0:
            return True, {}
        angle = spectra.canonical_angle(current.U_core, spectrum.leading(current.k))
        return angle <= (self.trust_degrees or 0.0), {"angle": angle}

    # --- one session -------------------------------------------------------------------------

    def open(self, batch: Batch, sums: Sums, ridge: float, single: bool) -> None:
        """Renew the core from the sums of the previous sessions, and prepare the recursive update.

        Parameters
        ----------
        ridge : the first one; single : whether it is the only one
        """
        self.renew(sums, batch.session, ridge)
        if self.project:
            batch.H = _outside(batch.H, sums)
        fresh = self.measured["renewed"] or batch.session == 0
        if fresh or not single or self.update == "direct" or not self.recursive:
            self.inverse = None
        elif self.update == "auto" and not ResidualInverse.pays(len(batch.columns), sums.D):
            self.inverse = None
        elif self.inverse is None:
            U_core = self.partitions[self.chosen].U_core
            self.inverse = ResidualInverse(ridge, embedded(U_core, sums.D))
            self.inverse.factor(sums)

    def solve(self, request: Request) -> list[Solution]:
        """Return weights (D, c) of every point, old columns held."""
        new = request.arrival
        if self.inverse is not None and isinstance(new, Batch):
            W = request.previous[0]
            W = self.inverse.update(new.H, new.columns, W, new.classes, request.sums)
            solved: list[Solution] = [(W, None)]
        else:
            self.inverse = None  # one that is there belongs to the sums before
            solved = super().solve(request) if self.k == 0 else self._held(request)
        self.chosen = request.points[0].j
        self.measured["update"] = "direct" if self.inverse is None else "woodbury"
        return solved

    def _held(self, request: Request) -> list[Solution]:
        """Return the weights (D, c) of every point by the direct path.

        A Cholesky factor serves all cores of a ridge, and ``A^-1 U_core`` of the widest core all cores of
        one decomposition: D^3 / 3 + 2 D^2 (c + k) flops a ridge.
        """
        sums, points, previous = request.sums, request.points, request.previous
        held = np.arange(request.arrival.old if self.freeze else 0)
        if self.reappearing == "free":
            held = np.setdiff1d(held, request.arrival.columns)
        before = dict(zip(points, previous, strict=True)) if previous else {}
        alike: dict[tuple[float, int], list[Point]] = {}
        for point in points:
            alike.setdefault((point.ridge, point.j if self.Qs else 0), []).append(point)
        solved: dict[Point, Solution] = {}
        for (value, j), group in alike.items():
            # Features [P_res f ; Q^T f] with penalty ridge are the residual with penalty
            # ridge (I + Q Q^T)^-1 = ridge (I - Q Q^T / 2): it is halved along span(Q).
            downdate = (value / 2, self.Qs[j]) if self.Qs else None
            try:
                with sums.factored(value, downdate=downdate) as A:
                    W_free = A.solve(sums.C)
                    V = self._core_solutions(A, sums.D, group)
            except NumericalError:
                if not request.drop:
                    raise
                solved |= dict.fromkeys(group, (sums.C[:, :0], None))
                continue
            for point in group:
                W = before.get(point)
                if len(held) and W is not None and W.shape[1] == 0:
                    solved[point] = W, None  # nothing is there to be held
                else:
                    solved[point] = self._constrained(point.j, request, held, V, W_free, W), None
        return list(map(solved.__getitem__, points))

    def _core_solutions(
        self, A: Factor, D: int, points: list[Point]
    ) -> dict[tuple[int, int], tuple[Array, Array]]:
        """Return U_core and ``A^-1 U_core`` of the widest core of each decomposition, by its origin."""
        widest: dict[tuple[int, int], Partition] = {}
        for point in points:
            part = self.partitions[point.j]
            if part.origin not in widest or widest[part.origin].k < part.k:
                widest[part.origin] = part
        solutions = {}
        for origin, part in widest.items():
            U = embedded(part.U_core, D)
            solutions[origin] = U, A.solve(U)
        return solutions

    def _constrained(
        self,
        j: int,
        request: Request,
        held: NDArray[np.intp],
        solutions: dict[tuple[int, int], tuple[Array, Array]],
        W_free: Array,
        before: Array | None,
    ) -> Array:
        """Hold columns at the core coordinates that they had ``before``."""
        on, part = request.sums.on, self.partitions[j]
        W = on.xp.asarray(W_free, copy=True)
        k = part.U_core.shape[1]
        if k == 0:
            return W
        # cores of one decomposition are nested: the first k columns of the widest one
        U, V = solutions[part.origin]
        U, V = U[:, :k], V[:, :k]
        if len(held) and before is not None:
            G = on.product(U.T, on.take_columns(before, held))
            free = on.take_columns(W_free, held)
            exact = self.coupling == "exact"
            on.set_columns(W, held, ridge.constrained(on, U, V, free, G, coupling=exact))
        new = np.arange(request.arrival.old, W.shape[1])
        if self.new_classes == "residual" and len(new):
            nothing = on.array(np.zeros((k, len(new)), dtype=on.dtype(W)))
            free = on.take_columns(W_free, new)
            on.set_columns(W, new, ridge.constrained(on, U, V, free, nothing))
        return W

    def report(self) -> dict[str, Any]:
        """Return size and energies of the chosen core, and what the last renewal decided."""
        part = self.partitions[self.chosen]
        return self.measured | {
            "tau": self.taus[self.chosen],
            "k": part.k,
            "r": part.r,
            "energy": part.energy,
            "energy_before": part.energy_before,
        }

    # --- what it needs -----------------------------------------------------------------------

    @property
    def whole_session(self) -> str:  # type: ignore[override]
        """Why a session must come whole; empty for an empty core."""
        if self.k != 0:
            return "its core holds weights of earlier sessions (k = 0 has none)"
        return "project measures the session first" if self.project else ""

    @property
    def needs_rows(self) -> str:  # type: ignore[override]
        """Why sums of a session do not suffice; empty where they do."""
        if self.project:
            return "project measures each session's samples"
        if self.directions:
            # their basis is that of the residual, which turns with the sign of an eigenvector
            return "random residual directions differ with the last bits of R"
        if self.update == "woodbury":
            return "the recursive update takes rows (update = 'auto' or 'direct' does not)"
        return ""

    @property
    def recursive(self) -> bool:
        """Whether the recursive path computes the same weights as the direct one, at one ridge."""
        return (
            self.candidates == 1
            and self.freeze
            and (self.coupling, self.new_classes) == ("exact", "full")
            and self.reappearing == "frozen"
            and not self.directions
        )


def _outside(H: Array, sums: Sums) -> Array:
    """Return mapped rows H (n, D) without their part in the range of R: O(D^3)."""
    spectrum, vectors = spectra.descending_eigh(sums.R)
    values, on = host(spectrum), sums.on
    live = values > len(values) * np.finfo(on.dtype(H)).eps * max(values[0], 1)
    seen = on.take_columns(vectors, np.flatnonzero(live))
    return H - on.product(on.product(H, seen), seen.T)
