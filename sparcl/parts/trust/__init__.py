"""How far a session's rows are trusted before they are summed; one kind a file."""

from sparcl.parts.trust.clusters import Clusters
from sparcl.parts.trust.huber import Huber
from sparcl.parts.trust.neighbours import Neighbours
from sparcl.parts.trust.new_only import NewOnly
from sparcl.parts.trust.noise_matrix import NoiseMatrix
from sparcl.parts.trust.old_model import OldModel
from sparcl.parts.trust.rechecked import Rechecked
from sparcl.parts.trust.trim import Trim
from sparcl.parts.trust.trust import Trust
from sparcl.parts.trust.watchful import Watchful

__all__ = [
    "Clusters",
    "Huber",
    "Neighbours",
    "NewOnly",
    "NoiseMatrix",
    "OldModel",
    "Rechecked",
    "Trim",
    "Trust",
    "Watchful",
]
