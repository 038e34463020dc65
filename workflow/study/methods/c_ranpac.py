"""C-RanPAC: RanPAC for few shots, whose rows of later classes are drawn from Gaussians near those of the first.

h = relu(f W), W standard normal;  score_c = cosine(h, ((R + ridge I)^-1 C)_c).  Classes b of the first session are
summed as they are.  Of a later class R and C have, in place of its rows, ``draws`` rows of

    N((1 - shift) m_c + shift sum_b w_cb m_b, (Sigma_c + sum_b w_cb Sigma_b) / 2)

with the weights of :mod:`sparcl.algebra.calibration`.  Source: Goswami et al. (2024), dipamgoswami/FSCIL-Calibration,
commit fc4c232, without its adapter.  Official: M = 10,000, 800 draws, shift 0.1 (0.25 for CIFAR-100), the ridge of {10,
..., 1e8} with the smallest squared error on the last fifth of the first session's rows, for good; float32, features as
they are.

Differences.  The code takes w from raw means (``cosine=False``): at their norm of 47 all weight falls on one class.
800 draws outweigh classes of 30 rows; the suites take 30.  A class with one row has the base covariance alone, where
the code's is undefined.  Draws belong to a run, a session and a class, not to one stream.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sparcl.algebra.backend import product
from sparcl.algebra.calibration import likeness
from sparcl.algebra.gaussians import Gaussians
from sparcl.algebra.sums import Sums
from sparcl.base.checks import check_flag, check_fraction, check_int
from sparcl.base.errors import InputError
from sparcl.base.randomness import generator
from sparcl.base.rows import unit
from sparcl.base.state import Shape
from sparcl.base.types import Array
from sparcl.learners.composed import Composed
from sparcl.parts.batch import Batch, Point
from sparcl.parts.heads import Head, Ridge
from sparcl.parts.maps import RandomMap
from sparcl.parts.rules import HoldOut, Newest, Value, named
from study.methods.c_fecam import covariance_root

OFFICIAL = tuple(float(10**power) for power in range(1, 9))


@dataclass(eq=False)
class First(Newest):
    """Squared error on rows held out of the first session, for good."""

    def arrange(
        self, columns: NDArray[np.integer], session: int
    ) -> tuple[NDArray[np.intp] | None, int]:
        """Return the rows, those held out last, and how many fit: all after the first session."""
        return (None, len(columns)) if session else super().arrange(columns, session)

    def choose(
        self, points: list[Point], batch: Batch, cut: int, before: Sums, head: Head
    ) -> list[Point]:
        """Return the one point with the smallest loss in the first session."""
        if self.losses:
            return self.best(points, self.losses, "error on the first session")
        return super().choose(points, batch, cut, before, head)


@dataclass(eq=False, kw_only=True)
class CRanPac(Composed):
    """A later session costs, beside that of its draws, 2 N d flops a draw with N rows in the first session.

    Attributes
    ----------
    gaussians : of the first session's classes
    """

    shift: float
    draws: int
    cosine: bool
    seed: int
    host_only: ClassVar[str] = "its draws are made by NumPy"
    kept: ClassVar[dict[str, Shape | None]] = {"gaussians": Gaussians}

    def __post_init__(self) -> None:
        super().__post_init__()
        check_fraction("shift", self.shift, "It is the share of similar classes in a mean.")
        check_int("draws", self.draws, least=1)
        check_flag("cosine", self.cosine)
        self.gaussians = Gaussians(0)

    @property
    def undivided(self) -> str:
        """Why a session must come whole."""
        return "it replaces the rows of a new class by draws"

    @property
    def cannot_forget(self) -> str:  # type: ignore[override]
        """Why no sample can be taken out of the state."""
        return "rows of later classes were replaced by draws"

    def _fit(self, Phi: Array, columns: NDArray[np.integer], old: int, classes: int) -> None:
        if (columns < old).any():
            raise InputError(
                "a class of an earlier session returned, and C-RanPAC draws the rows of a class once: give all "
                "samples of a class in one session."
            )
        arrived = Gaussians(Phi.shape[1])
        arrived.add(np.asarray(Phi, dtype=np.float64), columns - old, classes - old)
        if self.session:
            Phi = np.concatenate([self._drawn(arrived, j) for j in range(classes - old)])
            columns = np.repeat(np.arange(old, classes), self.draws)
        super()._fit(Phi, columns, old, classes)
        if not self.session:
            self.gaussians = arrived

    def _drawn(self, arrived: Gaussians, j: int) -> Array:
        """Return the rows (draws, d) of class j of those that arrived."""
        base, mean, n = self.gaussians, arrived.means[j], int(arrived.counts[j])
        means = np.vstack([mean, base.means])
        means = unit(means) if self.cosine else means
        weights = likeness(means[:1], means[1:])[0]
        scale = 0.5 if n > 1 else 1.0
        B = covariance_root(base, weights, n, arrived.factors[j], scale)
        rng = generator("c-ranpac", self.seed, self.session, len(self.classes) + j)
        centre = (1 - self.shift) * mean + self.shift * weights @ base.means
        rows: Array = centre + product(rng.standard_normal((self.draws, len(B))), B)
        return rows


def build(
    *,
    width: int = 10000,
    draws: int = 800,
    shift: float = 0.1,
    cosine: bool = True,
    ridge: Value = "first",
    ridges: Sequence[float] = OFFICIAL,
    relative: bool = False,
    validation_share: float = 0.2,
    seed: int = 0,
) -> CRanPac:
    """Build the learner.

    Parameters
    ----------
    width : M, outputs of the map
    draws : rows of a later class
    shift : share of similar classes in a mean, in (0, 1)
    cosine : whether classes are compared by the cosine of their means, and not by the product
    ridge : a number, several, or ``first``, the one of ``ridges`` with the smallest squared error on a share of the
        first session
    relative : whether ridges are shares of the mean squared norm of a mapped row of the first session
    validation_share : of the first session's rows
    seed : of the map, the draws and the hold-out
    """
    if isinstance(ridge, str) and ridge != "first":
        raise InputError(f"ridge = {ridge!r}: it must be a number above 0, or first.")
    holdout = HoldOut(validation_share, False, seed)
    first = ridge == "first"
    return CRanPac(
        map=RandomMap(width, seed),
        head=Ridge(),
        columns="unit",
        rule=First(tuple(ridges), relative, holdout)
        if first
        else named(ridge, ridges, holdout, relative),
        shift=shift,
        draws=draws,
        cosine=cosine,
        seed=seed,
    )
