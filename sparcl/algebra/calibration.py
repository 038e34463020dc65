"""Statistics that classes with few rows take from classes with many: TEEN's weights and means.

w_cb = softmax over base classes b of 16 m_c . m_b, by default of means of unit norm.  Source: TEEN (NeurIPS 2023),
wangkiw/TEEN, commit 2ba5165, and dipamgoswami/FSCIL-Calibration, commit fc4c232.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from sparcl.base.errors import InputError
from sparcl.base.rows import unit
from sparcl.base.types import Array

SHARPNESS = 16.0


def likeness(means: Array, base: Array) -> Array:
    """Return weights (c, k), a row's sum being 1, of base means (k, d) for class means (c, d) as they are given."""
    weights: Array = softmax(SHARPNESS * means @ base.T, axis=1)
    return weights


def prototypes(means: Array, base: int, shift: float) -> tuple[Array, Array]:
    """Return prototypes (c, d) of unit norm from class means (c, d), and weights (c - base, base) of the others.

    The first ``base`` classes keep their direction u_b; another one has that of
    ``(1 - shift) u_c + shift unit(sum_b w_cb u_b)``.
    """
    U = unit(means)
    weights = likeness(U[base:], U[:base])
    U[base:] = (1 - shift) * U[base:] + shift * unit(weights @ U[:base])
    return unit(U), weights


def base_left(base: int, order: NDArray[np.intp], refit: bool) -> int:
    """Return how many of the columns ``order`` that stay are of the first session, all of them after a refit.

    Raises
    ------
    InputError
        When none is: others take their prototypes from these.
    """
    left = len(order) if refit else int(np.count_nonzero(order < base))
    if not left:
        raise InputError(
            "all classes of the first session would be forgotten, from which the others take their prototypes: learn "
            "the samples that stay with a new learner."
        )
    return left
