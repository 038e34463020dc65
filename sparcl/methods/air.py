"""AIR: ACIL with classes weighed equally, W = (sum_c pi_c A_c + ridge I)^-1 C diag(pi).

A_c is the sum of h^T h over class c, N_c its samples, pi_c = K / N_c / sum_j 1 / N_j.  A class that
is complete adds A_c / N_c and C_c / N_c to running sums S and D, and W = (S + ridge / kappa I)^-1 D
with kappa = K / sum_j 1 / N_j: M^2 numbers where the public code keeps K M^2.
Source: AIR (2024), Analytic-continual-learning, commit 0afd6bf.  With equal counts it is ACIL.

Official: ridge 0.1, map and width as ACIL, features as they are.  A class must be complete in its
session; the public code keeps every A_c and can wait.
"""

from sparcl.learners.mapped import MappedRidge, Settings


def build(
    *, ridge: float | str = 0.1, width: int = 8192, seed: int = 0, dtype: str = "float64"
) -> MappedRidge:
    """Build the learner.

    Parameters
    ----------
    ridge : lambda, or a rule of :class:`sparcl.learners.mapped.Settings`
    width : M, outputs of the map
    seed : of the map's weights and of hold-outs
    dtype : float64 (official) or float32
    """
    return MappedRidge(
        Settings(ridge, width, "uniform", "relu", balanced=True, seed=seed, dtype=dtype)
    )
