"""Labels that are wrong where classes are alike."""

from dataclasses import replace

import numpy as np

from sparcl.protocol.stress.samples import Draw, Samples, fraction


def similar(samples: Samples, rate: float, draw: Draw) -> Samples:
    """Give a share ``rate`` of each session's samples, drawn one by one, the label of its nearest rival.

    The nearest rival of a class is the class of its session whose mean of training features is the
    closest.  A session of one class stays as it is.
    """
    fraction("similar", rate, 1)
    labels = samples.labels.copy()
    for t, classes in enumerate(samples.classes):
        rows = np.flatnonzero((samples.session == t) & np.isin(samples.labels, classes))
        own = np.unique(samples.labels[rows])
        if len(own) > 1:
            means = np.stack(
                [samples.features[rows[samples.labels[rows] == c]].mean(axis=0) for c in own]
            )
            apart = np.square(means[:, None] - means[None]).sum(axis=2)
            np.fill_diagonal(apart, np.inf)
            rival = own[np.argmin(apart, axis=1)]
            flipped = rows[draw("similar", t).random(len(rows)) < rate]
            labels[flipped] = rival[np.searchsorted(own, samples.labels[flipped])]
    return replace(samples, labels=labels)
