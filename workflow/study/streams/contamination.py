"""Old classes that arrive again: under labels of new classes, of other old classes, or from one end of the class."""

from dataclasses import replace

import numpy as np

from sparcl.algebra.spectra import descending_eigh
from study.streams.samples import Draw, Samples, of_old_classes, set_aside


def unannotated(samples: Samples, rate: float, draw: Draw, *, reserve: float) -> Samples:
    """Let fresh images of old classes arrive in every session from the second on, under random new labels.

    Parameters
    ----------
    rate : such images in units of the session's own, as far as there are fresh ones
    reserve : share of each class that is set aside for that, at every rate, 0 included
    """
    clean, fresh = set_aside(samples, reserve, draw)
    wrong = [_under_new_labels(clean, fresh, t, rate, draw) for t in range(1, len(clean.classes))]
    return clean.joined(*wrong)


def bad_session(samples: Samples, rate: float, draw: Draw, *, reserve: float) -> Samples:
    """Let them arrive in the session in the middle of the stream alone; parameters as above."""
    clean, fresh = set_aside(samples, reserve, draw)
    return clean.joined(_under_new_labels(clean, fresh, len(clean.classes) // 2, rate, draw))


def _under_new_labels(
    clean: Samples, fresh: Samples, session: int, rate: float, draw: Draw
) -> Samples:
    arrived = of_old_classes(clean, fresh, session, rate, draw)
    labels = draw("labels", session).choice(clean.classes[session], size=len(fresh.labels))
    return replace(arrived, labels=labels[: len(arrived.labels)])


def mislabelled(samples: Samples, rate: float, draw: Draw, *, reserve: float) -> Samples:
    """Let fresh images of old classes return in every later session, each as another old class.

    Parameters
    ----------
    rate : such images in units of the session's own, as far as there are fresh ones; none while there
        is one old class
    reserve : share of each class that is set aside for that, at every rate, 0 included
    """
    clean, fresh = set_aside(samples, reserve, draw)
    wrong = []
    for t in range(1, len(clean.classes)):
        old = np.sort(np.concatenate(clean.classes[:t]))
        if len(old) > 1:
            back = of_old_classes(clean, fresh, t, rate, draw)
            steps = draw("labels", t).integers(1, len(old), size=len(fresh.labels))
            place = np.searchsorted(old, back.labels) + steps[: len(back.labels)]
            wrong.append(replace(back, labels=old[place % len(old)]))
    return clean.joined(*wrong)


def returning(
    samples: Samples, rate: float, draw: Draw, *, reserve: float, extreme: float
) -> Samples:
    """Let fresh images from one end of each old class return in every later session.

    Parameters
    ----------
    rate : such images in units of the session's own, as far as there are fresh ones
    reserve : share of each class that is set aside for that, at every rate, 0 included
    extreme : share of a class's fresh images that may return: those farthest along the direction in
        which the images of the class differ most
    """
    clean, fresh = set_aside(samples, reserve, draw)
    kept = []
    for label in np.unique(fresh.labels):
        rows = np.flatnonzero(fresh.labels == label)
        own = samples.features[samples.labels == label]
        along = fresh.features[rows] @ _leading(own - own.mean(axis=0))
        kept.append(rows[np.argsort(-along, kind="stable")[: max(round(extreme * len(rows)), 1)]])
    biased = fresh.take(np.sort(np.concatenate(kept)))
    back = [of_old_classes(clean, biased, t, rate, draw) for t in range(1, len(clean.classes))]
    return clean.joined(*back)


def _leading(centred: np.ndarray) -> np.ndarray:
    """Return the direction (d,) of greatest spread of centred rows (n, d); its largest entry is positive."""
    vectors = descending_eigh(centred @ centred.T)[1]
    direction = centred.T @ vectors[:, 0]
    return direction * np.sign(direction[np.argmax(np.abs(direction))])
