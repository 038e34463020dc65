"""How far a session moves the old classes' scores on their own samples, measured and bounded from sums.

docs/methods.md states the bound; tests/theory holds it against random streams.
"""

from typing import Any

import numpy as np

from sparcl.algebra import ridge
from sparcl.algebra.backend import product
from sparcl.algebra.partition import embedded
from sparcl.algebra.sums import Sums
from sparcl.base.types import Array


def measure(
    sums: Sums, value: float, U_core: Array, before: Array, after: Array, H: Array, Y: Array
) -> dict[str, Any]:
    """Return the root mean square change of old scores on the rows of earlier sessions, and two bounds.

    With ``A = R + ridge I`` of all rows, B its block in the residual of the core, E = Y - H W_prev what the
    session's rows ask of the old columns, K = H_res B^-1 H_res^T their leverage, and g = C_old - A_old W_prev
    what the previous weights leave of their own normal equations, in Frobenius norms

        ||X_old dW|| <= tr(E^T K (I - K) E)^(1/2) + ||X_res B^-1 g_res|| <= ||E|| / 2 + ||X_res B^-1 g_res||:

    the first term is the session's, the second that of a core which was renewed.

    Parameters
    ----------
    sums : with the session; value : the ridge; U_core : (p, k) of the session
    before, after : W (D, c_old) of the old columns; H (n, D), Y (n, c_old) : the session's rows and labels

    Returns
    -------
    ``change``, ``bound`` and ``bound_simple``, the left, middle and right side over the root of the number of
    old rows times old columns: in units of scores.  Cost: D^3 / 3 + 2 D^2 (k + 4 c) + 8 n D c flops.
    """
    c, D = before.shape[1], sums.D
    U = embedded(U_core, D)
    k = U.shape[1]
    E = Y - product(H, before)
    P = product(H.T, E)
    g = sums.C[:, :c] - sums.times(before) - value * before - P
    with sums.factored(value) as A:
        solved = A.solve(np.asfortranarray(np.hstack([U, P, g])))
    held = np.zeros((k, 2 * c))
    moved = ridge.constrained(sums.on, U, solved[:, :k], np.asfortranarray(solved[:, k:]), held)
    by_session = moved[:, :c]
    square = float(np.sum(P * by_session)) - float(np.sum(product(H, by_session) ** 2))
    renewed = _on_old(sums, H, moved[:, c:])
    size = np.sqrt(max(sums.n - len(H), 1) * c)
    return {
        "change": _on_old(sums, H, after - before) / size,
        "bound": (np.sqrt(max(square, 0.0)) + renewed) / size,
        "bound_simple": (float(np.linalg.norm(E)) / 2 + renewed) / size,
    }


def _on_old(sums: Sums, H: Array, W: Array) -> float:
    """Return ``||X_old W||`` of the rows that are summed but not in H."""
    square = float(np.sum(W * sums.times(W))) - float(np.sum(np.square(product(H, W))))
    return float(np.sqrt(max(square, 0.0)))
