"""One trained method over one stream: images, sessions and method in, one run record out."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray

from sparcl.base.errors import InputError, OutputError
from sparcl.base.npz import read_npz, write_npz
from sparcl.learners.learner import Learner
from sparcl.protocol import experiment, stream
from sparcl.protocol.experiment import Split
from study.report import memory
from study.trained import methods
from study.trained.images import Images, check_images
from study.trained.learner import Trained
from study.trained.setup import Setup

TENSORS, KEPT = "tensors/", "kept/"  # members of a checkpoint
KEYS = {"exemplars", "trainable_parameters", "training_accuracy", "underfitted"}  # of a report
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
    checkpoint : npz file that holds what is finished after each session; the same call goes on from it
        after an interruption, and removes it at the end.  Empty: nothing is written.

    Returns
    -------
    The record of :func:`sparcl.protocol.experiment.run`, whose ``reports`` (T,) state loss,
    ``training_accuracy`` on the session's images in percent, ``underfitted`` (below 95), ``exemplars``
    and ``trainable_parameters``, and ``<name>_accuracy`` on all test images seen where a method has
    another way to predict.  Besides: ``exemplars`` and ``trainable_parameters`` at the end,
    ``underfitted`` (of any session), ``seconds`` (T,) of training, ``peak_bytes`` of the GPU, or of the
    process on a CPU.  All but the last two repeat on one machine.

    Raises
    ------
    SparclError
        From the learner; the message names method and session.
    InputError
        The checkpoint is of another run, damaged, or was changed after it was written.
    OutputError
        The checkpoint cannot be a file; before any work.
    """
    if checkpoint and os.path.lexists(checkpoint):
        if os.path.islink(checkpoint) or not os.path.isfile(checkpoint):
            raise OutputError(
                f"{checkpoint} is a link, a folder or a device, and a checkpoint is a file. Name another."
            )
    check_images(test, "test images")
    # Learners on images are given row numbers where others are given features.
    rows_train, rows_test = (
        Split(np.arange(len(images), dtype=np.float64)[:, None], images.labels)
        for images in (setup.train, test)
    )
    classes = int(np.concatenate(sessions).max()) + 1
    experiment.check_splits(rows_train, rows_test, classes, method)
    hyper = methods.hyperparameters(method) | hyper
    if setup.device == "cuda":
        torch.cuda.reset_peak_memory_stats()
    learner = _Resumable(setup, test, sessions, method, hyper, checkpoint)
    record = experiment.evaluate_stream(
        cast(Learner, learner), learner.fit, rows_test, sessions, method, hyper
    )
    if checkpoint:
        Path(checkpoint).unlink(missing_ok=True)
    last = record["reports"][-1]
    return record | {
        "exemplars": last["exemplars"],
        "trainable_parameters": last["trainable_parameters"],
        "underfitted": any(report["underfitted"] for report in record["reports"]),
        "seconds": learner.seconds,
        "peak_bytes": learner.peak,
    }


class _Resumable:
    """A learner that writes what is finished after each session, scores included, and goes on from it.

    Attributes
    ----------
    classes : (c,) labels of the columns, after the session last asked for
    seconds : of training, a session
    peak : largest memory so far in bytes
    """

    def __init__(
        self,
        setup: Setup,
        test: Images,
        sessions: list[NDArray[np.integer]],
        method: str,
        hyper: dict[str, Any],
        checkpoint: str | Path,
    ) -> None:
        self.learner = methods.build(method, setup, **hyper)
        self.test, self.sessions = test, sessions
        self.path = Path(checkpoint) if checkpoint else None
        self.fingerprint = _fingerprint(setup, test, sessions, method, hyper)
        self.asked = 0
        self.scores: list[NDArray[np.float32]] = []
        self.reports: list[dict[str, Any]] = []
        self.seconds: list[float] = []
        self.peak = 0
        if self.path is not None and self.path.is_file():
            self._resume(self.path)

    @property
    def classes(self) -> NDArray[np.int64]:
        return self.learner.classes[: sum(map(len, self.sessions[: self.asked]))]

    def fit(self, session: int) -> None:
        """Train a session, the next one, unless it was finished before."""
        self.asked = session + 1
        if self.asked <= len(self.scores):
            return
        rows = stream.rows_of(self.learner.setup.train.labels, self.sessions[session])
        began = time.monotonic()
        self.learner.fit_session(rows)
        self.seconds.append(time.monotonic() - began)
        seen = self._seen()
        images = Images(
            [self.test.pixels[row] for row in seen], self.test.labels[seen], self.test.classes
        )
        self.scores.append(self.learner.scores(images))
        report = self.learner.report()
        for name, predict in self.learner.others().items():
            found = self.learner.classes[np.argmax(self.learner.score(predict, images), axis=1)]
            report[f"{name}_accuracy"] = 100 * float(np.mean(found == images.labels))
        self.reports.append(report)
        self.peak = max(self.peak, _peak(self.learner.setup.device))
        if self.path is not None:
            self._save(self.path)
        left = (len(self.sessions) - self.asked) * float(np.mean(self.seconds)) / 60
        logger.info(
            "%s: session %d of %d in %.0f s, %.1f%% of its images; about %.0f min left.",
            self.learner.name, self.asked, len(self.sessions), self.seconds[-1],
            report["training_accuracy"], left,
        )  # fmt: skip

    def logits(self, rows: NDArray[np.floating]) -> NDArray[np.float32]:
        """Return the scores (n, c) of test images, all those of the classes seen, in that order."""
        return self.scores[self.asked - 1]

    def report(self) -> dict[str, Any]:
        """Return the report of the session last asked for."""
        return self.reports[self.asked - 1]

    def _seen(self) -> NDArray[np.intp]:
        parts = [stream.rows_of(self.test.labels, s) for s in self.sessions[: self.asked]]
        return np.concatenate(parts)

    def _save(self, path: Path) -> None:
        done = {
            "fingerprint": self.fingerprint,
            "reports": self.reports,
            "seconds": self.seconds,
            "peak": self.peak,
            "trained": sorted(self.learner.trained),
        }
        scores: dict[str, Any] = {f"scores/{i}": scores for i, scores in enumerate(self.scores)}
        write_npz(path, {"done": json.dumps(done)} | scores | state(self.learner))

    def _resume(self, path: Path) -> None:
        try:
            content = read_npz(path)
            done = json.loads(str(content["done"]))
            if done["fingerprint"] != self.fingerprint:
                raise InputError(
                    "it is of another run: method, settings, network, images or sessions differ"
                )
            self.reports, self.seconds, self.peak = (
                done[key] for key in ("reports", "seconds", "peak")
            )
            self.scores = [content[f"scores/{i}"] for i in range(len(self.reports))]
            load(self.learner, content, self.sessions[: len(self.scores)])
            self.learner.trained = set(done["trained"])
            self.learner.measured = dict(self.reports[-1])
            self._check()
        except (KeyError, IndexError, TypeError, ValueError, RuntimeError, InputError) as error:
            said = " ".join(str(error).split())
            raise InputError(
                f"{path}: no checkpoint that this run can go on from ({said}). Delete it, or name another file, and "
                "run again."
            ) from error
        logger.info(
            "%s: %d of %d sessions were done before; going on.",
            self.learner.name, len(self.scores), len(self.sessions),
        )  # fmt: skip

    def _check(self) -> None:
        """Raise ValueError unless reports, seconds and scores are those of as many sessions."""
        sessions = len(self.reports)
        if any(not KEYS <= report.keys() for report in self.reports):
            raise ValueError("a session without a report")
        if len(self.seconds) != sessions or not np.isfinite([*self.seconds, self.peak]).all():
            raise ValueError("a session without its seconds")
        for self.asked in range(1, sessions + 1):
            scores = self.scores[self.asked - 1]
            if scores.shape != (len(self._seen()), len(self.classes)):
                raise ValueError("a session without its scores")
            if not np.isfinite(scores).all():
                raise ValueError("scores that are not finite")
        self.asked = 0


def state(learner: Trained) -> dict[str, NDArray[Any]]:
    """Return what a learner has learned beside its sessions, as arrays; on a CPU its own."""
    tensors = {
        TENSORS + key: tensor for key, tensor in learner.state_dict().items() if _own(learner, key)
    }
    tensors |= {KEPT + key: tensor for key, tensor in learner.kept.items()}
    return {key: tensor.detach().cpu().numpy() for key, tensor in tensors.items()}


def load(
    learner: Trained, content: Mapping[str, NDArray[Any]], sessions: Sequence[NDArray[np.integer]]
) -> None:
    """Bring a new learner, of the same settings, to where :func:`state` was taken, after ``sessions`` of classes.

    Raises
    ------
    InputError, RuntimeError
        The state lacks something, has too much, or an array has another shape.
    """
    for session in sessions:
        learner.begin(np.sort(session))
    tensors, kept = (
        {
            key.removeprefix(prefix): torch.from_numpy(value)
            for key, value in content.items()
            if key.startswith(prefix)
        }
        for prefix in (TENSORS, KEPT)
    )
    missing, unexpected = learner.load_state_dict(tensors, strict=False)
    wrong = [*(key for key in missing if _own(learner, key)), *unexpected]
    if wrong:
        raise InputError(f"it lacks, or has without need, {', '.join(wrong[:3])}")
    learner.kept = {key: value.to(learner.setup.device) for key, value in kept.items()}


def _own(learner: Trained, key: str) -> bool:
    """Return whether a tensor is the learner's, and not of a network that stays as it was given."""
    return learner.trains_network or not key.startswith("network.")


def _fingerprint(
    setup: Setup,
    test: Images,
    sessions: list[NDArray[np.integer]],
    method: str,
    hyper: dict[str, Any],
) -> str:
    """Return the hash of all that decides the numbers of a run but library versions and code."""
    view = setup.view
    settings = [
        method, hyper, [list(map(int, s)) for s in sessions], setup.device, setup.precision, setup.batch,
        view.preprocessing, view.augmentation, view.least_area, view.side,
        setup.train.digest(), test.digest(),
    ]  # fmt: skip
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode())
    for tensor in setup.network.state_dict().values():
        digest.update(tensor.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()


def _peak(device: str) -> int:
    return torch.cuda.max_memory_allocated() if device == "cuda" else memory.peak()
