"""Linear features beside a ReLU map of the *full* feature, joint ridge: no partition, no freeze.

x(f) = [f ; relu(unit(f) W) / sqrt(M)] and W_t = (R + ridge I)^-1 C in these d + M coordinates.
``sparcl-plus`` with both of its parts taken out, at the same total width: what is left of a gain
over it belongs to the residual and to the freeze, not to the wider feature.
"""

from typing import Any

from sparcl.base.checks import check_int
from sparcl.learners.spectral import SpectralRidge
from sparcl.methods import sparcl

FULL = {"tau_map": 0.0, "expansion": "relu"}  # a map that leaves nothing out


def build(
    *, ridge: float | str = 0.1, width: int = 2000, seed: int = 0, dtype: str = "float64"
) -> SpectralRidge:
    """Build the learner.

    Parameters
    ----------
    ridge : lambda, or the rule that chooses it, as in ``sparcl``
    width : M, outputs of the map
    seed : of the map's weights
    """
    m = check_int("width", width, least=1)
    return sparcl.build(ridge=ridge, k=0, m=m, seed=seed, dtype=dtype, **FULL)


def build_grid(*, width: int = 2000, **settings: Any) -> SpectralRidge:
    """Build one learner that fits all ridges at once."""
    m = check_int("width", width, least=1)
    return sparcl.build_grid(k=0, m=m, **settings, **FULL)
