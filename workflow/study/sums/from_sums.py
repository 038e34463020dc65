"""A method over a stream, from the sums of each class."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparcl import methods
from sparcl.base.errors import InputError
from study.loop import experiment
from study.sums import sweep
from study.sums.class_sums import ClassSums
from study.sums.sweep import learn_sums


def run(
    sums: ClassSums,
    test: experiment.Split,
    sessions: Sequence[NDArray[np.integer]],
    method: str,
    hyper: dict[str, Any],
    device: str = "cpu",
) -> dict[str, Any]:
    """Run one method over one stream from sums; the record is that of :func:`study.loop.experiment.run`.

    Parameters
    ----------
    sums : of the training samples; test : prepared as those were
    sessions : classes of each session
    method, hyper, device : for :func:`sparcl.methods.build`

    Raises
    ------
    SparclError
        When the method or a hyper-parameter needs samples, or from the learner.
    """
    sessions = [np.asarray(classes, dtype=np.int64) for classes in sessions]
    fitted = sweep.learner(method, hyper, device)
    counts = np.bincount(test.labels, minlength=sums.classes)
    if len(counts) > sums.classes or test.features.shape[1] != sums.d or not counts.all():
        raise InputError(
            f"{sums.classes} classes of {sums.d} features were summed, but the test split has "
            f"{np.count_nonzero(counts)} classes of {test.features.shape[1]} features: extract both splits of one data "
            "set with the same backbone."
        )
    return experiment.evaluate_stream(
        fitted,
        lambda session: learn_sums(fitted, sessions[session], sums),
        test,
        sessions,
        method,
        methods.hyperparameters(method) | hyper,
    )
