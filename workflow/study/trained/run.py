"""One trained method over one stream: images, sessions and method in, one run record out."""

from __future__ import annotations

import hashlib
import json
import logging
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray

from sparcl.base.errors import InputError
from sparcl.base.npz import read_npz, write_npz
from sparcl.learners.learner import Learner
from sparcl.protocol import stream
from study.loop import experiment
from study.loop.experiment import Split
from study.report import memory
from study.trained import methods
from study.trained.images import Images
from study.trained.learner import Trained
from study.trained.setup import Setup

logger = logging.getLogger(__name__)


def run(
    setup: Setup,
    test: Images,
    sessions: list[NDArray[np.integer]],
    method: str,
    hyper: dict[str, Any],
    checkpoint: str | Path = "",
) -> dict[str, Any]:
    """Run one trained method over one stream and return its record of plain numbers.

    Parameters
    ----------
    setup : network, training images, view, device
    test : test images
    sessions : classes of each session
    method, hyper : for :func:`study.trained.methods.build`
    checkpoint : npz file that holds what is finished after each session; the same call continues from it
        after an interruption, and removes it at the end.  Empty: nothing is written.

    Returns
    -------
    The record of :func:`study.loop.experiment.run`, whose ``reports`` (T,) state loss,
    ``training_accuracy`` on the session's images in percent, ``underfitted`` (below 95), ``exemplars``
    and ``trainable_parameters``, and ``<name>_accuracy`` on all test images seen where a method has
    another way to predict, or chooses a slot.  Besides: ``exemplars`` and ``trainable_parameters`` at the end,
    ``underfitted`` (of any session), ``seconds`` (T,) of training, ``peak_bytes`` of the GPU, or of the
    process on a CPU.  All but the last two repeat on one machine.

    Raises
    ------
    SparclError
        From the learner; the message names method and session.
    InputError
        The checkpoint is of another run, damaged, or was changed after it was written.
    """
    path = Path(checkpoint) if checkpoint else None
    # Learners on images are given row numbers where others are given features.
    numbered = Split(np.arange(len(test), dtype=np.float64)[:, None], test.labels)
    hyper = methods.hyperparameters(method) | hyper
    if setup.device == "cuda":
        torch.cuda.reset_peak_memory_stats()
    learner = methods.build(method, setup, **hyper)
    resumable = _Resumable(
        learner, test, sessions, path, _fingerprint(setup, test, sessions, method, hyper)
    )
    record = experiment.evaluate_stream(
        cast(Learner, resumable), resumable.fit, numbered, sessions, method, hyper
    )
    if path:
        path.unlink(missing_ok=True)
    last = record["reports"][-1]
    return record | {
        "exemplars": last["exemplars"],
        "trainable_parameters": last["trainable_parameters"],
        "underfitted": any(report["underfitted"] for report in record["reports"]),
        "seconds": resumable.seconds,
        "peak_bytes": resumable.peak,
    }


@dataclass
class _Resumable:
    """A learner that writes what is finished after each session, scores included, and continues from it.

    Attributes
    ----------
    test, sessions : images, and classes of each session
    path : of the checkpoint
    fingerprint : of the run
    asked : the session last asked for, from 1
    scores : (n, c) a session, of the test images of all classes seen
    reports, seconds : of a session each; peak : largest memory so far in bytes
    """

    learner: Trained
    test: Images
    sessions: list[NDArray[np.integer]]
    path: Path | None
    fingerprint: str
    asked: int = 0
    peak: int = 0

    def __post_init__(self) -> None:
        self.scores: list[NDArray[np.float32]] = []
        self.reports: list[dict[str, Any]] = []
        self.seconds: list[float] = []
        if self.path and self.path.is_file():
            self._resume(self.path)

    @property
    def classes(self) -> NDArray[np.int64]:
        """Labels (c,) of the columns, after the session last asked for."""
        return self.learner.classes[: sum(map(len, self.sessions[: self.asked]))]

    def fit(self, session: int) -> None:
        """Train a session, the next one, unless it was finished before."""
        self.asked = session + 1
        if self.asked <= len(self.scores):
            return
        learner = self.learner
        rows = stream.rows_of(learner.setup.train.labels, self.sessions[session])
        began = time.monotonic()
        learner.fit_session(rows)
        self.seconds.append(time.monotonic() - began)
        images = self._seen()
        self.scores.append(learner.scores(images))
        report = learner.report()
        columns = learner.columns_of(images.labels)
        for name, (scores, right) in learner.others().items():
            found = np.argmax(learner.scan(scores, images).numpy(), axis=1)
            report[f"{name}_accuracy"] = 100 * float(np.mean(found == right[columns]))
        self.reports.append(report)
        gpu = learner.setup.device == "cuda"
        self.peak = max(self.peak, torch.cuda.max_memory_allocated() if gpu else memory.peak())
        if self.path:
            self._save(self.path)
        left = (len(self.sessions) - self.asked) * float(np.mean(self.seconds)) / 60
        logger.info(
            "%s: session %d of %d in %.0f s, %.1f%% of its images; about %.0f min left.",
            learner.name, self.asked, len(self.sessions), self.seconds[-1],
            report["training_accuracy"], left,
        )  # fmt: skip

    def scorer(self, rows: NDArray[np.floating]) -> Callable[[int], NDArray[np.float32]]:
        """Return what gives the scores (n, c) of the n test images of the classes seen, session by session."""
        return lambda n: self.scores[self.asked - 1]

    def report(self) -> dict[str, Any]:
        """Return the report of the session last asked for."""
        return self.reports[self.asked - 1]

    def _seen(self) -> Images:
        """Return the test images of all classes seen, session by session."""
        parts = [stream.rows_of(self.test.labels, s) for s in self.sessions[: self.asked]]
        return self.test.subset(np.concatenate(parts))

    def _save(self, path: Path) -> None:
        done = {
            "fingerprint": self.fingerprint,
            "reports": self.reports,
            "seconds": self.seconds,
            "peak": self.peak,
            "trained": sorted(self.learner.trained),
        }
        arrays: dict[str, Any] = {"done": json.dumps(done)}
        arrays |= {f"scores/{i}": scores for i, scores in enumerate(self.scores)}
        arrays |= {k: tensor.detach().cpu().numpy() for k, tensor in self.learner.state().items()}
        write_npz(path, arrays)

    def _resume(self, path: Path) -> None:
        try:
            content = read_npz(path)
            done = json.loads(str(content.pop("done")))
            if done["fingerprint"] != self.fingerprint:
                raise InputError(
                    "it is of another run: method, settings, network, images or sessions differ"
                )
            self.reports, self.seconds, self.peak = (
                done[key] for key in ("reports", "seconds", "peak")
            )
            self.scores = [content.pop(f"scores/{i}") for i in range(len(self.reports))]
            tensors = {key: torch.from_numpy(array) for key, array in content.items()}
            self.learner.load(tensors, self.sessions[: len(self.scores)])
            self.learner.trained = set(done["trained"])
            self.learner.measured = dict(self.reports[-1])
        except (KeyError, IndexError, TypeError, ValueError, RuntimeError, InputError) as error:
            said = " ".join(str(error).split())
            raise InputError(
                f"{path}: no checkpoint that this run can continue from ({said}). Delete it, or name another file, and "
                "run again."
            ) from error
        logger.info(
            "%s: %d of %d sessions were done before; continuing.",
            self.learner.name, len(self.scores), len(self.sessions),
        )  # fmt: skip


def _fingerprint(
    setup: Setup,
    test: Images,
    sessions: list[NDArray[np.integer]],
    method: str,
    hyper: dict[str, Any],
) -> str:
    """Return the hash of all that decides the numbers of a run but library versions and code."""
    settings = [
        *(method, hyper, [session.tolist() for session in sessions]),
        *(setup.device, setup.precision, setup.batch, asdict(setup.view)),
        *(setup.train.digest(), test.digest()),
    ]
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode())
    for tensor in setup.network.state_dict().values():
        digest.update(tensor.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()
