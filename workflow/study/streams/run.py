"""One method over one class order on streams that go wrong, at every rate."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from sparcl.algebra.contamination import contaminated_share
from sparcl.base.errors import SparclError
from sparcl.base.types import Array, Ints
from sparcl.learners.composed import Composed
from sparcl.learners.learner import Learner
from sparcl.parts.core import Core
from study import methods
from study.loop.experiment import Split, evaluate_stream
from study.streams import old_change, stressed

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
    What all streams share of :func:`study.loop.experiment.run`, and ``runs``, a mapping a stream:
    ``rates`` by kind; ``rows`` (T,), training rows of each session; where sessions are blocks
    (:mod:`study.streams.blurry`) ``points``, ``ends``, and of their own what streams share; ``correct``, ``answers``,
    ``drift``, ``drift_scaled`` as there; ``called_old``, test samples after the last session that are called a class
    of the stream's first half of sessions, over those that are of one; and for a ridge on a core ``old_change`` (T,),
    see :func:`study.streams.old_change.measure`, and ``contamination_sums`` (T,), see
    :func:`sparcl.algebra.contamination.contaminated_share`, None where no classes are old; ``contamination_filter``
    (T,), the contaminated fraction that the learner's filter estimates, None without a filter.

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
            arriving = list(samples.classes)
            parts = [samples.arriving(t) for t in range(len(arriving))]
            observed = _OldClasses(learner, parts)
            used = methods.hyperparameters(method) | hyper

            def fit(t: int, learner: Learner = learner, parts: list[Split] = parts) -> None:
                learner.fit_session(parts[t].features, parts[t].labels)

            record = evaluate_stream(learner, fit, test, arriving, method, used, [observed])
        except SparclError as error:
            at = ", ".join(f"{kind} {rate:g}" for kind, rate in rates.items())
            raise type(error)(f"{at}: {error}") from error
        own = {key: record.pop(key) for key in ("correct", "answers", "drift", "drift_scaled")}
        shared = {
            key: record[key] for key in ("classes", "session_of_class", "test_counts", "hyper")
        }
        if samples.points:
            own |= {**shared, "points": list(samples.points), "ends": list(samples.ends)}
        half = np.concatenate(arriving[: max(len(arriving) // 2, 1)])
        runs.append(
            {
                "rates": rates,
                "rows": [len(part.labels) for part in parts],
                **own,
                "called_old": _called(learner, test, half),
                "old_change": observed.changes,
                "contamination_sums": observed.by_sums,
                "contamination_filter": observed.by_filter,
            }
        )
    return shared | {"runs": runs}


def _called(learner: Learner, test: Split, classes: Ints) -> float:
    """Return how many test samples are called one of ``classes``, over how many are of one."""
    called = np.isin(learner.predict(test.features), classes)
    return float(np.count_nonzero(called) / np.count_nonzero(np.isin(test.labels, classes)))


class _OldClasses:
    """Measures what each session does to the old classes of a ridge on a core; see :func:`run`."""

    def __init__(self, learner: Learner, parts: list[Split]) -> None:
        self.learner, self.parts, self.held = learner, parts, _held(learner)
        self.weights: Array | None = None
        self.changes: list[dict[str, float] | None] = []
        self.by_sums: list[float | None] = []
        self.by_filter: list[float | None] = []

    def before(self, session: int) -> None:
        """Estimate the contamination of the session, and keep the weights that it will move."""
        known = self.held is not None and session > 0
        self.by_sums.append(self._contamination(self.parts[session]) if known else None)
        self.weights = self.held.weights if known else None

    def after(self, session: int) -> None:
        """Measure and bound the change of old scores."""
        held, before, part = self.held, self.weights, self.parts[session]
        self.by_filter.append(self.learner.report().get("contamination"))
        if before is None:
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

    def _contamination(self, part: Split) -> float:
        """Return the share of old classes' samples among a session's, from sums and earlier estimates."""
        inside = sum(
            (share or 0.0) * len(earlier.labels)
            for share, earlier in zip(self.by_sums, self.parts, strict=False)
        )
        old = self.held.total
        rows = self.held.expand(part.features)
        share, _ = contaminated_share(old, rows, part.labels, inside / old.n)
        return float(f"{share:.9g}")


def _held(learner: Learner) -> Any:
    """Return a learner that is a ridge on a core that counts all rows alike and has one ridge, else None."""
    if not isinstance(learner, Composed) or learner.row_weights.whole_session:
        return None
    one = len(learner.rule.ridges) == 1 and learner.core.candidates == 1
    return learner if type(learner.core) is Core and one else None
