"""AIR: ACIL with classes weighed equally, W = (sum_c pi_c A_c + ridge I)^-1 C diag(pi).

A_c is the sum of h^T h over class c, N_c its samples, pi_c = K / N_c / sum_j 1 / N_j.  A class that
is complete adds A_c / N_c and C_c / N_c to running sums S and D, and W = (S + ridge / kappa I)^-1 D
with kappa = K / sum_j 1 / N_j: M^2 numbers where the public code keeps K M^2.
Source: AIR (2024), Analytic-continual-learning, commit 0afd6bf.  With equal counts it is ACIL.

Official: ridge 0.1, map and width as ACIL, features as they are.  A class must be complete in its
session; the public code keeps every A_c and can wait.
"""

from collections.abc import Sequence

from sparcl.learners.composed import Composed
from sparcl.parts.heads import BalancedRidge
from sparcl.parts.maps import RandomMap
from sparcl.parts.rules import WIDE, HoldOut, Value, named


def build(
    *,
    ridge: Value = 0.1,
    grid: Sequence[float] = WIDE,
    relative: bool = False,
    validation_share: float = 0.2,
    width: int = 8192,
    seed: int = 0,
    dtype: str = "float64",
) -> Composed:
    """Build the learner.

    Parameters
    ----------
    ridge : lambda, several, or a rule (:func:`sparcl.parts.rules.named`) that chooses from ``grid``
    relative : whether ridges are shares of the mean squared norm of a mapped row of the first session
    validation_share : of a session's rows that a rule holds out
    width : M, outputs of the map
    seed : of the map's weights and of hold-outs
    dtype : float64 (official) or float32
    """
    return Composed(
        map=RandomMap(width, seed, "uniform", "relu"),
        head=BalancedRidge(),
        rule=named(ridge, grid, HoldOut(validation_share, seed=seed), relative),
        dtype=dtype,
    )
