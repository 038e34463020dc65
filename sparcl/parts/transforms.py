"""What happens to each row before a map: nothing, unit norm, a signed power."""

from dataclasses import dataclass

import numpy as np

from sparcl.base.checks import check_positive
from sparcl.base.rows import unit
from sparcl.base.state import Stateful
from sparcl.base.types import Array


@dataclass(eq=False)
class Identity(Stateful):
    """Rows as they are."""

    def __call__(self, Phi: Array) -> Array:
        """Return Phi (n, d) itself."""
        return Phi


@dataclass(eq=False)
class UnitNorm(Stateful):
    """Rows over their Euclidean norm; a zero row stays zero."""

    def __call__(self, Phi: Array) -> Array:
        """Return the rows (n, d) of unit norm, in the precision of Phi."""
        return unit(Phi).astype(Phi.dtype, copy=False)


@dataclass(eq=False)
class SignedPower(Stateful):
    """``sign(f) |f|^exponent``, then unit norm; with an exponent of 1/2, the signed square root.

    Source: the power normalisation of Fisher vectors (Perronnin et al., ECCV 2010).
    """

    exponent: float = 0.5

    def __post_init__(self) -> None:
        check_positive("exponent", self.exponent)

    def __call__(self, Phi: Array) -> Array:
        """Return the rows (n, d) of unit norm, in the precision of Phi."""
        return unit(np.sign(Phi) * np.abs(Phi) ** self.exponent).astype(Phi.dtype, copy=False)


Transform = Identity | UnitNorm | SignedPower
