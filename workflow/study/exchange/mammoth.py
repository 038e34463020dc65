"""mammoth: its result files (aimagelab/mammoth: utils/loggers.py, utils/metrics.py, datasets/utils/).

A run is a line of ``results/class-il/<dataset>/<model>/logs.pyd``: a Python dict of its arguments and of accuracies
in percent, ``accuracy_<j>_task<t>`` of task j after task t and ``accmean_task<t>``, their mean over tasks, both from 1.
Class c becomes class ``class_order[c]`` and tasks take classes in ascending order, so that ``class_order`` is the
inverse of this project's orders.
"""

import ast
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from sparcl.base.errors import InputError
from sparcl.base.files import write_text
from study.exchange.elsewhere import Measured
from study.exchange.outcome import Outcome

SETTING = "class-il"

# --- out -----------------------------------------------------------------------------------------


def line(outcome: Outcome, dataset: str) -> dict[str, Any]:
    """Return a run as the dict of a line; what records lack (forward transfer) is None."""
    a = outcome.matrix
    args: dict[str, Any] = {
        "dataset": dataset,
        "model": outcome.names["method"],
        "backbone": outcome.names["backbone"],
        "seed": outcome.names["order"],
        "notes": f"{outcome.names['suite']}, seed {outcome.names['seed']}",
        "hyper": dict(outcome.names["hyper"]),
    }
    for t in range(len(a)):
        args[f"accmean_task{t + 1}"] = float(a[t, : t + 1].mean())
    for t in range(len(a)):
        for j in range(t + 1):
            args[f"accuracy_{j + 1}_task{t + 1}"] = float(a[t, j])
    old = slice(0, len(a) - 1)
    first, last, best = np.diag(a)[old], a[-1][old], np.nanmax(a, axis=0)[old]
    many = len(a) > 1
    args["forward_transfer"] = None
    args["backward_transfer"] = float((last - first).mean()) if many else None
    args["forgetting"] = float((best - last).mean()) if many else None
    return args


def stream_of(sessions: list[list[int]]) -> dict[str, list[int]]:
    """Return ``class_order``, the new number of each class, and ``n_classes_per_task`` of a stream."""
    order = [label for part in sessions for label in part]
    return {
        "class_order": np.argsort(order).tolist(),
        "n_classes_per_task": [len(part) for part in sessions],
    }


def write(outcomes: list[Outcome], dataset: str, folder: Path) -> list[Path]:
    """Write the results of runs where mammoth has them, and the streams; return the paths."""
    lines: dict[Path, list[str]] = {}
    streams: dict[Path, dict[str, list[int]]] = {}
    for outcome in outcomes:
        model = outcome.names["method"]
        log = folder / "results" / SETTING / dataset / model / "logs.pyd"
        lines.setdefault(log, []).append(f"{line(outcome, dataset)}\n")
        name = f"{outcome.names['suite']}-{dataset}-{outcome.names['order']}.json"
        streams[folder / "orders" / name] = stream_of(outcome.sessions)
    for path, texts in lines.items():
        write_text(path, "".join(texts))
    for path, content in streams.items():
        write_text(path, json.dumps(content) + "\n")
    return [*lines, *streams]


# --- in ------------------------------------------------------------------------------------------

MEAN = re.compile(r"accmean_task([1-9][0-9]*)")


def read(path: Path, text: str) -> Iterator[Measured]:
    """Yield the runs of a result file; nothing in it is executed.

    Raises
    ------
    InputError
        A line is no dict of a run, accuracies are missing or out of range, tasks were left out, or the folder is of
        another setting than class-il.
    """
    parts = path.absolute().parts
    for other in ("task-il", "domain-il", "general-continual"):
        if other in parts:
            raise InputError(
                f"{path}: results of the setting {other}, which say nothing of class-incremental learning. Name the "
                f"file under {SETTING}."
            )
    if not text.strip():
        raise InputError(f"{path}: empty. mammoth writes a run when it ends.")
    for number, row in enumerate(text.splitlines(), 1):
        if row.strip():
            yield _run(path, number, row)


def _run(path: Path, number: int, row: str) -> Measured:
    where = f"{path}, line {number}"
    args = _parsed(where, row)
    tasks = sorted(int(found[1]) for key in args if (found := MEAN.fullmatch(key)))
    if not tasks or tasks != [*range(1, len(tasks) + 1)]:
        raise InputError(
            f"{where}: accmean_task is there for {tasks or 'no task'}. A run has one for each task, from 1."
        )
    if args.get("stop_after") is not None:
        raise InputError(
            f"{where}: the run was stopped on purpose after some tasks (stop_after). Take it out of the file."
        )
    accuracies = [_number(where, key, args[key], 0) for key in map("accmean_task{}".format, tasks)]
    lost = args.get("forgetting")
    return Measured(
        line=number,
        method=str(args.get("model") or path.absolute().parent.name),
        dataset=str(args.get("dataset") or path.absolute().parent.parent.name),
        backbone=str(args.get("backbone") or ""),
        seed="" if args.get("seed") is None else str(args["seed"]),
        averaging="tasks",
        accuracies=accuracies,
        forgetting=None if lost is None else _number(where, "forgetting", lost),
    )


def _parsed(where: str, row: str) -> dict[str, Any]:
    """Return numbers and texts of a dict's text; other values as they are written."""
    tree: ast.expr | None = None
    with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
        tree = ast.parse(row.strip(), mode="eval").body
    if not isinstance(tree, ast.Dict):
        raise InputError(
            f"{where}: not the dict of a run. Name a file logs.pyd as mammoth wrote it."
        )
    return {
        key.value: _value(value)
        for key, value in zip(tree.keys, tree.values, strict=True)
        if isinstance(key, ast.Constant) and isinstance(key.value, str)
    }


def _value(node: ast.expr) -> Any:
    if isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords:
        node = node.args[0] if ast.unparse(node.func) in ("np.float64", "np.float32") else node
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError):
        return ast.unparse(node)


def _number(where: str, key: str, value: Any, least: float = -100) -> float:
    """Return a number of percent, or of points."""
    if type(value) not in (int, float) or not least <= value <= 100:
        raise InputError(
            f"{where}: {key} is {value!r}, no number from {least:g} to 100. The run failed, or the line is damaged."
        )
    return float(value)
