"""One method over one class order on streams that go wrong, at every rate."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from sparcl import methods
from sparcl.algebra.contamination import contaminated_share
from sparcl.base.errors import SparclError
from sparcl.base.types import Ints
from sparcl.learners.composed import Composed
from sparcl.learners.learner import Learner
from sparcl.parts.core import Core
from sparcl.protocol import old_change
from sparcl.protocol.experiment import Split, evaluate_stream
from sparcl.protocol.stress import stressed

Rates = dict[str, float]


def expanded(streams: Sequence[Mapping[str, Sequence[float]]]) -> Iterator[Rates]:
    """Yield the rates of every stream: of each item all combinations of its kinds' rates, in their order."""
    for kinds in streams:
        for rates in product(*kinds.values()):
            yield dict(zip(kinds, rates, strict=True))


def run(
    train: Split,
    test: Split,
    sessions: Sequence[Ints],
    streams: Sequence[Mapping[str, Sequence[float]]],
    settings: Mapping[str, Mapping[str, Any]],
    seed: int,
    method: str,
    hyper: dict[str, Any],
) -> dict[str, Any]:
    """Run one method over all streams of a suite and return their record of plain numbers.

    Parameters
    ----------
    train, test : prepared features and labels; only the former are stressed
    sessions : classes of each session
    streams : kinds of stress with their rates (:func:`expanded`); settings : the kinds' further settings
    seed : of the stress, the number of the class order
    method, hyper : for :func:`sparcl.methods.build`

    Returns
    -------
    What all streams share of :func:`sparcl.protocol.experiment.run`, and ``runs``, a mapping a stream:
    ``rates`` by kind; ``rows`` (T,), training rows of each session; ``correct``, ``drift``,
    ``drift_scaled`` as there; ``called_old``, test samples after the last session that are called a class of the
    stream's first half of sessions, over those that are of one; and for a ridge on a core ``old_change`` (T,),
    see :func:`sparcl.protocol.old_change.measure`, and ``strangers`` (T,), see
    :func:`sparcl.algebra.contamination.contaminated_share`, None where no classes are old; ``noticed`` (T,), the share
    of strangers that the learner noticed, None where it looks for none.

    Raises
    ------
    SparclError
        From the learner, or for a stress that is unknown or out of range; it names the stream.
    """
    runs, shared = [], {}
    for rates in expanded(streams):
        try:
            samples = stressed(train, sessions, rates, settings, seed)
            learner = methods.build(method, **hyper)
            followed = _Followed(learner, [samples.arriving(t) for t in range(len(sessions))])
            record = evaluate_stream(
                learner,
                followed.fit,
                test,
                list(sessions),
                method,
                methods.hyperparameters(method) | hyper,
            )
        except SparclError as error:
            at = ", ".join(f"{kind} {rate:g}" for kind, rate in rates.items())
            raise type(error)(f"{at}: {error}") from error
        own = {key: record.pop(key) for key in ("correct", "drift", "drift_scaled")}
        shared = {
            key: record[key] for key in ("classes", "session_of_class", "test_counts", "hyper")
        }
        half = np.concatenate(list(sessions)[: len(sessions) // 2])
        runs.append(
            {
                "rates": rates,
                "rows": [len(part.labels) for part in followed.parts],
                **own,
                "called_old": _called(learner, test, half),
                "old_change": followed.changes,
                "strangers": followed.strangers,
                "noticed": followed.noticed,
            }
        )
    return shared | {"runs": runs}


def _called(learner: Learner, test: Split, classes: Ints) -> float:
    """Return how many test samples are called one of ``classes``, over how many are of one."""
    called = np.isin(learner.predict(test.features), classes)
    return float(np.count_nonzero(called) / np.count_nonzero(np.isin(test.labels, classes)))


class _Followed:
    """Feeds a learner its sessions, one after the other, and measures what each does to the old classes."""

    def __init__(self, learner: Learner, parts: list[Split]) -> None:
        self.learner, self.parts = learner, parts
        self.changes: list[dict[str, float] | None] = []
        self.strangers: list[float | None] = []
        self.noticed: list[float | None] = []

    def fit(self, classes: Ints) -> None:
        """Feed the next session."""
        learner, part = self.learner, self.parts[len(self.changes)]
        held = _held(learner)
        self.strangers.append(self._strangers(held, part) if held and held.session else None)
        before = held.weights if held is not None and held.session else None
        learner.fit_session(part.features, part.labels)
        self.noticed.append(learner.report().get("noticed"))
        if held is None or before is None:
            self.changes.append(None)
            return
        H, c = held.expand(part.features), before.shape[1]
        Y = (part.labels[:, None] == held.classes[None, :c]).astype(np.float64)
        found = old_change.measure(
            held.total,
            held.solutions.points[0][2],
            held.core.U_core,
            before,
            held.weights[:, :c],
            H,
            Y,
        )
        self.changes.append({key: float(f"{value:.9g}") for key, value in found.items()})

    def _strangers(self, held: Composed, part: Split) -> float:
        """Return the share of strangers in the next session, which sums and earlier estimates tell."""
        inside = sum(
            (share or 0.0) * len(earlier.labels)
            for share, earlier in zip(self.strangers, self.parts, strict=False)
        )
        old = held.total
        share, _ = contaminated_share(old, held.expand(part.features), part.labels, inside / old.n)
        return float(f"{share:.9g}")


def _held(learner: Learner) -> Any:
    """Return a learner that is a ridge on a core with every row trusted and one ridge, else None."""
    if not isinstance(learner, Composed) or learner.row_weights.whole_session:
        return None
    one = len(learner.rule.ridges) == 1 and learner.core.candidates == 1
    return learner if isinstance(learner.core, Core) and one else None
