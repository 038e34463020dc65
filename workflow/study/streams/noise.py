"""Labels that are wrong inside a session: at random, or where classes are alike."""

from dataclasses import replace

import numpy as np

from study.streams.samples import Draw, Samples


def symmetric(samples: Samples, rate: float, draw: Draw) -> Samples:
    """Give a share ``rate`` of each session's samples, drawn one by one, the label of another class of it.

    A session of one class has no other label and stays as it is.
    """
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


def similar(samples: Samples, rate: float, draw: Draw) -> Samples:
    """Give a share ``rate`` of each session's samples, drawn one by one, the label of its nearest rival.

    The nearest rival of a class is the class of its session whose mean of training features is the
    closest.  A session of one class stays as it is.
    """
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
