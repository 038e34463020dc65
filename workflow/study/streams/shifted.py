"""A session from a shifted domain."""

from dataclasses import replace

import numpy as np

from sparcl.algebra.backend import HOST
from sparcl.algebra.spectra import leading_eigh
from study.streams.samples import Draw, Samples


def shifted(samples: Samples, rate: float, draw: Draw, *, directions: int) -> Samples:
    """Move the features of the session in the middle of the stream along measured directions.

    The directions are the leading ones of the scatter inside the classes of the *other* sessions'
    training samples: those in which images of one class differ, by light, pose or blur.  They
    stand in for a change of the images, which feature files do not hold.  All samples of the session move
    by ``rate`` standard deviations along each, with random signs, and keep their length.

    Parameters
    ----------
    rate : in standard deviations
    directions : how many
    """
    t = len(samples.classes) // 2
    inside = samples.session == t
    rest = samples.features[~inside].copy()
    labels = samples.labels[~inside]
    for label in np.unique(labels):
        rest[labels == label] -= rest[labels == label].mean(axis=0)
    values, vectors = leading_eigh(HOST, rest.T @ rest / len(rest), rank=directions)
    vectors = vectors[:, :directions]
    vectors *= np.sign(vectors[np.argmax(np.abs(vectors), axis=0), np.arange(directions)])
    signs = draw("shifted", t).choice([-1.0, 1.0], size=directions)
    shift = vectors @ (signs * np.sqrt(np.maximum(values[:directions], 0)))
    features = samples.features.copy()
    moved = features[inside] + rate * shift
    length = np.linalg.norm(features[inside], axis=1) / np.linalg.norm(moved, axis=1)
    features[inside] = moved * length[:, None]
    return replace(samples, features=features)
