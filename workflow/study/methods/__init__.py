"""Methods by name: those of :mod:`sparcl.methods`, and the study's own, a file each.

The study's keep samples, are trained by gradients on frozen features, follow public code to the letter, or were found
on the way to SPARCL+; its tables compare with them.  Its parts (:mod:`study.parts`) are found beside those of
:mod:`sparcl.parts.catalogue` too.
"""

from sparcl.methods import add, build, host_only, hyperparameters, names, with_seed
from sparcl.parts import FURTHER

__all__ = ["build", "host_only", "hyperparameters", "names", "with_seed"]

add(__name__)
FURTHER.append("study.parts")
