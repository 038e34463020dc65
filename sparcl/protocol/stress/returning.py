"""Old classes that return under their own labels, but with biased samples."""

import numpy as np

from sparcl.algebra.spectra import descending_eigh
from sparcl.protocol.stress.samples import Draw, Samples, fraction, set_aside, strangers


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
    fraction("returning", rate)
    kept = []
    for label in np.unique(fresh.labels):
        rows = np.flatnonzero(fresh.labels == label)
        own = samples.features[samples.labels == label]
        along = fresh.features[rows] @ _leading(own - own.mean(axis=0))
        kept.append(rows[np.argsort(-along, kind="stable")[: max(round(extreme * len(rows)), 1)]])
    biased = fresh.take(np.sort(np.concatenate(kept)))
    back = [strangers(clean, biased, t, rate, draw) for t in range(1, len(clean.classes))]
    return clean.joined(*back)


def _leading(centred: np.ndarray) -> np.ndarray:
    """Return the direction (d,) of greatest spread of centred rows (n, d); its largest entry is positive."""
    vectors = descending_eigh(centred @ centred.T)[1]
    direction = centred.T @ vectors[:, 0]
    return direction * np.sign(direction[np.argmax(np.abs(direction))])
