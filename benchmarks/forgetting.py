"""What forgetting takes and leaves, against a fit on the samples that stay; and which methods forget at all.

    python benchmarks/forgetting.py            # minutes on one core; writes docs/forgetting/*.csv and the figure
    python benchmarks/forgetting.py --draw     # draws again from measured.csv

Learners see ten sessions of a bundled set and forget whole classes, or a share of each class's samples.  Times are
those of the process on one BLAS thread.
"""

import csv
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from composition import write
from harness import threads

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


def timed(call: Callable[..., object], *given: Any, **named: Any) -> float:
    """Return the seconds of this process that a call takes."""
    start = time.process_time()
    call(*given, **named)
    return time.process_time() - start


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
        seconds = timed(learner.forget, Phi, y, refit_from_sums=refit)
        again = timed(fresh.fit_session, train.features[~gone], train.labels[~gone])
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


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """Draw accuracies of the joint ridge and the times of all learners against the number of classes forgotten."""
    from matplotlib.figure import Figure

    from figures import files, style

    of = {t: [r for r in rows if (r["learner"], r["what"]) == (t, "classes")] for t in TRIED}
    with style.settings():
        figure = Figure(figsize=(style.PAGE, 2.6))
        axes = [figure.add_axes((x, 0.17, 0.29, 0.72)) for x in (0.06, 0.56)]
        own, ends = of["joint ridge"], []
        x = [int(row["amount"]) for row in own]
        for column, text, color, dashes in (
            ("kept_before", "kept, before", "#0072B2", "--"),
            ("kept", "kept", "#0072B2", "-"),
            ("forgotten_before", "forgotten, before", "#D55E00", "--"),
            ("forgotten", "forgotten", "#D55E00", "-"),
        ):
            y = [float(row[column]) for row in own]
            axes[0].plot(x, y, color=color, ls=dashes, marker="o")
            ends.append((text, x[-1], y[-1], color))
        axes[0].set_title("accuracy of the joint ridge (%)", loc="left")
        axes[0].set_xscale("log")
        axes[0].set_ylim(-3, 100)
        axes[0].set_xticks(x, [str(i) for i in x])
        axes[0].minorticks_off()
        style.label_ends(axes[0], ends)
        ends = []
        colors = ("#767676", "#0072B2", "#009E73", "#D55E00")
        for (title, own), color in zip(of.items(), colors, strict=True):
            y = [float(row["retraining"]) / float(row["seconds"]) for row in own]
            axes[1].plot(x, y, color=color, marker="o")
            ends.append((title, x[-1], y[-1], color))
        axes[1].axhline(1, color=style.QUIET, lw=0.7, ls=":")
        axes[1].set_title("time of a new fit over that of forgetting", loc="left")
        axes[1].set_xscale("log")
        axes[1].set_yscale("log")
        axes[1].set_xticks(x, [str(i) for i in x])
        axes[1].yaxis.set_major_formatter("{x:g}")
        axes[1].xaxis.minorticks_off()
        for ax in axes:
            ax.set_xlabel("classes forgotten, of 100")
        style.label_ends(axes[1], ends)
        files.save(figure, path)


def main() -> None:
    """Measure, write and draw; with ``--draw`` draw alone."""
    threads("1")
    FOLDER.mkdir(exist_ok=True)
    if "--draw" not in sys.argv[1:]:
        write(table(), str(FOLDER / "methods.csv"))
        rows: list[dict[str, object]] = []
        for title in TRIED:
            rows += measured(title)
            print(title, flush=True)
        write(rows, str(FOLDER / "measured.csv"))
    with (FOLDER / "measured.csv").open(encoding="utf-8", newline="") as file:
        draw(list(csv.DictReader(file)), FOLDER / "forgetting.png")


if __name__ == "__main__":
    main()
