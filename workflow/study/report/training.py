"""Records of methods that train the network in, one flat table of their training out."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from study.report.summary import KEYS, frame, opened

if TYPE_CHECKING:
    import pandas as pd

SHOWN = ["training_accuracy", "underfitted", "loss", "exemplars", "trainable_parameters"]
OTHERS = ["head_accuracy", "pair_accuracy", "slot_accuracy"]


def summarise(records: Iterable[str | Path]) -> "pd.DataFrame":
    """Return one row per session of each run, sorted by their keys.

    ``seconds`` of training; ``training_accuracy`` in percent of the session's own images, and whether it is
    ``underfitted``; ``loss`` of the last epoch; ``exemplars`` kept and ``trainable_parameters`` so far;
    ``peak_bytes`` of the whole run; ``head_accuracy``, ``pair_accuracy`` and ``slot_accuracy`` on all test images
    seen, where a method has a second way to predict or chooses a slot.

    Raises
    ------
    InputError
        A file is not a record of this project, or is damaged.
    """
    rows: list[dict[str, Any]] = []
    for path in records:
        with opened(path) as record:
            run = {key: record[key] for key in KEYS} | {"peak_bytes": record["peak_bytes"]}
            trained = zip(record["reports"], record["seconds"], strict=True)
            for t, (report, seconds) in enumerate(trained):
                told = {key: report[key] for key in SHOWN}
                told |= {key: report.get(key) for key in OTHERS}
                told["underfitted"] = int(report["underfitted"])
                rows.append(run | {"session": t + 1, "seconds": seconds} | told)
    return frame(rows, [*KEYS, "session", "seconds", *SHOWN, *OTHERS, "peak_bytes"])
