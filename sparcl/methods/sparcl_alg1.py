"""Algorithm 1 of the paper as printed: W = U_core [G, 0] + U_res (U_res^T A U_res)^-1 U_res^T C.

It drops the coupling block U_res^T A U_core G from the right-hand side and gives new classes no
core coordinates; both contradict the paper's own Lemma 1.  Kept, under its own name, because
people will look for it.  ``m`` > 0 adds the paper's linear expansion: m orthonormal directions Q in
the residual, drawn anew with each partition; it halves the ridge along span(Q) and no more.
"""

from collections.abc import Sequence

from sparcl.learners.composed import Composed
from sparcl.methods import sparcl


def build(
    *,
    ridge: float | Sequence[float] = 1.0,
    tau: float | Sequence[float] | None = 0.95,
    k: int | None = None,
    refresh: int = 2,
    m: int = 0,
    relative: bool = False,
    seed: int = 0,
    dtype: str = "float64",
) -> Composed:
    """Build the learner; ridge, tau and refresh default to the paper's.

    Parameters
    ----------
    ridge, tau, k, refresh, relative, dtype : as in ``sparcl``
    m : random residual directions (the paper prints 128 and 512); more than r is an error
    seed : of these directions
    """
    return sparcl.build(
        ridge=ridge,
        tau=tau,
        k=k,
        refresh=refresh,
        coupling="dropped",
        new_classes="residual",
        expansion="linear" if m else "none",
        m=m,
        relative=relative,
        seed=seed,
        dtype=dtype,
    )
