"""evaluate: count what a saved model classifies correctly."""

import argparse
from pathlib import Path
from typing import Any

from sparcl.app import arguments, evaluation
from sparcl.app.model import Model
from sparcl.base.files import write_json


def add(commands: Any) -> None:
    """Declare the command and its arguments."""
    parser = commands.add_parser(
        "evaluate",
        help="count what a saved model classifies correctly",
        description="Print a model's accuracy on feature files, over samples and over classes. Samples of classes "
        "that it has not learned are left out.",
    )
    parser.add_argument("model", type=Path, metavar="MODEL.npz")
    arguments.add_features(parser)
    arguments.add_device(parser)
    parser.add_argument(
        "--out", type=Path, metavar="FILE.json", help="write the counts of every class too"
    )
    parser.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> None:
    """Print a model's accuracy on feature files."""
    model = Model.load(chosen.model)
    model.move(chosen.device)
    result = evaluation.evaluate(model, chosen.features)
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
