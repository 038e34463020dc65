"""Records of streams that go wrong in, two flat tables out."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from study.loop import metrics
from study.report.differences import BLOCKS
from study.report.summary import KEYS, SHA, arrived, counts, frame, later_mean, opened

if TYPE_CHECKING:
    import pandas as pd

RATED_KEYS = [*KEYS, "stress", "rate"]
ANYTIME = next(iter(BLOCKS))  # a column of suites whose sessions are blocks
NUMBERS = ["sessions", "rows", "A_bar", "A_last", "A_old", "A_first", "forgetting"]
NUMBERS += ["drift", "drift_scaled", "called_old", "contamination_sums", "contamination_filter"]
BOUNDED = ["old_change", "old_change_bound", "old_change_bound_simple", "bound_factor"]


def summarise(records: Iterable[str | Path]) -> dict[str, "pd.DataFrame"]:
    """Return the summaries of records by name, sorted by their keys; accuracies are in percent.

    ``rates``: one row per stream.  ``stress`` names its kinds, joined by +, with the rates of all but the last,
    whose rate is ``rate``; ``rows``, training rows; A_bar, A_last; A_old and A_first, accuracy left after the
    last session on the classes of the first half of the sessions and of the first; forgetting, drift;
    ``called_old``, test samples called a class of the first half over those that are of one;
    ``contamination_filter``, mean over sessions 2 to T of the contaminated fraction that the learner's filter
    estimates, and ``contamination_sums``, the fraction that a ridge on a core estimates from sums; and of such a ridge
    root mean squares over sessions of the change of old scores and its bounds (:mod:`study.streams.old_change`),
    ``bound_factor`` the median over sessions of bound over change.

    Where sessions are blocks (:mod:`study.streams.blurry`), ``A_auc`` is the mean accuracy over its points, A_bar that
    over the ends of tasks, and forgetting Si-Blurry's F_last: the mean over classes of the best accuracy at an earlier
    end less that at the last; a class that no earlier end got right does not count.

    ``ages``: per session of arrival the accuracy on its classes when they arrive and after the last.

    Raises
    ------
    InputError
        A file is not a record of this project, or is damaged.
    """
    rates: list[dict[str, Any]] = []
    ages: list[dict[str, Any]] = []
    for path in records:
        with opened(path) as record:
            for stream in record["runs"]:
                run = record | stream
                keys = {key: record[key] for key in KEYS} | named(run["rates"])
                counted = counts(run)
                rates.append(keys | _row(run, *counted) | {key: record[key] for key in SHA})
                if ANYTIME not in rates[-1]:  # else a block may have no class of its own
                    ages += arrived(keys, counted)
    anytime = [ANYTIME] if any(ANYTIME in row for row in rates) else []
    return {
        "rates": frame(rates, [*RATED_KEYS, *anytime, *NUMBERS, *BOUNDED, *SHA]),
        "ages": frame(ages, [*RATED_KEYS, "arrival", "A_arrival", "A_last"]),
    }


def named(rates: dict[str, float]) -> dict[str, Any]:
    """Return the name of a stream's kinds, and the rate of the last."""
    *before, (last, rate) = rates.items()
    return {
        "stress": "+".join([*(f"{kind}={value:g}" for kind, value in before), last]),
        "rate": float(rate),
    }


def _row(
    run: dict[str, Any], correct: np.ndarray, sizes: np.ndarray, session: np.ndarray
) -> dict[str, Any]:
    def left(classes: np.ndarray) -> float:
        return float(100 * correct[-1, classes].sum() / sizes[classes].sum())

    T = len(correct)
    accuracy = metrics.session_accuracy(correct, sizes, session)
    changes = [change for change in run["old_change"] if change is not None]
    of_core: dict[str, float] = {}
    if changes:
        of_core = {
            column: float(np.sqrt(np.mean([change[name] ** 2 for change in changes])))
            for column, name in zip(BOUNDED, ("change", "bound", "bound_simple"), strict=False)
        }
        moved = [change["bound"] / change["change"] for change in changes if change["change"] > 0]
        of_core |= {"bound_factor": float(np.median(moved))} if moved else {}
    if "points" in run:
        means = {key: float(accuracy[run[of]].mean()) for key, of in BLOCKS.items()}
        of_class = 100 * correct[run["ends"]] / sizes
        best = of_class[:-1].max(axis=0, initial=0)
        fallen = (best - of_class[-1])[best > 0]
        means["forgetting"] = float(fallen.mean()) if fallen.size else np.nan
    else:
        lost = float(metrics.forgetting(correct, sizes, session)[-1])
        means = {"A_bar": float(np.mean(accuracy)), "forgetting": lost}
    return {
        "sessions": T,
        "rows": int(np.sum(run["rows"])),
        "A_last": float(accuracy[-1]),
        "A_old": left(session < T // 2),
        "A_first": left(session == 0),
        "called_old": float(run["called_old"]),
        **{key: later_mean(run[key]) for key in ("drift", "drift_scaled")},
        **{key: later_mean(run[key]) for key in ("contamination_sums", "contamination_filter")},
        **means,
        **of_core,
    }
