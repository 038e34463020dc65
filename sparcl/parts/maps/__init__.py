"""Frozen maps of the feature: fixed before or in the first session, one kind a file."""

from sparcl.parts.maps.kernel import FourierMap, KernelMap
from sparcl.parts.maps.map import Features, Map, RandomMap
from sparcl.parts.maps.residual import ResidualMap

__all__ = ["Features", "FourierMap", "KernelMap", "Map", "RandomMap", "ResidualMap"]
