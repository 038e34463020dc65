"""C-FeCAM: FeCAM for few shots, where classes after the first session take means and covariances from the first.

For classes b of the first session Sigma_b, for others Sigma_c + sum_b w_cb Sigma_b, covariances of unit rows;
M_c = that + alpha v I, v the mean variance inside the first session's classes;  e = f / |f| - p_c
score_c(f) = -e^T [D_c^(-1/2) M_c D_c^(-1/2)]^-1 e, D_c = diag(M_c), prototypes p_c and weights w of TEEN
(:mod:`sparcl.algebra.calibration`)
Source: Goswami et al. (2024), dipamgoswami/FSCIL-Calibration, commit fc4c232, without its adapter.  Official: shift
0.1 (0.25 for CIFAR-100), and 100 I for all data sets, which is 72 v to 84 v on features of norm 47.

Differences.  The code takes covariances of features as they are, in float32.  Its ``corrcoef(M_c)`` correlates the
*rows* of M_c in place of the variables: A_c = S S^T with S the rows of M_c less their means, over their norms.  A_c
has rank d - 1, and the code its pseudo-inverse.  ``literal`` is this; the default is the correlation of M_c.
With J = I - 11^T / d, D = diag(M J M) and P the projection off q = D^(1/2) M^-1 1,
e^T A^+ e = |J M^-1 D^(1/2) P e|^2.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sparcl.algebra.calibration import base_left, prototypes
from sparcl.algebra.gaussians import Gaussians
from sparcl.algebra.host import HOST
from sparcl.algebra.sums import Gram
from sparcl.base.checks import check_flag, check_fraction, check_positive
from sparcl.base.errors import InputError
from sparcl.base.rows import unit
from sparcl.base.state import Shape
from sparcl.base.types import Array
from sparcl.methods.fecam import Correlation, FeCam, distances

# what rounding leaves of the scatter of a unit row and its copies
ROUNDED = (64 * np.finfo(np.float64).eps) ** 2


@dataclass(eq=False)
class CFeCam(FeCam):
    """Keeps a mean and a thin factor a class.

    With N rows of the first session, a new class costs N d^2 + d^3 / 3 flops once and n d^2 to score; all classes
    cost 2 n d^2 where ``literal``.

    Settings are those of :func:`build`.

    Attributes
    ----------
    base : classes of the first session, the first columns
    """

    alpha: float = 72.0
    shift: float = 0.1
    literal: bool = False
    kept: ClassVar[dict[str, Shape | None]] = {"base": int}

    def __post_init__(self) -> None:
        super().__post_init__()
        check_fraction("shift", self.shift, "It is the share of similar classes in a prototype.")
        check_flag("literal", self.literal)
        self.base = 0
        self._factors: dict[int, tuple[Array, Array]] = {}

    def _fit(self, Phi: Array, columns: NDArray[np.integer], old: int, classes: int) -> None:
        first = self.session == 0
        gaussians = Gaussians(Phi.shape[1]) if first else self.gaussians
        gaussians.add(unit(Phi), columns, classes)
        if first:
            base_variance(gaussians, classes)
            self.gaussians, self.base = gaussians, classes
        if (columns < old).any():
            self._factors = {}

    def _refit(self, order: NDArray[np.intp], refit: bool) -> float | None:
        self.base = base_left(self.base, order, refit)
        self.gaussians.reorder(order)
        self._factors = {}
        base_variance(self.gaussians, self.base)
        return None

    def _logits(self, Phi: Array) -> Array:
        U, kept = unit(Phi), self.gaussians
        added = self.alpha * base_variance(kept, self.base)
        points, weights = prototypes(kept.means, self.base, self.shift)
        thin = 0 if self.literal else self.base
        own = zip(kept.factors[:thin], kept.counts[:thin], strict=True)
        P = [Correlation.of(F, int(n), added) for F, n in own]
        found = [distances(U, points[:thin], P)] if thin else []
        for j, point in enumerate(points[thin:], thin):
            found.append(self._distance(U - point, *self._factored(j, weights, added))[:, None])
        return -np.hstack(found)

    def _factored(self, j: int, weights: Array, added: float) -> tuple[Array, Array]:
        """Return the root of the diagonal D (d,) and the lower Cholesky factor (d, d) of M of a class."""
        if j in self._factors:
            return self._factors[j]
        kept, new = self.gaussians, j >= self.base
        of_base = weights[j - self.base] if new else np.zeros(0)
        gram = Gram(kept.d)
        gram.add(covariance_root(kept, of_base, int(kept.counts[j]), kept.factors[j], 1.0))
        M = np.array(gram.R)
        M.flat[:: len(M) + 1] += added
        diagonal = M.diagonal()
        if self.literal:
            diagonal = np.sum(M**2, axis=1) - M.sum(axis=1) ** 2 / len(M)
        factored = np.sqrt(diagonal), HOST.lower(np.asfortranarray(M))[0]
        if new:  # one of the first session takes d^3 / 3 flops alone
            self._factors[j] = factored
        return factored

    def _distance(self, E: Array, root: Array, L: Array) -> Array:
        """Return the squared distance (n,) of rows E (n, d)."""
        if not self.literal:
            solved = HOST.lower_solve(L, (E * root).T)
            return np.einsum("dn,dn->n", solved, solved)
        q = unit((root * HOST.definite_solve(L, np.ones(len(L))))[None])[0]
        X = HOST.definite_solve(L, ((E - np.outer(E @ q, q)) * root).T)
        squares: Array = np.sum((X - X.mean(axis=0)) ** 2, axis=0)
        return squares


def covariance_root(base: Gaussians, weights: Array, n: int, own: Array, scale: float) -> Array:
    """Return B (r, d) with ``B^T B = scale (sum_b w_b Sigma_b + Sigma)``, covariances unbiased.

    Parameters
    ----------
    base : classes, of which the first (k,) have ``weights``
    n, own : samples of the class and the factor (m, d) of its scatter; a single sample has no covariance
    """
    of_base = zip(weights, base.counts, base.factors, strict=False)
    parts = [F * np.sqrt(scale * w / max(int(k) - 1, 1)) for w, k, F in of_base]
    return np.vstack([*parts, own * np.sqrt(scale / max(n - 1, 1))])


def base_variance(gaussians: Gaussians, base: int) -> float:
    """Return the mean variance inside the first ``base`` classes; InputError where there is none."""
    scatter = sum(float(np.sum(F**2)) for F in gaussians.factors[:base])
    if scatter <= ROUNDED * gaussians.counts[:base].sum():
        raise InputError(
            "C-FeCAM needs two different samples of a class of the first session, which has no spread: add samples."
        )
    return scatter / (int(gaussians.counts[:base].sum()) * gaussians.d)


def build(*, floor: float = 72.0, shift: float = 0.1, literal: bool = False) -> CFeCam:
    """Build the learner.

    Parameters
    ----------
    floor : alpha, what is added to each variance, in mean variances inside the classes of the first session
    shift : share of similar classes in a prototype, in (0, 1)
    literal : the correlation as the public code has it
    """
    return CFeCam(alpha=check_positive("floor", floor), shift=shift, literal=literal)
