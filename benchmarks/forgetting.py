"""What forgetting takes and leaves, against a fit on the samples that stay; and which methods forget at all.

    python benchmarks/forgetting.py            # minutes on one core; writes docs/forgetting/*.csv and the figure
    python benchmarks/forgetting.py --draw     # draws again from measured.csv

Learners see ten sessions of a bundled set and forget whole classes, or a share of each class's samples.  Times are
those of the process on one BLAS thread.
"""

import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from harness import threads, timed

import sparcl
import study.methods  # noqa: F401  its methods are found beside those of sparcl
from sparcl import methods
from sparcl.features import store
from sparcl.learners.learner import Learner
from sparcl.protocol import stream

FOLDER = Path("docs/forgetting")
DATASET, BACKBONE = "cifar-100-150", "efficientnet-lite0"
# title -> method, settings, and whether it has to be fitted again from sums
TRIED: dict[str, tuple[str, dict[str, Any], bool]] = {
    "class means": ("ncm", {}, False),
    "joint ridge": ("acil", {"ridge": 0.1}, False),
    "LDA": ("slda", {"ridge_relative": 1.0}, False),
    "SPARCL+ 2": ("sparcl-plus-2", {}, True),
}
CLASSES = (1, 10, 50)
SHARES = (0.01,)


def table() -> list[dict[str, object]]:
    """Return for each method, with its defaults, whether it forgets exactly, after a refit or not, and why."""
    rows = []
    for name in methods.names():
        learner = sparcl.build(name)
        cleared, differs = learner._past()
        how = "no" if learner.cannot_forget else "after a refit" if cleared or differs else "yes"
        why = learner.cannot_forget or "; ".join(cleared) or "nothing"
        left = "no refit" if how == "no" else "; ".join(differs) or "nothing"
        rows.append({"method": name, "how": how, "why": why, "differs": left})
    return rows


def accuracy(learner: Learner, Phi: np.ndarray, y: np.ndarray) -> float:
    """Return the accuracy in percent; a class that is not known is missed."""
    return 100 * float(np.mean(learner.predict(Phi) == y)) if len(y) else np.nan


def measured(title: str) -> Iterator[dict[str, object]]:
    """Yield a row for each thing that a learner forgets."""
    name, hyper, refit = TRIED[title]
    train, test = (
        store.read(f"data/features/{DATASET}/{BACKBONE}/{split}.h5") for split in ("train", "test")
    )
    order = stream.class_order(1993, len(train.class_names))
    learned = sparcl.build(name, **hyper)
    for classes in stream.split_sessions(order, 10):
        rows = np.isin(train.labels, classes)
        learned.fit_session(train.features[rows], train.labels[rows])
    state, drawn = learned.state(), np.random.default_rng(0).permutation(order)
    within = np.random.default_rng(1).random(len(train.labels))
    for what, amount in [("classes", c) for c in CLASSES] + [("samples", s) for s in SHARES]:
        gone = np.isin(train.labels, drawn[:amount]) if what == "classes" else within < amount
        Phi, y = train.features[gone], train.labels[gone]
        learner, fresh = type(learned).from_state(state), sparcl.build(name, **hyper)
        forget = partial(learner.forget, Phi, y, refit_from_sums=refit)
        fit = partial(fresh.fit_session, train.features[~gone], train.labels[~gone])
        seconds, again = (timed(call, time.process_time) for call in (forget, fit))
        columns = [fresh.classes.tolist().index(label) for label in learner.classes]
        wanted = fresh.logits(test.features)[:, columns]
        scores = np.abs(learner.logits(test.features) - wanted).max() / np.abs(wanted).max()
        left = np.isin(test.labels, learner.classes)
        # of classes the test samples, of samples themselves: what a model says of what it was asked to forget
        asked = (test.features[~left], test.labels[~left]) if what == "classes" else (Phi, y)
        yield {
            "dataset": DATASET, "backbone": BACKBONE, "learner": title, "what": what, "amount": amount,
            "samples": int(gone.sum()), "seconds": f"{seconds:.4f}", "retraining": f"{again:.4f}",
            "scores": f"{scores:.1e}",
            "kept_before": f"{accuracy(learned, test.features[left], test.labels[left]):.4f}",
            "kept": f"{accuracy(learner, test.features[left], test.labels[left]):.4f}",
            "forgotten_before": f"{accuracy(learned, *asked):.4f}",
            "forgotten": f"{accuracy(learner, *asked):.4f}",
        }  # fmt: skip


def draw(measured: pd.DataFrame, path: Path) -> None:
    """Draw accuracies of the joint ridge and the times of all learners against the number of classes forgotten."""
    from matplotlib.figure import Figure

    from figures import files, style

    classes = measured[measured["what"] == "classes"].astype({"amount": int})
    ridge = classes[classes["learner"] == "joint ridge"]
    accuracies = [
        ("kept, before", ridge["kept_before"], "#0072B2", "--"),
        ("kept", ridge["kept"], "#0072B2", "-"),
        ("forgotten, before", ridge["forgotten_before"], "#D55E00", "--"),
        ("forgotten", ridge["forgotten"], "#D55E00", "-"),
    ]
    times = classes["retraining"] / classes["seconds"]
    colors = zip(TRIED, ("#767676", "#0072B2", "#009E73", "#D55E00"), strict=True)
    ratios = [(title, times[classes["learner"] == title], color, "-") for title, color in colors]
    x = ridge["amount"].tolist()
    with style.settings():
        figure = Figure(figsize=(style.PAGE, 2.6))
        for left, title, curves in (
            (0.06, "accuracy of the joint ridge (%)", accuracies),
            (0.56, "time of a new fit over that of forgetting", ratios),
        ):
            ax = figure.add_axes((left, 0.17, 0.29, 0.72))
            for _, values, color, dashes in curves:
                ax.plot(x, values, color=color, ls=dashes, marker="o")
            ax.set_title(title, loc="left")
            ax.set_xscale("log")
            ax.set_xlabel("classes forgotten, of 100")
            if curves is ratios:
                ax.axhline(1, color=style.QUIET, lw=0.7, ls=":")
                ax.set_yscale("log")
                ax.yaxis.set_major_formatter("{x:g}")
            else:
                ax.set_ylim(-3, 100)
                ax.minorticks_off()
            ax.set_xticks(x, [str(i) for i in x])
            ax.xaxis.minorticks_off()
            style.label_ends(ax, [(name, x[-1], y.iloc[-1], color) for name, y, color, _ in curves])
        files.save(figure, path)


def main() -> None:
    """Measure, write and draw; with ``--draw`` draw alone."""
    threads("1")
    FOLDER.mkdir(exist_ok=True)
    if "--draw" not in sys.argv[1:]:
        pd.DataFrame(table()).to_csv(FOLDER / "methods.csv", index=False)
        rows = [row for title in TRIED for row in measured(title)]
        pd.DataFrame(rows).to_csv(FOLDER / "measured.csv", index=False)
    draw(pd.read_csv(FOLDER / "measured.csv"), FOLDER / "forgetting.png")


if __name__ == "__main__":
    main()
