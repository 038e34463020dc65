"""Streams that go wrong, made from any data set's features: failure cases of the paper, and kinds with a rate.

Failure cases of the paper change both splits, with settings of their own:

near-duplicate : each class of the stream's second half is moved a share of the way, mean onto mean,
    to a class of the first half, so that new classes share old ones' principal directions
saturated : every feature becomes ``tanh(scale sqrt(d) f)``: extreme temperature
long-tail : within a session the j-th of J classes keeps n imbalance^(-j / (J - 1)) training rows

Kinds with a rate change which training samples arrive, when, and under which label, never a test
sample; a stream takes several of them one after the other.  Each draws from random streams named
after it, the kind's name and the run's number, and what it does at a rate it does at every higher one:

unannotated : fresh images of old classes arrive in every later session under labels of its new classes
bad-session : the same in one session alone
mislabelled : fresh images of old classes return under the labels of other old classes
returning : fresh images of old classes return under their own labels, but from one end of the class
symmetric : a sample's label becomes that of another class of its session
similar : a sample's label becomes that of the class of its session that is most alike
shifted : one session's features are moved along directions in which images of one class differ
few : a class has so many training samples
imbalanced : the largest class has so many times as many training samples as the smallest
si-blurry : some classes arrive in one task each, and a share of the others' samples in any task
repetition : a class arrives again, with some of its samples, in some of the later sessions
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from sparcl.base.randomness import generator
from sparcl.base.rows import prepared
from sparcl.base.types import Ints
from study.loop.experiment import Split
from study.streams.blurry import repetition, si_blurry
from study.streams.contamination import bad_session, mislabelled, returning, unannotated
from study.streams.failures import long_tail, near_duplicate, saturated
from study.streams.noise import similar, symmetric
from study.streams.samples import Samples
from study.streams.shifted import shifted
from study.streams.size import few, imbalanced

KINDS: dict[str, Callable[..., list[Split]]] = {
    "near-duplicate": near_duplicate,
    "saturated": saturated,
    "long-tail": long_tail,
}

RATED: dict[str, Callable[..., Samples]] = {
    "unannotated": unannotated,
    "bad-session": bad_session,
    "mislabelled": mislabelled,
    "returning": returning,
    "symmetric": symmetric,
    "similar": similar,
    "shifted": shifted,
    "few": few,
    "imbalanced": imbalanced,
    "si-blurry": si_blurry,
    "repetition": repetition,
}


def splits(spec: Mapping[str, Any], sessions: Sequence[Sequence[int]], *data: Any) -> list[Split]:
    """Return the splits as a suite's learners see them: normalised and, if it says so, stressed.

    Parameters
    ----------
    spec : ``normalize`` of the suite, and ``stress``: settings by kind, empty for features as they are
    sessions : classes of each session
    data : the training split, and perhaps the test split; each with ``features`` and ``labels``
    """
    normalize = spec["normalize"]
    parts = [Split(prepared(d.features, normalize), d.labels) for d in data]
    for kind, settings in spec["stress"].items():
        moved = KINDS[kind]([np.asarray(part) for part in sessions], parts, **settings)
        parts = [Split(prepared(part.features, normalize), part.labels) for part in moved]
    return parts


def stressed(
    train: Split,
    sessions: Sequence[Ints],
    rates: Mapping[str, float],
    settings: Mapping[str, Mapping[str, Any]],
    seed: int,
) -> Samples:
    """Return the training samples of a stream on which some kinds of stress lie, in their order.

    Parameters
    ----------
    train : prepared features and labels
    sessions : classes of each session
    rates : of each kind, in the kind's own unit; empty for the stream as it is
    settings : further settings of a kind
    seed : names the draws; class orders use their number
    """
    samples = Samples.of(train, sessions)
    for kind, rate in rates.items():
        draw = partial(generator, "stress", seed)
        samples = RATED[kind](samples, rate, draw, **settings.get(kind, {}))
    return samples
