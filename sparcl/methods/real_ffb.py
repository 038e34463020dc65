"""REAL's feature-fusion buffer on a frozen backbone, an adaptation of this project.

ACIL's map and ridge on the class tokens of several blocks side by side (``features: blocks`` in
params.yaml).  REAL (2024; second version 2025) trains its backbone on the base classes by two
streams and distils it; no code of it is public.  With a frozen backbone what remains of its first
version is ACIL, and of its second this buffer.  The number here says nothing about REAL with its
trained backbone.

Width and ridge as ACIL.
"""

from collections.abc import Sequence

from sparcl.learners.composed import Composed
from sparcl.methods import acil_rhl
from sparcl.parts.rules import WIDE, Value


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
    """Build the learner; parameters as in ``acil-rhl``."""
    return acil_rhl.build(
        ridge=ridge,
        grid=grid,
        relative=relative,
        validation_share=validation_share,
        width=width,
        seed=seed,
        dtype=dtype,
    )
