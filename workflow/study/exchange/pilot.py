"""LAMDA-PILOT: its experiment files and its logs (sun-hailong/LAMDA-PILOT: trainer.py, utils/data_manager.py, exps/).

A stream there is a class order, ``init_cls`` classes in the first session and ``increment`` in each later one, fewer in
the last. With ``shuffle`` the order is numpy's permutation by ``seed``, else the data set's ``class_order``. Accuracies
are of all test samples seen, in percent with two decimals.
"""

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from sparcl.base.errors import InputError
from sparcl.base.files import write_text
from sparcl.protocol import stream
from study.exchange.elsewhere import Measured
from study.exchange.outcome import Outcome

# --- out -----------------------------------------------------------------------------------------


def sizes(outcome: Outcome) -> tuple[int, int]:
    """Return ``init_cls`` and ``increment`` of a stream.

    Raises
    ------
    InputError
        Sessions after the first are of different sizes, the last one apart.
    """
    lengths = [len(part) for part in outcome.sessions]
    init, increment = lengths[0], lengths[1] if len(lengths) > 1 else lengths[0]
    if any(n != increment for n in lengths[1:-1]) or lengths[-1] > increment:
        raise InputError(
            f"{outcome.path}: sessions of {lengths} classes. LAMDA-PILOT knows one size for the first session and one "
            "for all others, the last of which may be smaller: export another stream."
        )
    return init, increment


def settings(outcome: Outcome, dataset: str) -> dict[str, Any]:
    """Return the experiment file of a run's stream.

    ``class_order`` is given, and ``shuffle`` false, where the order is not the permutation of its number: then the
    data set's class there must have this order.
    """
    init, increment = sizes(outcome)
    order = [label for part in outcome.sessions for label in part]
    drawn = stream.class_order(outcome.names["order"], len(order)).tolist()
    found = {
        "prefix": f"{outcome.names['suite']}-{outcome.names['seed']}",
        "dataset": dataset,
        "memory_size": 0,
        "memory_per_class": 0,
        "fixed_memory": False,
        "shuffle": order == drawn,
        "init_cls": init,
        "increment": increment,
        "model_name": outcome.names["method"],
        "backbone_type": outcome.names["backbone"],
        "device": ["-1"],
        "seed": [outcome.names["order"]],
    }
    return found | ({} if order == drawn else {"class_order": order})


def write(outcomes: list[Outcome], dataset: str, folder: Path) -> list[Path]:
    """Write experiment files and logs of runs where LAMDA-PILOT has them; return the paths."""
    return [path for outcome in outcomes for path in _write(outcome, dataset, folder)]


def _write(outcome: Outcome, dataset: str, folder: Path) -> list[Path]:
    """Write both files of a run; the log holds accuracies as `trainer.py` writes them, but for top-5 curves."""
    args = settings(outcome, dataset)
    init, increment, seed = args["init_cls"], args["increment"], args["seed"][0]
    name = f"{args['prefix']}_{seed}_{args['backbone_type']}"
    exps = folder / "exps" / f"{args['model_name']}_{dataset}_{name}.json"
    write_text(exps, json.dumps(args, indent=4) + "\n")
    stem = Path("logs", args["model_name"], dataset, f"{0 if init == increment else init}")
    log = folder / stem / str(increment) / f"{name}.log"
    now = time.strftime("%Y-%m-%d %H:%M:%S,000")
    said = [("trainer.py", f"{k}: {v}") for k, v in (args | {"seed": seed}).items()]
    order = [label for part in outcome.sessions for label in part]
    said.append(("data_manager.py", str(order)))
    starts = np.cumsum([0, *map(len, outcome.sessions)])
    matrix = np.around(outcome.matrix, 2)
    for t, total in enumerate(np.around(outcome.total, 2)):
        groups = {
            f"{start:02d}-{start + (increment if s else init) - 1:02d}": float(matrix[t, s])
            for s, start in enumerate(starts[: t + 1].tolist())
        }
        curve = np.around(outcome.total[: t + 1], 2).tolist()
        said += [
            ("trainer.py", "No NME accuracy."),
            ("trainer.py", f"CNN: { ({'total': float(total)} | groups) }"),
            ("trainer.py", f"CNN top1 curve: {curve}"),
            ("trainer.py", f"Average Accuracy (CNN): {sum(curve) / len(curve)} \n"),
        ]
    if len(matrix) > 1:
        last = np.nanmax(matrix, axis=0) - matrix[-1]
        said.append(("trainer.py", f"Forgetting (CNN): {last[:-1].mean()}"))
    write_text(log, "".join(f"{now} [{file}] => {text}\n" for file, text in said))
    return [exps, log]


# --- in ------------------------------------------------------------------------------------------


LINE = re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d+ \[([\w.-]+)\] => (.*)$")
START = "prefix: "  # of the first line of a run
SETTING = re.compile(r"^(\w+): (.*)$")
NUMBER = r"(?:np\.float64\()?(\d+(?:\.\d+)?)\)?"  # numpy 2 prints its floats with their type
CURVE = re.compile(rf"\[{NUMBER}(?:, {NUMBER})*\]")
FORGETTING = re.compile(rf"^Forgetting \((CNN|NME)\): {NUMBER}$")
ORDER = re.compile(r"^\[\d+(?:, \d+)*\]$")
# The settings of a run that are read, and how they look.
NEEDED = dict.fromkeys(("model_name", "dataset", "backbone_type", "seed"), re.compile(""))
NEEDED |= {"init_cls": re.compile(r"\d+$"), "increment": re.compile(r"[1-9]\d*$")}


def read(path: Path, text: str) -> Iterator[Measured]:
    """Yield the runs of a log: several, where a run was started again.

    Heads are told apart: the classifier's curve is the method's, the nearest-mean curve gets `` (NME)``.

    Parameters
    ----------
    path : of the log
    text : what it holds

    Raises
    ------
    InputError
        The log holds no run, a run lacks a setting, or it ended before its last session.
    """
    runs: list[tuple[int, list[tuple[str, str]]]] = []
    for number, line in enumerate(text.splitlines(), 1):
        if found := LINE.match(line):
            file, said = found.groups()
            if file == "trainer.py" and said.startswith(START):
                runs.append((number, []))
            if runs:
                runs[-1][1].append((file, said))
    if not runs:
        raise InputError(
            f"{path}: no run in it: no line '[trainer.py] => {START}...'. Name a file of LAMDA-PILOT's logs/."
        )
    for number, lines in runs:
        yield from _run(f"{path}, line {number}", number, lines)


def _run(where: str, number: int, lines: list[tuple[str, str]]) -> Iterator[Measured]:
    told = [said for file, said in lines if file == "trainer.py"]
    args: dict[str, str] = {}
    for said in told:
        if pair := SETTING.match(said):
            args.setdefault(*pair.groups())
    wrong = [key for key, form in NEEDED.items() if key not in args or not form.match(args[key])]
    orders = [said for file, said in lines if file == "data_manager.py" and ORDER.match(said)]
    if wrong or not orders:
        raise InputError(
            f"{where}: the run states no {', '.join(wrong) or 'class order'}. Part of the log is gone, or it is of "
            "another tool: name a whole log of LAMDA-PILOT."
        )
    classes = orders[0].count(",") + 1
    init, increment = int(args["init_cls"]), int(args["increment"])
    sessions = 1 + -(-max(classes - init, 0) // increment)
    for head in ("CNN", "NME"):
        start = f"{head} top1 curve: "
        curves = [said.removeprefix(start) for said in told if said.startswith(start)]
        if not curves and head == "NME":
            return
        numbers = re.findall(NUMBER, curves[-1]) if curves and CURVE.fullmatch(curves[-1]) else []
        if len(numbers) != sessions:
            raise InputError(
                f"{where}: the run has the {head} accuracies of {len(numbers)} of {sessions} sessions ({classes} "
                f"classes, {init} first, then {increment}). It was ended early, or a line is damaged: let it end, or "
                "take it out of the log."
            )
        lost = [found[2] for said in told if (found := FORGETTING.match(said)) and found[1] == head]
        yield Measured(
            line=number,
            method=args["model_name"] + ("" if head == "CNN" else " (NME)"),
            dataset=args["dataset"],
            backbone=args["backbone_type"],
            seed=args["seed"],
            averaging="samples",
            accuracies=[float(n) for n in numbers],
            forgetting=float(lost[-1]) if lost else None,
        )
