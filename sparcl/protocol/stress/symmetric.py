"""Labels that are wrong at random inside a session."""

from dataclasses import replace

import numpy as np

from sparcl.protocol.stress.samples import Draw, Samples, fraction


def symmetric(samples: Samples, rate: float, draw: Draw) -> Samples:
    """Give a share ``rate`` of each session's samples, drawn one by one, the label of another class of it.

    A session of one class has no other label and stays as it is.
    """
    fraction("symmetric", rate, 1)
    labels = samples.labels.copy()
    for t, classes in enumerate(samples.classes):
        own = np.sort(classes)
        rows = np.flatnonzero((samples.session == t) & np.isin(samples.labels, own))
        if len(own) > 1:
            rng = draw("symmetric", t)
            flipped = rows[rng.random(len(rows)) < rate]
            steps = rng.integers(1, len(own), size=len(samples.labels))[flipped]
            place = np.searchsorted(own, samples.labels[flipped]) + steps
            labels[flipped] = own[place % len(own)]
    return replace(samples, labels=labels)
