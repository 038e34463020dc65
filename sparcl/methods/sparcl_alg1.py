"""Algorithm 1 of the paper as printed: W = U_core [G, 0] + U_res (U_res^T A U_res)^-1 U_res^T C.

It drops the coupling block U_res^T A U_core G from the right-hand side and gives new classes no
core coordinates; both contradict the paper's own Lemma 1.  Kept, under its own name, because
people will look for it.  ``m`` > 0 adds the paper's linear expansion: m orthonormal directions Q in
the residual, drawn anew with each partition; it halves the ridge along span(Q) and no more.
"""

from typing import Any

from sparcl.learners.spectral import SpectralRidge
from sparcl.methods import sparcl

PRINTED = {"coupling": "dropped", "new_classes": "residual"}


def build(
    *,
    ridge: float = 1.0,
    tau: float | None = 0.95,
    k: int | None = None,
    refresh: int = 2,
    m: int = 0,
    seed: int = 0,
    dtype: str = "float64",
) -> SpectralRidge:
    """Build the learner; ridge, tau and refresh default to the paper's.

    Parameters
    ----------
    ridge, tau, k, refresh, dtype : as in ``sparcl``
    m : random residual directions (the paper prints 128 and 512); more than r is an error
    seed : of these directions
    """
    return sparcl.build(
        ridge=ridge,
        tau=tau,
        k=k,
        refresh=refresh,
        expansion="linear" if m else "none",
        m=m,
        seed=seed,
        dtype=dtype,
        **PRINTED,
    )


def build_grid(*, m: int = 0, **settings: Any) -> SpectralRidge:
    """Build one learner that fits all pairs of ridge and tau at once."""
    expansion = "linear" if m else "none"
    return sparcl.build_grid(expansion=expansion, m=m, **settings, **PRINTED)
