"""The outcome of a run for other toolboxes: its stream and its accuracies."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from sparcl.base.errors import InputError
from sparcl.base.types import Array
from study.loop import metrics
from study.sealed import RUN, read_sealed

NAMES = ("suite", "dataset", "backbone", "method", "order", "seed", "hyper")


@dataclass(frozen=True)
class Outcome:
    """One run.

    Attributes
    ----------
    path : of the record, for messages
    names : suite, dataset, backbone, method, order, seed and hyper of the record
    sessions : classes of each of T sessions, as positions in the class list
    total : (T,) accuracy in percent after each session on all samples of the classes seen
    matrix : (T, T) accuracy in percent after session t on the classes of session s; nan for s > t
    """

    path: Path
    names: Mapping[str, Any]
    sessions: list[list[int]]
    total: Array
    matrix: Array

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a run record.

        Raises
        ------
        InputError
            The file is no run record, or was changed.
        """
        record = read_sealed(path, RUN)
        try:
            correct, counts, session_of_class = (
                np.array(record[key]) for key in ("correct", "test_counts", "session_of_class")
            )
            parts: list[list[int]] = [[] for _ in correct]
            for label, session in zip(record["classes"], record["session_of_class"], strict=True):
                parts[session].append(label)
            total = metrics.session_accuracy(correct, counts, session_of_class)
            matrix = metrics.by_session(correct, counts, session_of_class)
            return cls(path, {key: record[key] for key in NAMES}, parts, total, matrix)
        except (IndexError, KeyError, TypeError, ValueError) as error:
            raise InputError(
                f"{path}: not the record of a run ({type(error).__name__}: {error}). Name a file under results/runs."
            ) from error
