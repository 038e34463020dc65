"""Linear features beside a ReLU map of the *full* feature, joint ridge: no partition, no freeze.

x(f) = [f ; relu(unit(f) W) / sqrt(M)] and W_t = (R + ridge I)^-1 C in these d + M coordinates.
``sparcl-plus`` with both of its parts taken out, at the same total width: what is left of a gain
over it belongs to the residual and to the freeze, not to the wider feature.
"""

from collections.abc import Sequence

from sparcl.learners.composed import Composed
from sparcl.parts.core import Core
from sparcl.parts.maps import ResidualMap
from sparcl.parts.rules import NARROW, HoldOut, Value, named


def build(
    *,
    ridge: Value = 0.1,
    grid: Sequence[float] = NARROW,
    relative: bool = False,
    validation_share: float = 0.2,
    width: int = 2000,
    seed: int = 0,
    dtype: str = "float64",
) -> Composed:
    """Build the learner.

    Parameters
    ----------
    ridge : lambda, several, or a rule (:func:`sparcl.parts.rules.named`) that chooses from ``grid``
    relative : whether ridges are shares of the mean squared norm of a mapped row of the first session
    validation_share : of each class's rows in a session that a rule holds out
    width : M, outputs of the map
    seed : of the map's weights and of hold-outs
    dtype : float64 or float32
    """
    return Composed(
        map=ResidualMap(
            width, "relu", tau_map=0.0, seed=seed
        ),  # a residual that leaves nothing out
        core=Core(k=0),
        rule=named(ridge, grid, HoldOut(validation_share, by_class=True, seed=seed), relative),
        dtype=dtype,
    )
