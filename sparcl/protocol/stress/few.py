"""Few training samples a class."""

import numpy as np

from sparcl.base.errors import InputError
from sparcl.protocol.stress.samples import Draw, Samples


def few(samples: Samples, rate: float, draw: Draw) -> Samples:
    """Keep ``rate`` training samples of each class, or all where it has fewer."""
    if not (rate >= 1 and float(rate).is_integer()):
        raise InputError(f"stress 'few' has rate {rate!r}: it is a number of samples a class.")
    kept = [
        draw("few", int(label)).permutation(np.flatnonzero(samples.labels == label))[: int(rate)]
        for label in np.unique(samples.labels)
    ]
    return samples.take(np.sort(np.concatenate(kept)))
