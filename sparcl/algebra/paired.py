"""Joint ridge and linear discriminant at one ridge, from one factor of R + ridge I.

With A = R + ridge I, Q = C diag(n)^(-1/2) and V = A^-1 Q, the ridge is ``A^-1 C = V diag(n)^(1/2)``.  The scatter
inside the classes is S = R - Q Q^T, so that ``(S + ridge I)^-1 Q = V (I - Q^T V)^-1``: the discriminant's weights
``(S + ridge I)^-1 C diag(n)^-1`` are ``V (I - Q^T V)^-1 diag(n)^(-1/2)``.  The two heads differ by a c x c matrix.
"""

from dataclasses import dataclass

import numpy as np

from sparcl.algebra.backend import host, product
from sparcl.algebra.host import HOST
from sparcl.algebra.sums import Sums
from sparcl.base.types import Array


@dataclass(frozen=True)
class Paired:
    """Both heads as ``V B``: scores of a row x are ``x^T V B``, with a bias where there is one.

    Attributes
    ----------
    V : (D, c), where the sums lie; ridge, discriminant : B (c, c) of each; bias : (c,) of the
        discriminant; these on the host
    """

    V: Array
    ridge: Array
    discriminant: Array
    bias: Array

    @classmethod
    def of(cls, sums: Sums, ridge: float) -> "Paired":
        """Solve on sums of which each class has a row: D^3 / 3 + 2 D^2 c + O(D c^2 + c^3) flops.

        Raises
        ------
        NumericalError
            When A or ``I - Q^T V`` is not positive definite in this precision.
        """
        on, root = sums.on, np.sqrt(sums.counts)
        Q = on.laid_out(sums.C / on.array(root))
        with sums.factored(ridge) as A:
            V = A.solve(Q)
        return cls.from_inner(V, host(product(Q.T, V)), root)

    @classmethod
    def from_inner(cls, V: Array, inner: Array, root: Array) -> "Paired":
        """Return both heads, given V (D, c), Q^T V (c, c) and the roots (c,) of the counts."""
        B = HOST.block_solve(np.eye(len(root)) - inner, np.diag(1 / root))
        # -m_c^T (S + ridge I)^-1 m_c / 2 with the means Q diag(n)^(-1/2)
        return cls(V, np.diag(root), B, -0.5 * np.diag(inner @ B) / root)
