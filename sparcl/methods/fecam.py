"""FeCAM: Mahalanobis distance to the class mean under the class's own correlation matrix.

u = f / |f|;  Sigma_c = cov of the class's u + alpha mean(diag) I;  D_c = diag(Sigma_c)
score_c(f) = -(u - mu_c)^T [D_c^(-1/2) Sigma_c D_c^(-1/2)]^-1 (u - mu_c)
Source: FeCAM (NeurIPS 2023), the script for a ViT on CIFAR-100, dipamgoswami/FeCAM, commit
d2479b7.  Official: alpha1 = 1 on the diagonal and alpha2 = 0 off it, for each of the ViT scripts
(CIFAR-100, ImageNet-R, CORe50); features of unit norm.

What differs.  The code keeps K matrices of d x d and a pseudo-inverse of each at every test.  Here
the covariance is kept as a thin factor of rank below n_c (``sparcl/algebra/gaussians.py``): the same
numbers, n_c d in place of d^2, and Woodbury's identity gives the distance.  Sigma_c is positive
definite, so inverse and pseudo-inverse are one.  alpha2 is left out.  PILOT's port (raw covariance
+ 100 I, both vectors normalised) is another method.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sparcl.algebra.gaussians import Gaussians
from sparcl.base.checks import check_positive
from sparcl.base.errors import InputError
from sparcl.base.rows import unit
from sparcl.base.state import Shape
from sparcl.base.types import Array
from sparcl.learners.learner import Learner


@dataclass(eq=False)
class FeCam(Learner):
    """Keeps a mean and a thin factor a class: 2 n_c^2 d flops to fit, 2 n d n_c a class to score.

    A class needs two samples in its first session, else it has no covariance (InputError).

    Parameters
    ----------
    alpha : share of the mean variance that is added (official 1)
    """

    alpha: float = 1.0
    cannot_forget: ClassVar[str] = ""
    classes_apart: ClassVar[bool] = True
    kept: ClassVar[dict[str, Shape | None]] = {"gaussians": Gaussians}

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive("alpha", self.alpha)
        self.gaussians = Gaussians(0)

    def _fit(self, Phi: Array, columns: NDArray[np.integer], old: int, classes: int) -> None:
        U = unit(Phi)
        for j in range(old, classes):
            rows = U[columns == j]
            if not np.ptp(rows, axis=0).any():
                raise InputError(
                    f"FeCAM needs two different samples of a class for its covariance, got "
                    f"{len(rows)} sample(s) without spread for new class number {j - old + 1} of "
                    "the session: add samples or leave the class out."
                )
        if self.session == 0:
            self.gaussians = Gaussians(Phi.shape[1])
        self.gaussians.add(U, columns, classes)

    def _counts(self) -> NDArray[np.integer]:
        return self.gaussians.counts

    def _take_away(self, Phi: Array, columns: NDArray[np.integer]) -> None:
        self.gaussians.take_away(unit(Phi), columns)

    def _refit(self, order: NDArray[np.intp], refit: bool) -> float | None:
        self.gaussians.reorder(order)
        if not all(map(len, self.gaussians.factors)):
            raise InputError(
                "FeCAM needs two different samples of a class for its covariance: forget the rest of the class too."
            )
        return None

    def _logits(self, Phi: Array) -> Array:
        U, kept = unit(Phi), self.gaussians
        scores = np.empty((len(U), len(kept.counts)))
        for j, (n, mean, F) in enumerate(zip(kept.counts, kept.means, kept.factors, strict=True)):
            added = self.alpha * (F**2 / (n - 1)).sum(axis=0).mean()
            scores[:, j] = -own_distance(U - mean, F, int(n), added)
        return scores


def own_distance(E: Array, F: Array, n: int, added: float) -> Array:
    """Return ``e^T [D^(-1/2) Sigma D^(-1/2)]^-1 e`` of rows e of E (m, d), 2 m d r flops.

    ``Sigma = F^T F / (n - 1) + added I`` for n samples and a thin factor F (r, d), D its diagonal.
    """
    squares = F**2 / max(n - 1, 1)
    # (F^T F + a I)^-1 by its eigenvectors, the rows of F; v = D^(1/2) e
    V = E * np.sqrt(squares.sum(axis=0) + added)
    inside = (V @ F.T) ** 2 @ (1 / (max(n - 1, 1) * (added + squares.sum(axis=1))))
    distance: Array = (np.einsum("nd,nd->n", V, V) - inside) / added
    return distance


build = FeCam
