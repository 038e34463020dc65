"""Methods by name: those of :mod:`sparcl.methods`, and the study's own, a file each.

The study's keep samples, are trained by gradients on frozen features, or were found on the way to SPARCL+; its tables
compare with them.
"""

from sparcl.methods import add, build, host_only, hyperparameters, names, with_seed

__all__ = ["build", "host_only", "hyperparameters", "names", "with_seed"]

add(__name__)
