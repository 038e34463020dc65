"""GACL: ACIL for streams in which classes return; on disjoint sessions the same solution.

h = relu(f W), W uniform on (-1/sqrt d, 1/sqrt d), W_t = (G + ridge / passes I)^-1 C.
Source: GACL (NeurIPS 2024), repository commit fc21369.

Official: M = 5,000, ridge 100, float64, and each batch fed three times (``online_iter``), which
multiplies G and C by 3, the same as a third of the ridge.  The split of the paper into exposed and
unexposed classes is the block form of the same solve.
"""

from sparcl.base.checks import check_int
from sparcl.learners.mapped import MappedRidge, Settings


def build(
    *,
    ridge: float | str = 100.0,
    passes: int = 3,
    width: int = 5000,
    seed: int = 0,
    dtype: str = "float64",
) -> MappedRidge:
    """Build the learner.

    Parameters
    ----------
    ridge : lambda, or a rule of :class:`sparcl.learners.mapped.Settings`, which has no use for ``passes``
    passes : times that the official script feeds each batch
    width : M, outputs of the map
    seed : of the map's weights and of hold-outs
    dtype : float64 (official) or float32
    """
    effective = ridge if isinstance(ridge, str) else ridge / check_int("passes", passes, least=1)
    return MappedRidge(Settings(effective, width, "uniform", "relu", seed=seed, dtype=dtype))
