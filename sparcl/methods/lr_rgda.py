"""LR-RGDA: a Gaussian for each class, shrunk towards the mean covariance, its own part at low rank.

B = a2 S + a3 I,  Sigma_c = a1 S_c^(r) + B
score_c(f) = -(f - m_c)^T Sigma_c^-1 (f - m_c) / 2 - log |Sigma_c| / 2
with S_c the unbiased covariance of class c, S_c^(r) its r leading eigenpairs, S the mean over the
classes, each counting the same, and equal priors.  Source: LR-RGDA (arXiv 2602.00144, 2026),
raoxuan98-hash/lr_rgda_hopdc, commit 387bf2d.  Official: (a1, a2, a3) = (0.2, 2, 0.5), r = 64, float32,
features as they are, and corrections for a backbone that drifts, which vanish where it is frozen.

Differences.  a3 is absolute in the code and means another shrinkage at every scale; here it is alpha
times the mean variance tr S / d, with the default 0.36 that 0.5 comes to on features of norm 47.  A
number for ``a3`` gives the official form.  The code's randomised, unseeded decomposition of each S_c is
the thin factor of its centred rows (:mod:`sparcl.algebra.gaussians`), which is exact.  A class of one
sample has no covariance: it counts for nothing in S and has no own part; the code gives it 1e-4 I.
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sparcl.algebra.backend import product
from sparcl.algebra.gaussians import Excess, Gaussians
from sparcl.algebra.sums import Gram
from sparcl.base.checks import check_int, check_positive
from sparcl.base.errors import InputError, NumericalError
from sparcl.base.state import Shape
from sparcl.base.types import Array
from sparcl.learners.learner import Learner


@dataclass(eq=False)
class ShrunkGaussians(Learner):
    """Keeps a mean and a thin factor F_c a class, of ``Sigma_c = own_c F_c^T F_c + B``, ``B`` the same for all.

    A session costs c d^2 r + d^3 / 3, a row 2 c d r flops, with r the rows of F_c that count.
    """

    cannot_forget: ClassVar[str] = ""
    classes_apart: ClassVar[bool] = True
    kept: ClassVar[dict[str, Shape | None]] = {"gaussians": Gaussians}

    def __post_init__(self) -> None:
        super().__post_init__()
        self.gaussians = Gaussians(0)
        self._solved: tuple[Array, Array, list[Excess]] | None = None

    @property
    def _most(self) -> int | None:
        """Rows of F_c that count; None: all."""
        return None

    @abstractmethod
    def _weights(self, counts: Array) -> tuple[Array, Array]:
        """Return the weights (c,) of the scatter of each class in its own covariance, and in the shared one."""

    @abstractmethod
    def _floor(self, trace: float) -> float:
        """Return what is added to the diagonal of B, whose trace was that."""

    def _fit(self, Phi: Array, columns: NDArray[np.integer], old: int, classes: int) -> None:
        known = np.pad(self.gaussians.counts, (0, classes - old))
        if (known + np.bincount(columns, minlength=classes)).max() < 2:
            raise InputError(
                "no class has two samples so far, so that there is no covariance: join the session with "
                "another."
            )
        if self.session == 0:
            self.gaussians = Gaussians(Phi.shape[1])
        self.gaussians.add(np.asarray(Phi, dtype=np.float64), columns, classes)
        self._solved = None

    def _counts(self) -> NDArray[np.integer]:
        return self.gaussians.counts

    def _take_away(self, Phi: Array, columns: NDArray[np.integer]) -> None:
        self.gaussians.take_away(np.asarray(Phi, dtype=np.float64), columns)

    def _refit(self, order: NDArray[np.intp], refit: bool) -> float | None:
        self.gaussians.reorder(order)
        self._solved = self._solve()
        return None

    def _covariances(self) -> tuple[Gram, list[Array]]:
        """Return B less its floor, and U (d, r) of each class with ``U U^T`` what is its own."""
        kept = self.gaussians
        own, shared = self._weights(kept.counts)
        base = Gram(kept.d)
        for F, weight in zip(kept.factors, shared, strict=True):
            if len(F):
                base.add(F * np.sqrt(weight))
        parts = zip(kept.factors, own, strict=True)
        return base, [F[: self._most].T * np.sqrt(weight) for F, weight in parts]

    def _solve(self) -> tuple[Array, Array, list[Excess]]:
        """Return W (d, c), b (c,) of the scores under B alone, and each class's excess."""
        base, own = self._covariances()
        floor, means = self._floor(float(base.diagonal.sum())), self.gaussians.means
        if not floor > 0:
            raise NumericalError(
                "No class has any spread so far, so that the covariance is zero. Usual cause: copies of one "
                "sample; join the session with another."
            )
        with base.factored(floor) as B:
            W = B.solve(np.asfortranarray(means.T))
            excess = [Excess.of(B, U, mean) for U, mean in zip(own, means, strict=True)]
        return W, -0.5 * np.sum(means.T * W, axis=0), excess

    def _logits(self, Phi: Array) -> Array:
        if self._solved is None:
            self._solved = self._solve()
        W, b, excess = self._solved
        X = np.asarray(Phi, dtype=np.float64)
        return product(X, W) + b + np.stack([own(X) for own in excess], axis=1)


@dataclass(eq=False)
class LrRgda(ShrunkGaussians):
    """Gaussians with r eigenpairs of each class's own covariance, and equal priors.

    Parameters
    ----------
    own, shared : a1 and a2, weights of a class's own and of the mean covariance; own = 0 is LDA
    alpha : a3 in units of the mean variance tr S / d
    a3 : a3 itself (official 0.5, for features as they are), in place of alpha
    rank : r, eigenpairs of a class's own covariance
    """

    own: float = 0.2
    shared: float = 2.0
    alpha: float = 0.36
    a3: float | None = None
    rank: int = 64

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.own != 0:
            check_positive("own", self.own)
        check_positive("shared", self.shared)
        check_positive("alpha", self.alpha)
        if self.a3 is not None:
            check_positive("a3", self.a3)
        check_int("rank", self.rank, least=1)

    @property
    def _most(self) -> int | None:
        return self.rank

    def _weights(self, counts: Array) -> tuple[Array, Array]:
        free = np.maximum(counts - 1, 1)
        return self.own / free, self.shared / (free * max(np.count_nonzero(counts > 1), 1))

    def _floor(self, trace: float) -> float:
        return self.alpha * (trace / self.shared / self.gaussians.d) if self.a3 is None else self.a3


build = LrRgda
