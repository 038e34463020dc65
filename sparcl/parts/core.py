"""SPARCL's constraint: old classes keep their coordinates in the leading eigenspace of R.

In session t the core is spanned by the leading eigenvectors U_core of the *previous* sessions' R; with
``G = U_core^T W_{t-1}`` the columns of all classes seen before minimise the cumulative ridge objective
subject to ``U_core^T W = G`` (paper, Lemma 1), and new columns are the free ridge solution.  An empty
core gives the joint ridge.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sparcl.algebra import linalg, spectra
from sparcl.algebra.backend import Backend, host
from sparcl.algebra.partition import (
    embedded,
)
from sparcl.algebra.recursive import ResidualInverse
from sparcl.algebra.sums import Sums
from sparcl.base.checks import check_choice, check_flag
from sparcl.base.errors import NumericalError
from sparcl.base.state import Shape, Stateful
from sparcl.base.types import Array
from sparcl.parts.basis import SpectralBasis
from sparcl.parts.batch import Arrival, Batch
from sparcl.parts.constraint import Constraint, constrained_weights
from sparcl.parts.heads.head import Head
from sparcl.parts.refresh import policy
from sparcl.parts.solutions import Point, Solution


@dataclass(frozen=True)
class Asked:
    """What is to be solved at the end of a session.

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
class Unheld(Stateful):
    """No core: every column is the head's own solution."""

    whole_session: ClassVar[str] = ""
    needs_rows: ClassVar[str] = ""

    @property
    def candidates(self) -> int:
        """Cores among which to choose."""
        return 1

    def begin(self, p: int, dtype: str, on: Backend) -> None:
        """Nothing is kept of the first p coordinates."""

    def open(self, batch: Batch, sums: Sums, value: float, single: bool) -> None:
        """Nothing is prepared before the session's rows are summed."""

    def renew(self, sums: Sums, session: int, value: float) -> None:
        """Nothing is renewed."""

    def solve(self, asked: Asked) -> list[Solution]:
        """Return the head's weights (D, c) and bias (c,) at every point."""
        values = list(dict.fromkeys(point.value for point in asked.points))
        if not asked.drop:
            solved = dict(zip(values, asked.head.solve_all(asked.sums, values), strict=True))
        else:
            solved = {value: _solved_or_not(asked.head, asked.sums, value) for value in values}
        return [solved[point.value] for point in asked.points]

    def report(self) -> dict[str, Any]:
        """Return nothing."""
        return {}


def _solved_or_not(head: Head, sums: Sums, value: float) -> Solution:
    """Return the solution at a value, or one without columns where there is none in this precision."""
    try:
        return head.solve(sums, value)
    except NumericalError:
        return sums.C[:, :0], None


@dataclass(eq=False)
class Core(Unheld):
    """Holds old columns; a new solution costs 2 D^2 k + k^3 / 3 flops beside that of the ridge.

    Parameters
    ----------
    tau : share of the energy in (0, 1) that the core holds, or several among which a rule chooses
    k : rank in place of tau, 0 for an empty core
    refresh, warmup, condition_limit, trust_degrees : see :func:`sparcl.parts.refresh.policy`
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
    basis : of the core, or of several; inverse : of the recursive path, where it is under way
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
    kept: ClassVar[dict[str, Shape | None]] = {"basis": None, "inverse": None}

    def __post_init__(self) -> None:
        check_choice("reappearing", self.reappearing, ("frozen", "free"))
        check_choice("new_classes", self.new_classes, ("full", "residual"))
        check_choice("coupling", self.coupling, ("exact", "dropped"))
        check_choice("update", self.update, ("auto", "direct", "woodbury"))
        check_flag("freeze", self.freeze)
        check_flag("project", self.project)
        if isinstance(self.tau, Sequence):
            self.tau = tuple(self.tau)
        several = () if self.tau is None or self.k is not None else self.tau
        taus = (several,) if isinstance(several, (int, float)) else tuple(several)
        when = policy(
            refresh=self.refresh,
            warmup=self.warmup,
            condition_limit=self.condition_limit,
            trust_degrees=self.trust_degrees,
        )
        self.basis = SpectralBasis(taus, self.k, when, self.directions, self.seed)
        self.inverse: ResidualInverse | None = None

    @property
    def candidates(self) -> int:
        """Cores among which to choose."""
        return len(self.basis.rules())

    @property
    def U_core(self) -> Array:
        """Basis (p, k) of the core that was chosen last, on the host."""
        return host(self.basis.U_core)

    # --- one session -------------------------------------------------------------------------

    def begin(self, p: int, dtype: str, on: Backend) -> None:
        """Start with an empty core in the first p coordinates: R_0 = 0."""
        self.basis.begin(p, dtype, on)

    def open(self, batch: Batch, sums: Sums, value: float, single: bool) -> None:
        """Renew the core from the sums of the previous sessions, and prepare the recursive update.

        Parameters
        ----------
        value : the first ridge; single : whether it is the only one
        """
        self.renew(sums, batch.session, value)
        if self.project:
            batch.H = _outside(batch.H, sums)
        pays = self.update == "woodbury" or ResidualInverse.pays(len(batch), sums.D)
        fresh = self.basis.measured["renewed"] or batch.session == 0
        if not (single and self.recursive and self.update != "direct" and pays) or fresh:
            self.inverse = None
        elif self.inverse is None:
            self.inverse = ResidualInverse(value, embedded(self.basis.U_core, sums.D))
            self.inverse.factor(sums.gram)

    def renew(self, sums: Sums, session: int, value: float) -> None:
        """Renew the basis from the sums of the previous sessions, where its policy says so."""
        self.basis.renew(sums, session, value)

    def solve(self, asked: Asked) -> list[Solution]:
        """Return weights (D, c) of every point, old columns held."""
        new = asked.arrival
        if self.inverse is not None and isinstance(new, Batch):
            before, gram = asked.previous[0], asked.sums.gram
            W = self.inverse.update(new.H, new.columns, before, new.classes, gram)
            solved: list[Solution] = [(W, None)]
        else:
            solved = self._solved_directly(asked)
            self.inverse = None  # one that is there belongs to the sums before
        self.basis.chosen = asked.points[0].j
        self.basis.measured |= {"update": "direct" if self.inverse is None else "woodbury"}
        return solved

    def _solved_directly(self, asked: Asked) -> list[Solution]:
        if self.basis.k == 0:
            return super().solve(asked)
        arrival = asked.arrival
        held = np.arange(arrival.classes) < (arrival.old if self.freeze else 0)
        if self.reappearing == "free":
            held[np.unique(arrival.columns)] = False
        constraint = Constraint(
            held, arrival.old, self.coupling == "exact", self.new_classes == "residual"
        )
        solved = constrained_weights(
            self.basis, constraint, asked.sums, asked.points, asked.previous, drop=asked.drop
        )
        return [(W, None) for W in solved]

    def report(self) -> dict[str, Any]:
        """Return size and energies of the chosen core, and what the policy decided."""
        return self.basis.report()

    # --- what it needs -----------------------------------------------------------------------

    @property
    def whole_session(self) -> str:  # type: ignore[override]
        """Why a session must come whole; empty for an empty core."""
        if self.basis.k != 0:
            return "its core holds weights of earlier sessions (k = 0 has none)"
        return "project measures the session first" if self.project else ""

    @property
    def needs_rows(self) -> str:  # type: ignore[override]
        """Why sums of a session do not suffice; empty where they do."""
        if self.project:
            return "project measures each session's samples"
        if self.basis.directions:
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
            and not self.basis.directions
        )


def _outside(H: Array, sums: Sums) -> Array:
    """Return mapped rows H (n, D) without their part in the range of R: O(D^3)."""
    spectrum, vectors = spectra.descending_eigh(sums.R)
    values, on = host(spectrum), sums.gram.on
    live = values > len(values) * np.finfo(on.dtype(H)).eps * max(values[0], 1)
    seen = on.take_columns(vectors, np.flatnonzero(live))
    return H - linalg.product(linalg.product(H, seen), seen.T)
