"""The commands about models: fit, evaluate, predict, inspect, merge, forget."""

import argparse
import shutil
from collections.abc import Iterator

from sparcl import methods
from sparcl.app import arguments, chart, forgetting, inspecting, model_files
from sparcl.app.arguments import argument, command, out, saved
from sparcl.app.counted import check_once
from sparcl.app.model import Model, terms
from sparcl.app.outputs import one_at_a_time
from sparcl.base.errors import InputError
from sparcl.base.files import write_json
from sparcl.protocol import stream

MODEL = saved("model", "MODEL.npz")


@command(
    *("fit", "fit a method on feature files"),
    argument("--method", metavar="ID", help=f"one of {', '.join(methods.names())}"),
    *(arguments.SET, arguments.FEATURES, arguments.ORDER, arguments.SESSIONS),
    saved(
        *("--order-file", "FILE.json"),
        help='the classes of each session: {"sessions": [[3, 1], [0, 2]]}',
    ),
    *(arguments.RAW, arguments.DEVICE),
    saved("--append", "MODEL.npz", help="continue a saved model with its method and settings"),
    out("MODEL.npz", "where the model is written"),
)
def fit(chosen: argparse.Namespace) -> Iterator[str]:
    """Fit a method on feature files and save it. Without an order all samples are one session.

    Methods whose state is a sum over samples, such as acil and ncm, read the files in blocks. The others hold the rows
    of a session in memory.
    """
    if chosen.method is None and chosen.append is None:
        raise InputError(
            "There is no method to fit: give --method, or --append with a saved model."
        )
    if chosen.order_file is not None and chosen.order is not None:
        raise InputError("--order-file and --order both state the sessions. Leave out one.")
    arguments.check_order(chosen)
    with one_at_a_time(chosen.append, chosen.out):
        model = _started(chosen)
        model.move(chosen.device)
        for samples, classes in model_files.fit(model, chosen.features, _plan(chosen)):
            yield f"session {model.learner.session}: {samples} samples of {classes} classes"
        model.save(chosen.out)
    yield model.described(chosen.out)


def _started(chosen: argparse.Namespace) -> Model:
    """Return the model that is fitted: a new one, or the one that is appended to."""
    hyper = dict(chosen.set)
    if chosen.append is None:
        return Model.build(chosen.method, hyper, not chosen.raw)
    model = Model.load(chosen.append)
    method = chosen.method or model.terms["method"]
    model.agree(terms(method, methods.checked(method, hyper), not chosen.raw), "command line")
    return model


def _plan(chosen: argparse.Namespace) -> model_files.SessionPlan | None:
    """Return how the classes are cut into sessions; None for one session."""
    if chosen.order_file is not None:
        sessions = arguments.sessions(chosen.order_file)
        return lambda classes: sessions
    if chosen.order is not None:
        return lambda classes: stream.split_sessions(
            stream.class_order(chosen.order, classes), chosen.sessions
        )
    return None


@command(
    *("evaluate", "count the correct predictions of a saved model"),
    *(MODEL, arguments.FEATURES, arguments.DEVICE),
    out("FILE.json", "also write the counts of every class", required=False),
)
def evaluate(chosen: argparse.Namespace) -> Iterator[str]:
    """Print the accuracy of a model on feature files, over samples and over classes.

    Samples of classes that the model has not learned are left out.
    """
    model = Model.load(chosen.model)
    model.move(chosen.device)
    result = model_files.evaluate(model, chosen.features)
    if chosen.out is not None:
        write_json(chosen.out, result)
    wide = 22 if result["left_out"] else 17
    samples = f"{result['correct']:>7}  {result['samples']:>7}  {100 * result['accuracy']:>6.2f} %"
    yield f"{'':<{wide}}  correct  samples  accuracy"
    yield f"{'all samples':<{wide}}  {samples}"
    yield f"{'mean over classes':<{wide}}{100 * result['class_accuracy']:>26.2f} %"
    if result["left_out"]:
        yield f"of classes not learned{result['left_out']:>18}"


@command(
    *("predict", "write the label and the scores of each sample"),
    MODEL,
    arguments.FEATURES
    | {
        "metavar": "FILE",
        "help": "feature files (h5), or features (n, d) in npy, npz, pt, safetensors, csv or parquet files",
    },
    arguments.DEVICE,
    out("FILE.csv", "where labels and scores are written"),
)
def predict(chosen: argparse.Namespace) -> Iterator[str]:
    """Write a CSV with one row per sample: file, id, label, and the score of each class that the model has learned.

    The id of a sample is that of the feature file, or the row number from 0 in an array file.
    """
    model = Model.load(chosen.model)
    model.move(chosen.device)
    samples = model_files.predict(model, chosen.features, chosen.out)
    yield f"{chosen.out}: labels and scores of {samples} samples"


@command(
    *("inspect", "show the spectrum and diagnostics of a model"),
    MODEL,
    saved(
        *("--since", "MODEL.npz"),
        nargs="+",
        default=[],
        help="the same model after earlier sessions",
    ),
    argument("--ridge", type=float, default=inspecting.RIDGE, help="ridge of the protocol"),
    argument("--tau", type=float, default=inspecting.TAU, help="energy threshold of the protocol"),
)
def inspect(chosen: argparse.Namespace) -> Iterator[str]:
    """Print classes, sums, spectrum and core of a model, and the paper's diagnostic protocol.

    The protocol needs separate sessions: --since.
    """
    check_once([chosen.model, *chosen.since])
    found = inspecting.inspect(chosen.model, chosen.since, chosen.ridge, chosen.tau)
    yield from chart.lines(found, shutil.get_terminal_size().columns)


@command(
    *("merge", "add models that were fitted on different samples"),
    saved("models", "MODEL.npz", nargs="+"),
    arguments.DEVICE,
    out("MODEL.npz", "where the model is written"),
)
def merge(chosen: argparse.Namespace) -> Iterator[str]:
    """Add models of one method and the same settings, fitted on different samples.

    The result is that of one fit on all samples. Only methods whose state is a sum can be merged.
    """
    if len(chosen.models) < 2:
        raise InputError("merge needs at least two models.")
    check_once(chosen.models)
    (_, first), *others = [(str(path), Model.load(path)) for path in chosen.models]
    first.move(chosen.device)
    first.merge(others)
    first.save(chosen.out)
    yield first.described(chosen.out)


@command(
    *("forget", "take samples out of a model, as if it never saw them"),
    saved("append", "MODEL.npz", help="of fit, learn or merge"),
    arguments.FEATURES
    | {"help": "feature files with the samples to be forgotten, which the model was fitted on"},
    argument(
        "--classes",
        nargs="+",
        default=[],
        metavar="NAME",
        help="of the files, these classes as a whole",
    ),
    saved("--ids", "FILE.txt", help="of the files, the samples with these ids, one per line"),
    argument(
        "--refit-from-sums",
        action="store_true",
        help="where the state rests on earlier sessions besides sums: fit it again, as if all came in one session",
    ),
    saved(
        *("--against", "FILE.h5"),
        nargs="+",
        help="feature files with the samples that stay: compare with a model fitted on these",
    ),
    arguments.DEVICE,
    out("MODEL.npz", "where the model is written, which may be the one that forgets"),
)
def forget(chosen: argparse.Namespace) -> Iterator[str]:
    """Take all samples of feature files, or those of some classes or ids, out of a model, and their ids too.

    Says how far the model can be from one that never saw them. Nothing is written where this cannot be done.
    """
    ids = arguments.lines(chosen.ids) if chosen.ids else []
    with one_at_a_time(chosen.append, chosen.out):
        model = Model.load(chosen.append)
        model.move(chosen.device)
        told = forgetting.forget(
            model, chosen.features, chosen.classes, ids, chosen.refit_from_sums
        )
        found = forgetting.difference(model, chosen.against) if chosen.against else None
        model.save(chosen.out)
    yield f"forgotten: {told.rows} samples, {len(told.classes)} classes as a whole"
    if chosen.refit_from_sums:
        yield "fitted again from the sums that are left, as if all came in one session"
    for why in told.differs:
        yield f"can differ from a model that never saw them: {why}"
    if told.error is not None:
        yield f"rounding can move the weights by {told.error:.1e} of their norm"
    elif found is None:
        yield "how far rounding can move the scores is not known from the state: --against measures it"
    if found is not None:
        yield f"to a model fitted on the {found.samples} samples that stay, largest difference of"
        if found.weights is not None:
            yield f"  weights {found.weights:.1e} of their norm"
        yield f"  scores  {found.scores:.1e} of the largest"
    yield model.described(chosen.out)
