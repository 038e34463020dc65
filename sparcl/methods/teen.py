"""TEEN: nearest class mean, where classes after the first session move towards similar classes of the first.

u_c = m_c / |m_c|;  score_c(f) = cosine(f, p_c), with p_b = u_b for classes b of the first session and, for others,
p_c = (1 - shift) u_c + shift unit(sum_b w_cb u_b)  (:mod:`sparcl.algebra.calibration`)
Source: TEEN (NeurIPS 2023), wangkiw/TEEN, commit 2ba5165, on frozen features.  Official: shift 0.5 for CUB and
miniImageNet, 0.1 for CIFAR-100; FSCIL-Calibration, commit fc4c232, has 0.1, and 0.25 for CIFAR-100.

Differences.  The official networks are trained on the first session's classes.  Prototypes here follow from the
sums of all samples so far, so that a class of the first session that returns moves those of the others.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sparcl.algebra.calibration import base_left, prototypes
from sparcl.base.checks import check_fraction
from sparcl.base.state import Shape
from sparcl.base.types import Array
from sparcl.methods.ncm import NearestClassMean


@dataclass(eq=False)
class Teen(NearestClassMean):
    """Keeps one sum and one count a class: O(n d) a session.

    Parameters
    ----------
    shift : share of the similar classes in a prototype, in (0, 1)

    Attributes
    ----------
    base : classes of the first session, the first columns
    """

    shift: float = 0.5
    kept: ClassVar[dict[str, Shape | None]] = {"base": int}

    def __post_init__(self) -> None:
        super().__post_init__()
        check_fraction("shift", self.shift, "Shift 0 is the method ncm.")
        self.base = 0

    @property
    def weights(self) -> Array:
        """Prototypes (d, c) of unit norm."""
        return prototypes((self.sums / self.counts).T, self.base, self.shift)[0].T

    def _fit(self, Phi: Array, columns: NDArray[np.integer], old: int, classes: int) -> None:
        super()._fit(Phi, columns, old, classes)
        self.base = self.base or classes

    def _solve_sums(self, order: NDArray[np.integer]) -> None:
        super()._solve_sums(order)
        self.base = self.base or len(order)

    def _refit(self, order: NDArray[np.intp], refit: bool) -> float | None:
        self.base = base_left(self.base, order, refit)
        return super()._refit(order, refit)


build = Teen
