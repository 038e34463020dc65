"""Old classes that return under wrong labels."""

from dataclasses import replace

import numpy as np

from sparcl.protocol.stress.samples import Draw, Samples, fraction, set_aside, strangers


def mislabelled(samples: Samples, rate: float, draw: Draw, *, reserve: float) -> Samples:
    """Let fresh images of old classes return in every later session, each as another old class.

    Parameters
    ----------
    rate : such images in units of the session's own, as far as there are fresh ones; none while there
        is one old class
    reserve : share of each class that is set aside for that, at every rate, 0 included
    """
    clean, fresh = set_aside(samples, reserve, draw)
    fraction("mislabelled", rate)
    wrong = []
    for t in range(1, len(clean.classes)):
        old = np.sort(np.concatenate(clean.classes[:t]))
        if len(old) > 1:
            back = strangers(clean, fresh, t, rate, draw)
            steps = draw("labels", t).integers(1, len(old), size=len(fresh.labels))
            place = np.searchsorted(old, back.labels) + steps[: len(back.labels)]
            wrong.append(replace(back, labels=old[place % len(old)]))
    return clean.joined(*wrong)
