"""F-OAL: ridge 1 on h = sigmoid(f W), W (d, M) uniform on (-1/sqrt d, 1/sqrt d).

The recursion over batches of 10 ends at W = (G + ridge I)^-1 C, which is computed here.  f is a
fusion of blocks: the mean of the blocks' class tokens, then the final norm (``features:
blocks-mean`` in params.yaml; official all 12 blocks).  On the last feature alone the method's id is
``foal-last``.
Source: F-OAL (NeurIPS 2024), repository commit 73e4ac1.

Official: M = 1,000, ridge 1 (fixed), float64 solve with a float32 head, features as they are; its
loader drops the last incomplete batch of training and test samples, and nothing is dropped here.  On
unit-norm features the inputs of the sigmoid have a spread of about 1 / sqrt(3 d), where it is
almost linear.
"""

from collections.abc import Sequence

from sparcl.learners.composed import Composed
from sparcl.parts.heads import Ridge
from sparcl.parts.maps import RandomMap
from sparcl.parts.rules import WIDE, HoldOut, Value, named


def build(
    *,
    ridge: Value = 1.0,
    grid: Sequence[float] = WIDE,
    relative: bool = False,
    validation_share: float = 0.2,
    width: int = 1000,
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
        map=RandomMap(width, seed, "uniform", "sigmoid"),
        head=Ridge(),
        rule=named(ridge, grid, HoldOut(validation_share, seed=seed), relative),
        dtype=dtype,
    )
