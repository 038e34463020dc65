"""Frozen maps of the feature: fixed before or in the first session, one kind a file."""

from sparcl.parts.maps.fourier import FourierMap
from sparcl.parts.maps.kernel import KernelMap
from sparcl.parts.maps.map import Features, Map
from sparcl.parts.maps.random import RandomMap
from sparcl.parts.maps.residual import ResidualMap

__all__ = ["Features", "FourierMap", "KernelMap", "Map", "RandomMap", "ResidualMap"]
