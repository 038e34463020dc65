"""SRDA: a Gaussian for each class, its covariance shrunk towards the pooled one and towards the identity.

Sigma_c = (1 - epsilon) (own S_c + (1 - own) S) + epsilon v I,  v = tr S / d
score_c(f) = log(n_c / N) - log |Sigma_c| / 2 - (f - m_c)^T Sigma_c^-1 (f - m_c) / 2
with S_c = scatter of class c / n_c and S = sum of all scatters / N.  Source: Deep SRDA, SonyCSLParis/Deep_SRDA,
commit c97b826.  Official: own = 0.5, epsilon = 1e-4.  It is LR-RGDA (:mod:`sparcl.methods.lr_rgda`) with whole
factors, a pooled S and priors.

Differences.  epsilon is absolute in the code; here it is a share of the mean variance.  The code takes the logarithm
of the Frobenius norm of ``own S_c + (1 - own) S`` for the log-determinant.  ``official`` does both.  It streams S
with a class's first sample about zero, and renews an inverse only for the classes that got samples: both depend on
the order of samples, and neither is here.
"""

from dataclasses import dataclass, replace

import numpy as np

from sparcl.algebra.gaussians import Excess
from sparcl.base.checks import check_flag, check_fraction
from sparcl.base.types import Array
from sparcl.methods.lr_rgda import ShrunkGaussians


@dataclass(eq=False)
class Srda(ShrunkGaussians):
    """Gaussians with whole covariances, as maximum likelihood has them, and priors.

    Parameters
    ----------
    own : share of a class's own covariance, in [0, 1); 0 is LDA with priors
    epsilon : share of the identity, in units of the mean variance unless ``official``
    official : the public code's score
    """

    own: float = 0.5
    epsilon: float = 0.1
    official: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.own != 0:
            check_fraction("own", self.own, "0 shares one covariance.")
        check_fraction("epsilon", self.epsilon)
        check_flag("official", self.official)

    def _weights(self, counts: Array) -> tuple[Array, Array]:
        rest, shared = 1 - self.epsilon, (1 - self.own) / max(int(counts.sum()), 1)
        return rest * self.own / np.maximum(counts, 1), np.full(len(counts), rest * shared)

    def _floor(self, trace: float) -> float:
        pooled = trace / ((1 - self.epsilon) * (1 - self.own))
        return self.epsilon * (1.0 if self.official else pooled / self.gaussians.d)

    def _solve(self) -> tuple[Array, Array, list[Excess]]:
        W, b, excess = super()._solve()
        counts = self.gaussians.counts
        if self.official:
            base, own = self._covariances()
            R = base.R
            square = float(np.sum(R**2))
            norms = [square + np.sum((U.T @ U) ** 2) + 2 * np.sum(U * (R @ U)) for U in own]
            pairs = zip(excess, norms, strict=True)
            excess = [replace(part, log_det=0.25 * float(np.log(norm))) for part, norm in pairs]
        return W, b + np.log(counts / counts.sum()), excess


build = Srda
