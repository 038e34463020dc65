"""Heads: weights from sums, one family a file."""

from sparcl.parts.heads.discriminant import (
    LedoitWolf,
    OracleShrinkage,
    RidgedScatter,
    ShrunkCovariance,
)
from sparcl.parts.heads.head import Head
from sparcl.parts.heads.ridge import BalancedRidge, Ridge
from sparcl.parts.heads.ridge_discriminant import RidgeDiscriminant

__all__ = [
    "BalancedRidge",
    "Head",
    "LedoitWolf",
    "OracleShrinkage",
    "Ridge",
    "RidgeDiscriminant",
    "RidgedScatter",
    "ShrunkCovariance",
]
