"""sweep: class orders, ridges and thresholds from sums."""

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from sparcl.app import arguments
from sparcl.app.sums_file import SumsFile
from sparcl.base.errors import InputError
from sparcl.base.files import write_json
from sparcl.parts.core import Core
from sparcl.protocol import metrics, stream, sweep


def add(commands: Any) -> None:
    """Declare the command and its arguments."""
    parser = commands.add_parser(
        "sweep",
        help="run class orders, ridges and thresholds from sums",
        description="Print the accuracy of every class order, ridge and tau, from sums of the training samples. "
        "A_bar is the mean over sessions, A_last that after the last, in percent of the test samples.",
    )
    parser.add_argument("sums", type=Path, metavar="SUMS.npz")
    arguments.add_features(parser)
    arguments.add_device(parser)
    parser.add_argument("--method", required=True, metavar="ID", help="acil, sparcl or sparcl-alg1")
    parser.add_argument("--ridge", nargs="+", type=float, required=True, metavar="RIDGE")
    parser.add_argument("--tau", nargs="+", type=float, metavar="TAU")
    arguments.add_set(parser, "another hyper-parameter", "refresh=1")
    parser.add_argument(
        "--orders",
        nargs="+",
        type=arguments.natural,
        required=True,
        metavar="NUMBER",
        help="class orders",
    )
    parser.add_argument("--sessions", type=arguments.positive, required=True, metavar="T")
    parser.add_argument(
        "--out", type=Path, metavar="FILE.json", help="write the counts of every session too"
    )
    parser.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> None:
    """Print the accuracy of every class order, ridge and tau, from sums."""
    summed = SumsFile.load(chosen.sums)
    Phi, y = summed.rows(chosen.features)
    grid = dict(chosen.set)
    if grid.keys() & {"ridge", "tau"}:
        raise InputError(
            "--set holds what all settings share: give ridges and taus by --ridge and --tau."
        )
    grid |= {"ridge": chosen.ridge}
    grid |= {} if chosen.tau is None else {"tau": chosen.tau}
    placed = sweep.placed(summed.sums, Phi, chosen.device)
    records = []
    print(f"{'order':>6}  {'ridge':>8}  {'tau':>6}  {'A_bar':>7}  {'A_last':>7}")
    for number in chosen.orders:
        order = stream.class_order(number, summed.sums.classes)
        sessions = stream.split_sessions(order, chosen.sessions)
        fitted = sweep.learner(chosen.method, grid, chosen.device)
        core = fitted.core
        counts = np.bincount(y, minlength=len(order))[order]
        session = np.repeat(np.arange(len(sessions)), [len(classes) for classes in sessions])
        for (i, j), correct in sweep.correct(*placed, y, sessions, fitted).items():
            A_t = metrics.session_accuracy(correct, counts, session)
            ridge = fitted.rule.ridges[i]
            tau = core.taus[j] if isinstance(core, Core) else None
            print(
                f"{number:>6}  {ridge:>8g}  {'-' if tau is None else f'{tau:g}':>6}  {A_t.mean():>7.2f}  "
                f"{A_t[-1]:>7.2f}"
            )
            records.append(
                {"order": number, "ridge": ridge, "tau": tau, "A_t": A_t.tolist()}
                | {"correct": correct.sum(axis=1).tolist()}
            )
    if chosen.out is not None:
        write_json(chosen.out, records)
