"""Parts of a learner that the study's tables compare with, by the names under which a configuration asks for them."""

from collections.abc import Callable
from typing import Any

from study.parts.cores import Blend, Frozen
from study.parts.heads import BalancedByClass, LedoitWolf
from study.parts.row_weights import (
    AdaptiveNeighbours,
    AgreeingOnly,
    Clusters,
    Huber,
    Neighbours,
    NewOnly,
    NoiseMatrix,
    OldModel,
    PseudoLabels,
    Rechecked,
    Trim,
)

PARTS: dict[str, dict[str, Callable[..., Any]]] = {
    "head": {"balanced-by-class": BalancedByClass, "ledoit-wolf": LedoitWolf},
    "core": {"frozen": Frozen, "beside-scatter": Blend},
    "row_weights": {
        "trim": Trim,
        "huber": Huber,
        "neighbours": Neighbours,
        "wann": AdaptiveNeighbours,
        "wann-filter": AgreeingOnly,
        "old-model": OldModel,
        "pseudo-labels": PseudoLabels,
        "clusters": Clusters,
        "noise-matrix": NoiseMatrix,
        "rechecked": Rechecked,
        "new-only": NewOnly,
    },
}
