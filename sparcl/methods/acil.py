"""Joint ridge on the features: W = (R + ridge I)^-1 C.

Source: paper eq. 2, "ACIL-style" statistics.  The same solution as ACIL's recursion (NeurIPS
2022) without its random buffer, whatever the batches, sessions and class order.
"""

from sparcl.learners.spectral import Settings, SpectralRidge


def build(*, ridge: float = 1.0, dtype: str = "float64") -> SpectralRidge:
    """Build the learner with one ridge; the paper's default is 1."""
    return build_grid(ridge=[ridge], dtype=dtype)


def build_grid(*, ridge: list[float], dtype: str = "float64") -> SpectralRidge:
    """Build one learner that fits all ridges at once."""
    return SpectralRidge(Settings(ridges=tuple(ridge), k=0, dtype=dtype))
