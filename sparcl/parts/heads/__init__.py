"""Heads: weights from sums, one family a file."""

from sparcl.parts.heads.discriminant import (
    LedoitWolf,
    OracleShrinkage,
    RidgeDiscriminant,
    RidgedScatter,
    ShrunkCovariance,
)
from sparcl.parts.heads.ridge import BalancedByClass, BalancedRidge, Head, Ridge

__all__ = [
    "BalancedByClass",
    "BalancedRidge",
    "Head",
    "LedoitWolf",
    "OracleShrinkage",
    "Ridge",
    "RidgeDiscriminant",
    "RidgedScatter",
    "ShrunkCovariance",
]
