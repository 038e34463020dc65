"""GACL: ACIL for streams in which classes return; on disjoint sessions the same solution.

h = relu(f W), W uniform on (-1/sqrt d, 1/sqrt d), W_t = (G + ridge / passes I)^-1 C.
Source: GACL (NeurIPS 2024), repository commit fc21369.

Official: M = 5,000, ridge 100, float64, and each batch fed three times (``online_iter``), which
multiplies G and C by 3, the same as a third of the ridge.  The split of the paper into exposed and
unexposed classes is the block form of the same solve.
"""

from collections.abc import Sequence

from sparcl.base.checks import check_int
from sparcl.learners.composed import Composed
from sparcl.parts.heads import Ridge
from sparcl.parts.maps import RandomMap
from sparcl.parts.rules import WIDE, HoldOut, Value, named


def build(
    *,
    ridge: Value = 100.0,
    passes: int = 3,
    grid: Sequence[float] = WIDE,
    relative: bool = False,
    validation_share: float = 0.2,
    width: int = 5000,
    seed: int = 0,
    dtype: str = "float64",
) -> Composed:
    """Build the learner.

    Parameters
    ----------
    ridge : lambda, several, or a rule (:func:`sparcl.parts.rules.named`) that chooses from ``grid``
    passes : times that the official script feeds each batch; a rule has no use for it
    relative : whether ridges are shares of the mean squared norm of a mapped row of the first session
    validation_share : of a session's rows that a rule holds out
    width : M, outputs of the map
    seed : of the map's weights and of hold-outs
    dtype : float64 (official) or float32
    """
    if isinstance(ridge, (int, float)):
        ridge = ridge / check_int("passes", passes, least=1)
    return Composed(
        map=RandomMap(width, seed, "uniform", "relu"),
        head=Ridge(),
        rule=named(ridge, grid, HoldOut(validation_share, seed=seed), relative),
        dtype=dtype,
    )
