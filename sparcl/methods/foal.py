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

from sparcl.learners.mapped import MappedRidge, Settings


def build(
    *, ridge: float | str = 1.0, width: int = 1000, seed: int = 0, dtype: str = "float64"
) -> MappedRidge:
    """Build the learner.

    Parameters
    ----------
    ridge : lambda, or a rule of :class:`sparcl.learners.mapped.Settings`
    width : M, outputs of the map
    seed : of the map's weights and of hold-outs
    dtype : float64 (official) or float32
    """
    return MappedRidge(Settings(ridge, width, "uniform", "sigmoid", seed=seed, dtype=dtype))
