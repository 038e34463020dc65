"""Fly-CL: sparse random projection, the largest outputs kept, ridge by cross-validation.

u = f W with ``nonzeros`` standard normal entries in each column of W (d, M); h keeps the
floor(level M) largest signed values of u.  W_t = (G + ridge_t I)^-1 C with G, C over all sessions
and ridge_t the value of the grid with the smallest generalised cross-validation score on the newest
session (``ridge.gcv``, from a tridiagonal form of h h^T in place of a thin SVD of h).
Source: Fly-CL (2025), repository commit 193b1b8, with the values of its scripts: M = 10,000,
300 nonzeros, level 0.3, grid 1e6 to 1e9, float32, features as they are.  (The defaults of its
argument parser are others: 100, 0.01, 1e4 to 1e9.)

The grid belongs to features of a norm of about 40 and to M = 10,000: on unit-norm features give
another one (params.yaml, ``grids``).
"""

from collections.abc import Sequence

from sparcl.learners.composed import Composed
from sparcl.parts.heads import Ridge
from sparcl.parts.maps import RandomMap
from sparcl.parts.rules import HoldOut, Value, named

SCRIPTS = (1e6, 1e7, 1e8, 1e9)  # the grid of its scripts


def build(
    *,
    ridge: Value = "gcv",
    grid: Sequence[float] = SCRIPTS,
    relative: bool = False,
    validation_share: float = 0.2,
    width: int = 10000,
    nonzeros: int = 300,
    level: float = 0.3,
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
    nonzeros : entries of a column of W; at most d
    level : share of the outputs that is kept, in (0, 1]
    seed : of the map's weights and of hold-outs
    dtype : float64 (default) or float32 (official)
    """
    return Composed(
        map=RandomMap(width, seed, "sparse", "topk", nonzeros, level),
        head=Ridge(),
        rule=named(ridge, grid, HoldOut(validation_share, seed=seed), relative),
        dtype=dtype,
    )
