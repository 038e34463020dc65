"""SPARCL: cumulative ridge with the old classes' core coordinates frozen.

W = argmin sum_s ||Phi_s W - Y_s||^2 + ridge ||W||^2 subject to U_core^T W_old = U_core^T W_prev.
Source: paper, Lemma 1 and the appendix's block identity.  The printed Algorithm 1 solves another
problem; it is the method ``sparcl-alg1``.
"""

from sparcl.partition import Rule
from sparcl.spectral import SpectralRidge


def build(
    *,
    ridge: float = 1.0,
    tau: float | None = 0.95,
    k: int | None = None,
    refresh: int = 2,
    dtype: str = "float64",
) -> SpectralRidge:
    """Build the learner; the defaults are the paper's.

    Parameters
    ----------
    ridge : lambda
    tau : share of the energy that the core holds, in (0, 1); None when ``k`` is given
    k : rank of the core (from the second session on); replaces tau
    refresh : sessions between partitions; 0 keeps the base session's
    dtype : float64 or float32
    """
    return build_grid(
        ridge=[ridge], tau=[tau if k is None else None], k=k, refresh=refresh, dtype=dtype
    )


def build_grid(
    *,
    ridge: list[float],
    tau: list[float | None],
    k: int | None = None,
    refresh: int = 2,
    dtype: str = "float64",
) -> SpectralRidge:
    """Build one learner that fits all pairs of ridge and tau at once."""
    rules = [Rule(tau=value, k=k) for value in tau]
    return SpectralRidge(ridges=ridge, rules=rules, refresh=refresh, dtype=dtype)
