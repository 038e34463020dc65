"""LAMDA-PILOT: its experiment files and its logs (sun-hailong/LAMDA-PILOT: trainer.py, utils/data_manager.py, exps/).

A stream there is a class order, ``init_cls`` classes in the first session and ``increment`` in each later one, fewer in
the last. With ``shuffle`` the order is numpy's permutation by ``seed``, else the data set's ``class_order``. Accuracies
are of all test samples seen, in percent with two decimals. PyCIL, which it grew from, and RanPAC's own code write such
logs, or nearly: they are read, not written.
"""

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sparcl.base.errors import InputError
from sparcl.base.files import write_text
from sparcl.protocol import stream
from study.exchange.elsewhere import Measured
from study.exchange.outcome import Outcome

# --- out -----------------------------------------------------------------------------------------


def sizes(sessions: list[list[int]], where: str) -> tuple[int, int]:
    """Return ``init_cls`` and ``increment`` of a stream.

    Raises
    ------
    InputError
        Sessions after the first are of different sizes, the last one apart.
    """
    lengths = [len(part) for part in sessions]
    init, increment = lengths[0], lengths[1] if len(lengths) > 1 else lengths[0]
    if any(n != increment for n in lengths[1:-1]) or lengths[-1] > increment:
        raise InputError(
            f"{where}: sessions of {lengths} classes. LAMDA-PILOT knows one size for the first session and one for "
            "all others, the last of which may be smaller: export another stream."
        )
    return init, increment


def settings(outcome: Outcome, dataset: str, where: str) -> dict[str, Any]:
    """Return the experiment file of a run's stream.

    ``class_order`` is given, and ``shuffle`` false, where the order is not the permutation of its number: then the
    data set's class there must have this order.
    """
    init, increment = sizes(outcome.sessions, where)
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


def write(outcome: Outcome, dataset: str, folder: Path, where: str) -> list[Path]:
    """Write experiment file and log of a run where LAMDA-PILOT has them; return both paths.

    The log holds what `trainer.py` writes of accuracies, top-5 curves apart, which records lack.
    """
    args = settings(outcome, dataset, where)
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


class Form(NamedTuple):
    """How a toolbox of this family writes a run into its log."""

    start: str  # how the first line of a run begins
    backbone: str  # the setting that names the network
    curves: dict[str, str]  # head -> how the line with its accuracies begins


BY_HEAD = {head: f"{head} top1 curve: " for head in ("CNN", "NME")}
FORMS = {
    "pilot": Form("prefix: ", "backbone_type", BY_HEAD),
    "pycil": Form("prefix: ", "convnet_type", BY_HEAD),  # G-U-N/PyCIL: trainer.py
    "ranpac": Form(
        "Starting new run", "convnet_type", {"CNN": "Top1 curve: "}
    ),  # RanPAC/RanPAC: trainer.py
}
LINE = re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d+ \[([\w.-]+)\] => (.*)$")
SETTING = re.compile(r"^(\w+): (.*)$")
NUMBER = r"(?:np\.float64\()?(\d+(?:\.\d+)?)\)?"  # numpy 2 prints its floats with their type
CURVE = re.compile(rf"\[{NUMBER}(?:, {NUMBER})*\]")
FORGETTING = re.compile(rf"^Forgetting \((CNN|NME)\): {NUMBER}$")
ORDER = re.compile(r"^\[\d+(?:, \d+)*\]$")
NEEDED = ("model_name", "dataset", "seed", "init_cls", "increment")


def read(tool: str, path: Path, text: str) -> Iterator[Measured]:
    """Yield the runs of a log: several, where a run was started again.

    Heads are told apart: the classifier's curve is the method's, the nearest-mean curve gets `` (NME)``.

    Parameters
    ----------
    tool : a key of `FORMS`
    path : of the log
    text : what it holds

    Raises
    ------
    InputError
        The log holds no run, a run lacks a setting, or it ended before its last session.
    """
    form = FORMS[tool]
    runs: list[tuple[int, list[tuple[str, str]]]] = []
    for number, line in enumerate(text.splitlines(), 1):
        found = LINE.match(line)
        if found is None:
            continue
        file, said = found.groups()
        if file == "trainer.py" and said.startswith(form.start):
            runs.append((number, []))
        if runs:
            runs[-1][1].append((file, said))
    if not runs:
        raise InputError(
            f"{path}: no run of {tool} in it: no line '[trainer.py] => {form.start}...'. Name a file of its logs/, or "
            f"the toolbox that wrote this one (--from {', '.join(FORMS)} or mammoth)."
        )
    for number, lines in runs:
        yield from _run(f"{path}, line {number}", form, number, lines)


def _run(where: str, form: Form, number: int, lines: list[tuple[str, str]]) -> Iterator[Measured]:
    told = [said for file, said in lines if file == "trainer.py"]
    pairs = (SETTING.match(said) for said in told)
    args: dict[str, str] = {}
    for pair in pairs:
        if pair is not None:
            args.setdefault(*pair.groups())
    if missing := [key for key in (*NEEDED, form.backbone) if key not in args]:
        raise InputError(
            f"{where}: the run says nothing of {', '.join(missing)}. Part of the log is gone, or it is of another "
            f"tool: name the whole file, and the toolbox (--from {', '.join(FORMS)} or mammoth)."
        )
    orders = [said for file, said in lines if file == "data_manager.py" and ORDER.match(said)]
    if not orders:
        raise InputError(f"{where}: no class order in the run. Name the whole log.")
    if len(orders) > 1:
        raise InputError(
            f"{where}: the run has {len(orders)} class orders, one for each of its domains. Streams of "
            "classes are read."
        )
    if not (
        args["init_cls"].isdecimal() and args["increment"].isdecimal() and int(args["increment"])
    ):
        raise InputError(f"{where}: init_cls and increment of the run are no numbers of classes.")
    classes = orders[0].count(",") + 1
    init, increment = int(args["init_cls"]), int(args["increment"])
    sessions = 1 + -(-max(classes - init, 0) // increment)
    method = args["model_name"]
    if (
        args.get("use_RP") == "True"
    ):  # RanPAC's own code calls its method by the network's training: ncm, adapter
        method += f" (RP, M = {args.get('M')})"
    for head, start in form.curves.items():
        curves = [said.removeprefix(start) for said in told if said.startswith(start)]
        if not curves:
            if head == "CNN":
                raise InputError(
                    f"{where}: no session of the run has ended; nothing is known of it."
                )
            continue
        if CURVE.fullmatch(curves[-1]) is None:
            raise InputError(f"{where}: '{start}{curves[-1]}' is no list of accuracies.")
        numbers = re.findall(NUMBER, curves[-1])
        if len(numbers) != sessions:
            raise InputError(
                f"{where}: the run has {len(numbers)} of {sessions} sessions ({classes} classes, {init} first, then "
                f"{increment}). It was ended early: let it end, or take it out of the log."
            )
        lost = [found[2] for said in told if (found := FORGETTING.match(said)) and found[1] == head]
        yield Measured(
            line=number,
            method=method + ("" if head == "CNN" else " (NME)"),
            dataset=args["dataset"],
            backbone=args[form.backbone],
            seed=args["seed"],
            averaging="samples",
            accuracies=[float(n) for n in numbers],
            forgetting=float(lost[-1]) if lost else None,
        )
