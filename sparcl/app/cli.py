"""The command line: fit, evaluate and merge learners on feature files, cut those, and sweep sums of classes."""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparcl import methods
from sparcl.app import sums
from sparcl.app.model import Model, Split, terms
from sparcl.base.errors import InputError, SparclError
from sparcl.base.files import read_json, write_json
from sparcl.features import shards
from sparcl.protocol import metrics, stream, sweep

BAD_INPUT = 2  # exit code, as argparse's own


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; 0, or 2 with a message on the standard error."""
    chosen = _parser().parse_args(arguments)
    try:
        chosen.run(chosen)
    except (SparclError, OSError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return BAD_INPUT
    return 0


def fit(chosen: argparse.Namespace) -> None:
    """Fit a new or a saved model on feature files and save it."""
    hyper = dict(chosen.set)
    if chosen.method is None and chosen.append is None:
        raise InputError("Nothing says what to fit: give --method, or --append with a saved model.")
    if (chosen.order is None) != (chosen.sessions is None):
        raise InputError("--order and --sessions go together: a class order is cut into sessions.")
    if chosen.append is None:
        model = Model.build(chosen.method, hyper, not chosen.raw)
    else:
        model = Model.load(chosen.append)
        method = chosen.method or model.terms["method"]
        model.agree(terms(method, methods.checked(method, hyper), not chosen.raw), "command line")
    for samples, classes in model.fit(chosen.features, _split(chosen)):
        print(f"session {model.learner.session}: {samples} samples of {classes} classes")
    model.save(chosen.out)
    print(_described(chosen.out, model))


def evaluate(chosen: argparse.Namespace) -> None:
    """Print a model's accuracy on feature files."""
    result = Model.load(chosen.model).evaluate(chosen.features)
    if chosen.out is not None:
        write_json(chosen.out, result)
    counts = (result["correct"], result["samples"])
    rows = [
        ("", "correct", "samples", "accuracy"),
        ("all samples", *map(str, counts), f"{100 * result['accuracy']:.2f} %"),
        ("mean over classes", "", "", f"{100 * result['class_accuracy']:.2f} %"),
    ]
    if result["left_out"]:
        rows.append(("of classes not learned", "", str(result["left_out"]), ""))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for first, *others in rows:
        cells = [first.ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True)]
        print("  ".join(cells).rstrip())


def merge(chosen: argparse.Namespace) -> None:
    """Add models up and save the sum."""
    if len(chosen.models) < 2:
        raise InputError("A sum needs two models or more.")
    (_, first), *others = [(str(path), Model.load(path)) for path in chosen.models]
    first.merge(others)
    first.save(chosen.out)
    print(_described(chosen.out, first))


def sum_up(chosen: argparse.Namespace) -> None:
    """Sum feature files, class by class or session by session, and save the sums."""
    sessions = None if chosen.order_file is None else _sessions(chosen.order_file)
    _save_sums(chosen.out, sums.merge_files(chosen.features, not chosen.raw, sessions))


def merge_sums(chosen: argparse.Namespace) -> None:
    """Add up sums of shards and save the total."""
    _save_sums(chosen.out, sums.merge_saved(chosen.sums))


def _save_sums(path: Path, total: sums.Sums) -> None:
    total.save(path)
    print(
        f"{path}: {len(total.ids)} samples of {np.count_nonzero(total.sums.counts)} classes, "
        f"{total.sums.d} features"
    )


def cut(chosen: argparse.Namespace) -> None:
    """Cut a feature file into shards and a view of them."""
    manifest = shards.cut(chosen.features, chosen.out, chosen.shards)
    print(
        f"{chosen.out}: {manifest['n']} samples in {chosen.shards} shards, {chosen.out.with_suffix('.shards')}"
    )


def sweep_grid(chosen: argparse.Namespace) -> None:
    """Print the accuracy of every class order, ridge and tau, from sums."""
    summed = sums.Sums.load(chosen.sums)
    Phi, y = summed.rows(chosen.features)
    grid = dict(chosen.set)
    if grid.keys() & {"ridge", "tau"}:
        raise InputError(
            "--set holds what all settings share: give ridges and taus by --ridge and --tau."
        )
    grid |= {"ridge": chosen.ridge}
    grid |= {} if chosen.tau is None else {"tau": chosen.tau}
    records = []
    print(f"{'order':>6}  {'ridge':>8}  {'tau':>6}  {'A_bar':>7}  {'A_last':>7}")
    for number in chosen.orders:
        order = stream.class_order(number, summed.sums.classes)
        sessions = stream.split_sessions(order, chosen.sessions)
        fitted = sweep.learner(chosen.method, grid)
        counts = np.bincount(y, minlength=len(order))[order]
        session = np.repeat(np.arange(len(sessions)), [len(classes) for classes in sessions])
        for (i, j), correct in sweep.correct(summed.sums, Phi, y, sessions, fitted).items():
            A_t = metrics.session_accuracy(correct, counts, session)
            ridge = fitted.rule.grid[i]
            tau = fitted.core.rules()[j].tau if fitted.core else None
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


def _described(path: Path, model: Model) -> str:
    learner = model.learner
    sessions = "1 session" if learner.session == 1 else f"{learner.session} sessions"
    return (
        f"{path}: {model.terms['method']}, {sessions}, {len(learner.classes)} classes, "
        f"{model.terms['features']} features"
    )


def _split(chosen: argparse.Namespace) -> Split | None:
    """Return how the classes are cut into sessions; None for one session."""
    if chosen.order_file is not None:
        sessions = _sessions(chosen.order_file)
        return lambda classes: sessions
    if chosen.order is not None:
        return lambda classes: stream.split_sessions(
            stream.class_order(chosen.order, classes), chosen.sessions
        )
    return None


def _sessions(path: Path) -> list[NDArray[np.int64]]:
    """Read the sessions of an order file, as the workflow writes them."""
    content = read_json(path)
    sessions = content.get("sessions") if isinstance(content, dict) else None
    good = isinstance(sessions, list) and all(
        isinstance(part, list) and part and all(type(label) is int for label in part)
        for part in sessions
    )
    if not good:
        raise InputError(
            f'{path}: not a class order. Expected {{"sessions": [[3, 1], [0, 2]]}}, whole numbers from 0 '
            "that are places in the files' class list."
        )
    return [np.array(part, dtype=np.int64) for part in sessions]


def _assignment(text: str) -> tuple[str, Any]:
    """Read NAME=VALUE; the value is a JSON scalar, else text."""
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    try:
        scalar = json.loads(value)
    except ValueError:
        return name, value
    return name, value if isinstance(scalar, (dict, list)) else scalar


def _whole(text: str) -> int:
    """Read a whole number of at least 0."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number")
    return int(text)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m sparcl",
        description="Fit, evaluate and merge learners on cached features, or sweep class orders and settings from "
        "sums. docs/command-line.md has examples.",
    )
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    adding = (_add_fit, _add_evaluate, _add_merge, _add_cut, _add_sums, _add_merge_sums, _add_sweep)
    for add in adding:
        add(commands)
    return parser


def _add_fit(commands: Any) -> None:
    parser = commands.add_parser(
        "fit",
        help="fit a method on feature files",
        description="Fit a method on feature files and save it. Without an order all samples are one session. "
        "Methods whose state is a sum over samples, such as acil and ncm, read the files block by block; the others "
        "hold a session's rows in memory.",
    )
    parser.add_argument("--method", metavar="ID", help=f"one of {', '.join(methods.names())}")
    _add_set(parser, "a hyper-parameter", "ridge=0.1")
    _add_features(parser)
    order = parser.add_mutually_exclusive_group()
    order.add_argument(
        "--order",
        type=_whole,
        metavar="NUMBER",
        help="a class-incremental stream in the class order of this number (the field's is 1993)",
    )
    order.add_argument(
        "--order-file",
        type=Path,
        metavar="FILE.json",
        help='the classes of each session: {"sessions": [[3, 1], [0, 2]]}',
    )
    parser.add_argument("--sessions", type=_whole, metavar="T", help="sessions of --order")
    _add_raw(parser)
    parser.add_argument(
        "--append",
        type=Path,
        metavar="MODEL.npz",
        help="go on with a saved model; its method and settings hold",
    )
    _add_out(parser)
    parser.set_defaults(run=fit)


def _add_evaluate(commands: Any) -> None:
    parser = commands.add_parser(
        "evaluate",
        help="count what a saved model classifies rightly",
        description="Print a model's accuracy on feature files, over samples and over classes. Samples of classes "
        "that it has not learned are left out.",
    )
    parser.add_argument("model", type=Path, metavar="MODEL.npz")
    _add_features(parser)
    parser.add_argument(
        "--out", type=Path, metavar="FILE.json", help="write the counts of every class too"
    )
    parser.set_defaults(run=evaluate)


def _add_merge(commands: Any) -> None:
    parser = commands.add_parser(
        "merge",
        help="add up models that were fitted on different samples",
        description="Add up models of one method and the same settings, fitted on different samples: the result is "
        "that of one fit on all of them. Only methods whose state is a sum can be merged.",
    )
    parser.add_argument("models", nargs="+", type=Path, metavar="MODEL.npz")
    _add_out(parser)
    parser.set_defaults(run=merge)


def _add_cut(commands: Any) -> None:
    parser = commands.add_parser(
        "cut",
        help="cut a feature file into shards",
        description="Cut a feature file into shards of consecutive samples and write a view of them, which is read as "
        "the file is. The manifest stays the same.",
    )
    parser.add_argument("features", type=Path, metavar="FILE.h5")
    parser.add_argument("--shards", type=_whole, required=True, metavar="N")
    _add_out(parser, "VIEW.h5", "where the view is written; the shards get a folder beside it")
    parser.set_defaults(run=cut)


def _add_sums(commands: Any) -> None:
    parser = commands.add_parser(
        "sums",
        help="sum feature files class by class",
        description="Keep count, sum and second moments of each class of feature files, read block by block: at most "
        "4 d (d + 1) bytes a class, 236 MB for 100 classes of 768 features. `sweep` needs nothing else of them.",
    )
    _add_features(parser)
    _add_raw(parser)
    parser.add_argument(
        "--order-file",
        type=Path,
        metavar="FILE.json",
        help="keep the second moments of each session of this class order in place of each class's: less memory, and "
        "no other order follows",
    )
    _add_out(parser, "SUMS.npz", "where the sums are written")
    parser.set_defaults(run=sum_up)


def _add_merge_sums(commands: Any) -> None:
    parser = commands.add_parser(
        "merge-sums",
        help="add up sums of shards",
        description="Add up sums of the shards of one data set, in one order whatever order they are given in. The "
        "total and one shard are held in memory.",
    )
    parser.add_argument("sums", nargs="+", type=Path, metavar="SUMS.npz")
    _add_out(parser, "SUMS.npz", "where the total is written")
    parser.set_defaults(run=merge_sums)


def _add_sweep(commands: Any) -> None:
    parser = commands.add_parser(
        "sweep",
        help="run class orders, ridges and thresholds from sums",
        description="Print the accuracy of every class order, ridge and tau, from sums of the training samples. "
        "A_bar is the mean over sessions, A_last that after the last, in percent of the test samples.",
    )
    parser.add_argument("sums", type=Path, metavar="SUMS.npz")
    _add_features(parser)
    parser.add_argument("--method", required=True, metavar="ID", help="acil, sparcl or sparcl-alg1")
    parser.add_argument("--ridge", nargs="+", type=float, required=True, metavar="RIDGE")
    parser.add_argument("--tau", nargs="+", type=float, metavar="TAU")
    _add_set(parser, "another hyper-parameter", "refresh=1")
    parser.add_argument(
        "--orders", nargs="+", type=_whole, required=True, metavar="NUMBER", help="class orders"
    )
    parser.add_argument("--sessions", type=_whole, required=True, metavar="T")
    parser.add_argument(
        "--out", type=Path, metavar="FILE.json", help="write the counts of every session too"
    )
    parser.set_defaults(run=sweep_grid)


def _add_set(parser: argparse.ArgumentParser, what: str, example: str) -> None:
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        type=_assignment,
        metavar="NAME=VALUE",
        help=f"{what} of the method, as often as needed: --set {example}",
    )


def _add_raw(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--raw",
        action="store_true",
        help="take features as they are; by default each is divided by its norm",
    )


def _add_features(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--features",
        nargs="+",
        type=Path,
        required=True,
        metavar="FILE.h5",
        help="feature files of one backbone; their classes are matched by name",
    )


def _add_out(
    parser: argparse.ArgumentParser,
    file: str = "MODEL.npz",
    what: str = "where the model is written",
) -> None:
    parser.add_argument("--out", type=Path, required=True, metavar=file, help=what)
