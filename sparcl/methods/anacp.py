"""AnaCP on frozen features: ridges towards spread class means, then a ridge on Gaussian draws behind them.

With u = f / |f|, heads j = 1 ... J and their own W_j (d, M) of normal entries,

    Z_j = gelu(u W_j),  T_j = (R_j + ridge I)^-1 C_j P,  g(u) = mean over j of the unit rows of Z_j T_j,

where P (c, d) are the class means, spread (:func:`sparcl.algebra.scatter.spread_means`).  Since g changes
with each session, the second stage is rebuilt: ``draws`` rows x ~ N(m_c, S) of each class, not normalised,

    H = gelu(g(x) W_0),  Theta = (H^T H + ridge I)^-1 H^T Y,  score(f) = gelu(g(u) W_0) Theta.

Source: AnaCP (arXiv 2511.13880, NeurIPS 2025), SalehMomeni/AnaCP, commit 7801c59, without the adapters that its
script trains on the first session.  Official: M = 5,000, J = 3, both ridges 100, 100 draws per class, float32.

Differences.  T_j is the one-hot ridge times P, with c right-hand sides in place of d.  Centred means have
one singular value that is zero; the code adds 1 to it too and so moves all targets along a vector that rounding
decides, which is left out.  A ridge is given
in units of the mean squared length of a mapped row, M E[gelu(z)^2] for unit rows: 100 is 0.047 at M = 5,000.
S is the exact covariance inside the classes, from sums, plus 1e-4 I.  ``official`` brings back what the
code does to S: it weights S after counting the session's rows, so that the first session counts twice,
and adds 1e-4 I in that session alone.  Draws belong to a run, a session and a class, not to one stream.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sparcl.algebra import spectra
from sparcl.algebra.backend import product
from sparcl.algebra.scatter import Scatter, spread_means
from sparcl.algebra.sums import Sums
from sparcl.base.checks import check_flag, check_int, check_positive
from sparcl.base.randomness import generator
from sparcl.base.rows import unit
from sparcl.base.state import Shape
from sparcl.base.types import Array
from sparcl.learners.composed import Composed, refit_members
from sparcl.learners.learner import Learner
from sparcl.parts.batch import ROWS
from sparcl.parts.maps import RandomMap
from sparcl.parts.rules import NARROW, HoldOut, Rule, Value, named

GELU_SQUARE = 1 / 3 + 1 / (2 * np.pi * np.sqrt(3))  # E[gelu(z)^2], z ~ N(0, 1)
ADDED = 1e-4  # to the covariance of unit rows


@dataclass(eq=False)
class AnaCp(Learner):
    """A session costs J (n M^2 + M^3 / 3) + 100 c (2 (J + 1) d M + M^2) + M^3 / 3 + 9 d^3 flops.

    Parameters
    ----------
    width : M, outputs of each map; members : J
    ridge : of the first stage, or a rule (:func:`sparcl.parts.rules.named`) that chooses it from ``ridges``;
        in units of the mean squared length of a mapped row, as ``ridges`` is
    second : of the second stage, in the same units
    validation_share : of each class's rows of a session, which a rule holds out
    draws : Gaussian rows per class in the second stage
    nearest : leave the second stage out: scores are the cosines of g(u) with the targets
    official : the covariance as the code has it
    seed : of maps, draws and hold-outs

    Attributes
    ----------
    heads : the J ridges of the first stage, on one-hot targets
    sums : of the unit rows; targets : P (c, d)
    weights : Theta (M, c) of the second stage; empty without it
    """

    width: int = 5000
    members: int = 3
    ridge: Value = 0.047
    second: float = 0.047
    ridges: Sequence[float] = NARROW
    validation_share: float = 0.2
    draws: int = 100
    nearest: bool = False
    official: bool = False
    seed: int = 0
    kept: ClassVar[dict[str, Shape | None]] = {
        "heads": list[Composed],
        "last": RandomMap,
        "R": ("d", "d"),
        "C": ("d", "c"),
        "counts": ("c",),
        "covariance": (None, None),
        "targets": ("c", "d"),
        "weights": (None, None),
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        self.ridges = tuple(self.ridges)
        check_int("members", self.members, least=1, most=1000)
        check_int("draws", self.draws, least=1)
        check_int("seed", self.seed, least=0)
        check_positive("second", self.second)
        check_flag("nearest", self.nearest)
        check_flag("official", self.official)
        *firsts, self.last = (
            RandomMap(self.width, (self.members + 1) * self.seed + j, "gaussian", "gelu")
            for j in range(self.members + 1)
        )
        self.heads = [Composed(map=layer, rule=self._rule()) for layer in firsts]
        self.sums = Sums(0)
        self.covariance: Array = np.zeros((0, 0))
        self.targets: Array = np.zeros((0, 0))
        self.weights: Array = np.zeros((0, 0))

    @property
    def R(self) -> Array:
        """Second moments (d, d) of the unit rows."""
        return self.sums.R

    @R.setter
    def R(self, value: Array) -> None:
        if len(value) != len(self.sums):  # a new one's; a learner that moves keeps C and counts
            self.sums = Sums(len(value))
        self.sums.R = value

    @property
    def C(self) -> Array:
        """Sums (d, c) of each class's unit rows."""
        return self.sums.C

    @C.setter
    def C(self, value: Array) -> None:
        self.sums.C = value

    @property
    def counts(self) -> NDArray[np.int64]:
        """Samples (c,) of each class."""
        return self.sums.counts

    @counts.setter
    def counts(self, value: NDArray[np.int64]) -> None:
        self.sums.counts = value

    # --- one session -------------------------------------------------------------------------

    def _fit(self, Phi: Array, columns: NDArray[np.integer], old: int, classes: int) -> None:
        U = unit(Phi)
        for head in self.heads:
            head.fit_session(U, columns)
        if self.session == 0:
            self.sums = Sums(U.shape[1])
            self.last.begin(U)
        self.sums.grow(classes)
        self.sums.accumulate(U, columns)
        means = self.sums.C / self.sums.counts
        self._aim(*self._spectrum(U - means.T[columns]))

    def _aim(self, values: Array, V: Array) -> None:
        """Fit targets and second stage, given eigenvalues (d,) and eigenvectors (d, d) of the covariance."""
        means = self.sums.C / self.sums.counts
        self.targets = spread_means(means.T, values, V)
        if not self.nearest:
            self._fit_draws(means.T, (V * np.sqrt(values)) @ V.T)

    def _spectrum(self, centred: Array) -> tuple[Array, Array]:
        """Return eigenvalues (d,) and eigenvectors (d, d) of the covariance, given the session's rows less means."""
        if not self.official:
            values, V = Scatter(self.sums).spectrum()
            return np.maximum(values, 0) / self.sums.n + ADDED, V
        newest, n = centred.T @ centred / len(centred), self.sums.n
        if self.session == 0:
            self.covariance = newest + ADDED * np.eye(len(newest))
        else:
            self.covariance = (n * self.covariance + len(centred) * newest) / (n + len(centred))
        values, V = spectra.descending_eigh(self.covariance)
        return np.maximum(values, 0), V

    def _fit_draws(self, means: Array, root: Array) -> None:
        """Fit the second stage to draws about means (c, d) with covariance ``root root^T``."""
        c, sums = len(means), Sums(self.width)
        sums.grow(c)
        step = max(ROWS // self.draws, 1)
        for start in range(0, c, step):
            columns = range(start, min(start + step, c))
            X = np.concatenate([means[j] + self._normal(j) @ root for j in columns])
            sums.accumulate(self.last(self._first_stage(X)), np.repeat(columns, self.draws))
        with sums.factored(self.second * GELU_SQUARE * self.width) as A:
            self.weights = A.solve(sums.C)

    def _normal(self, j: int) -> Array:
        """Return the standard normal numbers (draws, d) of a class in this session."""
        d = self.targets.shape[1]
        return generator("anacp", self.seed, self.session, j).standard_normal((self.draws, d))

    # --- forgetting --------------------------------------------------------------------------

    @property
    def cannot_forget(self) -> str:  # type: ignore[override]
        """Why no sample can be taken out of the state; empty where it can."""
        path = "its covariance depends on how many samples came before (official)"
        return path if self.official else self.heads[0].cannot_forget

    def _past(self) -> tuple[list[str], list[str]]:
        cleared, stays = self.heads[0]._past()
        return cleared + ["its draws depend on the number of the session"] * (
            not self.nearest
        ), stays

    def _counts(self) -> NDArray[np.integer]:
        return self.sums.counts

    def _take_away(self, Phi: Array, columns: NDArray[np.integer]) -> None:
        U, taken = unit(Phi), self.sums.empty()
        for head in self.heads:
            head._take_away(U, columns)
        taken.grow(len(self.sums.counts))
        taken.accumulate(U, columns)
        self.sums.merge(taken, range(len(taken.counts)), sign=-1)

    def _refit(self, order: NDArray[np.intp], refit: bool) -> float | None:
        refit_members(self.heads, order, refit)
        self.sums.reorder(order)
        self._aim(*self._spectrum(self.sums.R[:0]))
        return None

    # --- scores ------------------------------------------------------------------------------

    def _first_stage(self, X: Array) -> Array:
        """Return g (n, d) of rows X (n, d): 2 J n (d M + M c + c d) flops."""
        outputs = [unit(head._logits(X) @ self.targets) for head in self.heads]
        return np.mean(outputs, axis=0)

    def _logits(self, Phi: Array) -> Array:
        starts = range(0, max(len(Phi), 1), ROWS)
        return np.concatenate([self._scored(unit(Phi[start : start + ROWS])) for start in starts])

    def _scored(self, U: Array) -> Array:
        G = self._first_stage(U)
        if self.nearest:
            return G @ self.targets.T
        return product(self.last(G), self.weights)

    def _rule(self) -> Rule:
        """Return a rule for the ridge of one head, in units of its sums."""
        rule = named(self.ridge, self.ridges, HoldOut(self.validation_share, True, self.seed))
        unit = GELU_SQUARE * self.width
        rule.ridges = tuple(value * unit for value in rule.ridges)
        return rule

    def report(self) -> dict[str, Any]:
        """Return what the first head chose."""
        return self.heads[0].report()


build = AnaCp
