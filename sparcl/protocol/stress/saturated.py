"""Features pressed against the ends of their range."""

from collections.abc import Sequence

import numpy as np

from sparcl.base.types import Ints
from sparcl.protocol.experiment import Split


def saturated(sessions: Sequence[Ints], parts: list[Split], *, scale: float) -> list[Split]:
    """Press every coordinate against the ends of its range; at unit norm sqrt(d) f is about one."""
    factor = scale * np.sqrt(parts[0].features.shape[1])
    return [Split(np.tanh(factor * part.features), part.labels) for part in parts]
