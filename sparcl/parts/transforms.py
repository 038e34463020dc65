"""Transforms of each row before a map: nothing, unit norm, a power, or blocks of equal weight."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sparcl.base.checks import check_int, check_positive
from sparcl.base.errors import InputError
from sparcl.base.rows import unit
from sparcl.base.state import Shape, Stateful
from sparcl.base.types import Array


class Transform(Stateful):
    """A transform of each row by itself.

    Attributes
    ----------
    whole_session : why :meth:`begin` must see the first session whole; empty if it need not
    """

    whole_session: ClassVar[str] = ""

    def begin(self, Phi: Array) -> None:
        """Take what the transform needs from the first session's features Phi (n, d)."""

    def __call__(self, Phi: Array) -> Array:
        """Return the transformed rows (n, d) of Phi, in its precision."""
        raise TypeError(f"{type(self).__name__} transforms nothing")

    def report(self) -> dict[str, Any]:
        """Return what the transform took from the first session."""
        return {}


@dataclass(eq=False)
class Identity(Transform):
    """Rows as they are."""

    def __call__(self, Phi: Array) -> Array:
        """Return Phi (n, d) itself."""
        return Phi


@dataclass(eq=False)
class UnitNorm(Transform):
    """Rows over their Euclidean norm; a zero row stays zero."""

    def __call__(self, Phi: Array) -> Array:
        """Return the rows (n, d) of unit norm, in the precision of Phi."""
        return unit(Phi).astype(Phi.dtype, copy=False)


@dataclass(eq=False)
class SignedPower(Transform):
    """``sign(f) |f|^exponent``, then unit norm; with an exponent of 1/2, the signed square root.

    Source: the power normalisation of Fisher vectors (Perronnin et al., ECCV 2010).
    """

    exponent: float = 0.5

    def __post_init__(self) -> None:
        check_positive("exponent", self.exponent)

    def __call__(self, Phi: Array) -> Array:
        """Return the rows (n, d) of unit norm, in the precision of Phi."""
        return unit(np.sign(Phi) * np.abs(Phi) ** self.exponent).astype(Phi.dtype, copy=False)


@dataclass(eq=False)
class Rooted(Transform):
    """The square root of features that are never negative, then unit norm; others have unit norm alone.

    Averages of rectified activations are skewed and spread in proportion to their mean, which a root
    evens out; where the first session has a negative feature, none is taken, for good.
    """

    whole_session: ClassVar[str] = "its first session decides whether the root is taken"
    kept: ClassVar[dict[str, Shape | None]] = {"exponent": float}

    def __post_init__(self) -> None:
        self.exponent = 1.0

    def begin(self, Phi: Array) -> None:
        """Look at the sign of all features Phi (n, d)."""
        self.exponent = 0.5 if Phi.min() >= 0 else 1.0

    def __call__(self, Phi: Array) -> Array:
        """Return the rows (n, d) of unit norm, in the precision of Phi."""
        rows = np.sign(Phi) * np.sqrt(np.abs(Phi)) if self.exponent == 0.5 else Phi
        return unit(rows).astype(Phi.dtype, copy=False)

    def report(self) -> dict[str, Any]:
        """Return the exponent."""
        return {"exponent": self.exponent}


@dataclass(eq=False)
class EqualBlocks(Transform):
    """Each of k equal parts of a row over the root mean squared norm that it has in the first session.

    Parameters
    ----------
    blocks : k, for instance class tokens of as many blocks side by side
    """

    blocks: int
    whole_session: ClassVar[str] = "its first session decides the scale of each block"
    kept: ClassVar[dict[str, Shape | None]] = {"scales": list[float]}

    def __post_init__(self) -> None:
        check_int("blocks", self.blocks, least=1)
        self.scales: list[float] = [1.0] * self.blocks

    def begin(self, Phi: Array) -> None:
        """Measure the blocks of Phi (n, k d); InputError where its columns are no k equal parts."""
        if Phi.shape[1] % self.blocks:
            raise InputError(
                f"features of {Phi.shape[1]} dimensions are no {self.blocks} blocks of one size: read "
                "`features: blocks`, or set blocks to the number of them."
            )
        parts = np.asarray(Phi, dtype=np.float64).reshape(len(Phi), self.blocks, -1)
        squares = np.mean(np.sum(parts**2, axis=2), axis=0)
        self.scales = [float(np.sqrt(square)) if square > 0 else 1.0 for square in squares]

    def __call__(self, Phi: Array) -> Array:
        """Return the scaled rows (n, k d) of Phi, in its precision."""
        parts = Phi.reshape(len(Phi), self.blocks, -1) / np.array(self.scales)[:, None]
        return parts.reshape(Phi.shape).astype(Phi.dtype, copy=False)
