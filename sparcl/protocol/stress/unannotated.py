"""Old classes that nobody annotated: fresh images of them arrive under labels of new classes."""

from dataclasses import replace

from sparcl.protocol.stress.samples import Draw, Samples, fraction, set_aside, strangers


def unannotated(samples: Samples, rate: float, draw: Draw, *, reserve: float) -> Samples:
    """Let fresh images of old classes arrive in every session from the second on, under random new labels.

    Parameters
    ----------
    rate : such images in units of the session's own, as far as there are fresh ones
    reserve : share of each class that is set aside for that, at every rate, 0 included
    """
    clean, fresh = set_aside(samples, reserve, draw)
    fraction("unannotated", rate)
    wrong = [_under_new_labels(clean, fresh, t, rate, draw) for t in range(1, len(clean.classes))]
    return clean.joined(*wrong)


def bad_session(samples: Samples, rate: float, draw: Draw, *, reserve: float) -> Samples:
    """Let them arrive in the session in the middle of the stream alone; parameters as above."""
    clean, fresh = set_aside(samples, reserve, draw)
    fraction("bad-session", rate)
    return clean.joined(_under_new_labels(clean, fresh, len(clean.classes) // 2, rate, draw))


def _under_new_labels(
    clean: Samples, fresh: Samples, session: int, rate: float, draw: Draw
) -> Samples:
    arrived = strangers(clean, fresh, session, rate, draw)
    labels = draw("labels", session).choice(clean.classes[session], size=len(fresh.labels))
    return replace(arrived, labels=labels[: len(arrived.labels)])
