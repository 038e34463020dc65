"""RanPAC without adapter: h = relu(f W), W (d, M) standard normal; ridge chosen in each session.

W_t = (G + ridge_t I)^-1 C with G, C accumulated over all sessions and ridge_t the value of
{1e-8, ..., 1e8} with the smallest squared error on a random fifth of the newest session.
Source: RanPAC (NeurIPS 2023), phase 2, repository commit 012927f.

Official: M = 10,000, float32, the map drawn with torch seed 1 whatever the run's seed, features as
they are; phase 1 (an adapter trained on the first session) needs the backbone and is not here.
The 17 solves are done in the smaller of the primal and the dual (``ridge.holdout``), with the same
choice.
"""

from collections.abc import Sequence

from sparcl.learners.composed import Composed
from sparcl.parts.heads import Ridge
from sparcl.parts.maps import RandomMap
from sparcl.parts.rules import WIDE, HoldOut, Value, named


def build(
    *,
    ridge: Value = "newest",
    grid: Sequence[float] = WIDE,
    relative: bool = False,
    validation_share: float = 0.2,
    width: int = 10000,
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
    dtype : float64 (default) or float32 (official)
    """
    return Composed(
        map=RandomMap(width, seed, "gaussian", "relu"),
        head=Ridge(),
        rule=named(ridge, grid, HoldOut(validation_share, seed=seed), relative),
        dtype=dtype,
    )
