"""Heads: weights from sums, one family a file."""

from sparcl.parts.heads.discriminant import (
    OracleShrinkage,
    RidgeDiscriminant,
    RidgedScatter,
    ShrunkCovariance,
)
from sparcl.parts.heads.ridge import BalancedRidge, Head, Ridge

__all__ = [
    "BalancedRidge",
    "Head",
    "OracleShrinkage",
    "Ridge",
    "RidgeDiscriminant",
    "RidgedScatter",
    "ShrunkCovariance",
]
