"""LayUP on the bundled blocks: a ridge on class tokens of several blocks side by side.

W_t = (R + ridge_t I)^-1 C on x = [x_1 ... x_k], each block over its root mean squared norm in the first session,
without map or bias; ridge_t has the best mean accuracy over four folds of the newest session, beside
the sums of the earlier ones (:mod:`sparcl.parts.rules.folds`).  Source: LayUP (arXiv 2312.08888, 2024),
ky-ah/LayUP, commit 7e8e152.  Official: the last six blocks *before* the final norm, 15 half-decades from 1e-4 to
1e3 and then 1e-8, float32, adapters on the first session as an option.

What differs.  A bundled file has blocks 3, 6, 9 and 12 of a ViT after the final norm: "LayUP, 4 normed blocks".
Norms differ between blocks, and the code leaves the larger ones their weight; here each block counts
the same, and the ridge is a share of the mean squared norm of a row.
"""

from collections.abc import Sequence

from sparcl.base.errors import InputError
from sparcl.learners.composed import Composed
from sparcl.parts.rules import HoldOut, Rule, Value, named
from sparcl.parts.rules.folds import Folds
from sparcl.parts.transforms import EqualBlocks

HALF_DECADES = tuple(float(10 ** (power / 2)) for power in range(-12, 3))
FOLDS = "folds"


def build(
    *,
    blocks: int = 4,
    ridge: Value = FOLDS,
    grid: Sequence[float] = HALF_DECADES,
    folds: int = 4,
    validation_share: float = 0.2,
    seed: int = 0,
    dtype: str = "float64",
) -> Composed:
    """Build the learner on features of ``blocks`` equal parts side by side; D = k d coordinates.

    Parameters
    ----------
    blocks : k; 1 is the joint ridge
    ridge : in mean squared norms of a row of the first session, which are k; several; ``folds``, or another rule
        (:func:`sparcl.parts.rules.named`), which chooses from ``grid``
    folds : of the rule ``folds``
    validation_share, seed : of a session's rows that another rule holds out
    dtype : float64 or float32 (official)
    """
    if isinstance(grid, str):
        raise InputError(f"grid = {grid!r}: it must be a list of numbers above 0.")
    rule: Rule
    if ridge == FOLDS:
        rule = Folds(tuple(grid), folds, relative=True)
    else:
        rule = named(ridge, grid, HoldOut(validation_share, seed=seed), relative=True)
    return Composed(transform=EqualBlocks(blocks), rule=rule, dtype=dtype)
