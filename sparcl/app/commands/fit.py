"""fit: learn feature files, session after session, and save the model."""

import argparse
from pathlib import Path
from typing import Any

from sparcl import methods
from sparcl.app import arguments, fitting
from sparcl.app.fitting import SessionPlan
from sparcl.app.model import Model, terms
from sparcl.app.outputs import one_at_a_time
from sparcl.base.errors import InputError
from sparcl.protocol import stream


def add(commands: Any) -> None:
    """Declare the command and its arguments."""
    parser = commands.add_parser(
        "fit",
        help="fit a method on feature files",
        description="Fit a method on feature files and save it. Without an order all samples are one session. "
        "Methods whose state is a sum over samples, such as acil and ncm, read the files block by block; the others "
        "hold a session's rows in memory.",
    )
    parser.add_argument("--method", metavar="ID", help=f"one of {', '.join(methods.names())}")
    arguments.add_set(parser, "a hyper-parameter", "ridge=0.1")
    arguments.add_features(parser)
    order = parser.add_mutually_exclusive_group()
    order.add_argument(
        "--order",
        type=arguments.natural,
        metavar="NUMBER",
        help="a class-incremental stream in the class order of this number (the field's is 1993)",
    )
    order.add_argument(
        "--order-file",
        type=Path,
        metavar="FILE.json",
        help='the classes of each session: {"sessions": [[3, 1], [0, 2]]}',
    )
    parser.add_argument(
        "--sessions", type=arguments.positive, metavar="T", help="sessions of --order"
    )
    arguments.add_raw(parser)
    arguments.add_device(parser)
    parser.add_argument(
        "--append",
        type=Path,
        metavar="MODEL.npz",
        help="go on with a saved model; its method and settings hold",
    )
    arguments.add_out(parser)
    parser.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> None:
    """Fit a new or a saved model on feature files and save it."""
    if chosen.method is None and chosen.append is None:
        raise InputError("Nothing says what to fit: give --method, or --append with a saved model.")
    if (chosen.order is None) != (chosen.sessions is None):
        raise InputError("--order and --sessions go together: a class order is cut into sessions.")
    with one_at_a_time(chosen.append, chosen.out):
        model = _started(chosen)
        model.move(chosen.device)
        for samples, classes in fitting.fit(model, chosen.features, _plan(chosen)):
            print(f"session {model.learner.session}: {samples} samples of {classes} classes")
        model.save(chosen.out)
    print(model.described(chosen.out))


def _started(chosen: argparse.Namespace) -> Model:
    """Return the model that is fitted: a new one, or the one that is appended to."""
    hyper = dict(chosen.set)
    if chosen.append is None:
        return Model.build(chosen.method, hyper, not chosen.raw)
    model = Model.load(chosen.append)
    method = chosen.method or model.terms["method"]
    model.agree(terms(method, methods.checked(method, hyper), not chosen.raw), "command line")
    return model


def _plan(chosen: argparse.Namespace) -> SessionPlan | None:
    """Return how the classes are cut into sessions; None for one session."""
    if chosen.order_file is not None:
        sessions = arguments.sessions(chosen.order_file)
        return lambda classes: sessions
    if chosen.order is not None:
        return lambda classes: stream.split_sessions(
            stream.class_order(chosen.order, classes), chosen.sessions
        )
    return None
