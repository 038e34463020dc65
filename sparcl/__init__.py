"""SPARCL: analytic class-incremental learning on frozen features.

The package imports in milliseconds and needs numpy and scipy only; pandas, h5py and matplotlib
are imported where they are used, and torch only under :mod:`sparcl.features`.
"""

__version__ = "0.1.0"
