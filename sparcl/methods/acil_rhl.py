"""ACIL with its random hidden layer: h = relu(f W), W (d, M) uniform on (-1/sqrt d, 1/sqrt d).

The recursion R <- R - R X^T (I + X R X^T)^-1 X R, W <- W + R X^T (Y - X W) from R = I / ridge ends,
after any batches, at W = (G + ridge I)^-1 C, which is what is computed here: no M x M inverse is
kept, and one Cholesky factor a session replaces a product of two M x M matrices a batch.
Source: ACIL (NeurIPS 2022), repository Analytic-continual-learning, commit 0afd6bf.

Official: ridge 0.1; M = 8,192 (CIFAR-100), 16,384 (ImageNet-1k); float64; features as they are.
Since W has variance 1 / (3 d), its ridge 0.1 is one of 0.3 d on the scale of RanPAC's map.
The method ``acil`` is the same ridge on the features themselves, as the SPARCL paper states it.
"""

from collections.abc import Sequence

from sparcl.learners.composed import Composed
from sparcl.parts.heads import Ridge
from sparcl.parts.maps import RandomMap
from sparcl.parts.rules import WIDE, HoldOut, Value, named


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
        map=RandomMap(width, seed, "uniform", "relu"),
        head=Ridge(),
        rule=named(ridge, grid, HoldOut(validation_share, seed=seed), relative),
        dtype=dtype,
    )
