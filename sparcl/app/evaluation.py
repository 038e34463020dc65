"""Evaluating a model on feature files."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sparcl.app.counted import Counted
from sparcl.app.model import Model
from sparcl.app.samples import opened, rows
from sparcl.base.errors import InputError


def evaluate(model: Model, paths: Sequence[str | Path]) -> dict[str, Any]:
    """Return how many samples of each learned class in feature files are classified correctly.

    Memory holds a block of rows.  Samples of classes that were not learned are left out and
    counted.

    Returns
    -------
    Mapping with ``accuracy`` over samples, ``class_accuracy`` (mean over classes), ``correct``,
    ``samples``, ``left_out``, and ``classes``, a list of name, samples and correct.
    """
    files = opened(model, paths)
    correct, samples = np.zeros((2, len(model.class_names)), dtype=np.int64)
    for Phi, y in rows(model, files, model.learner.classes, Counted()):
        samples += np.bincount(y, minlength=len(samples))
        correct += np.bincount(y[model.learner.predict(Phi) == y], minlength=len(samples))
    tested = np.flatnonzero(samples)
    if not len(tested):
        raise InputError(
            f"{', '.join(map(str, files))}: no sample of a class that the model has learned."
        )
    return {
        "accuracy": float(correct.sum() / samples.sum()),
        "class_accuracy": float(np.mean(correct[tested] / samples[tested])),
        "correct": int(correct.sum()),
        "samples": int(samples.sum()),
        "left_out": sum(header.n for header in files.values()) - int(samples.sum()),
        "classes": [
            {
                "name": model.class_names[i],
                "samples": int(samples[i]),
                "correct": int(correct[i]),
            }
            for i in tested
        ],
    }
