"""merge: add up models that were fitted on different samples."""

import argparse
from pathlib import Path
from typing import Any

from sparcl.app import arguments
from sparcl.app.counted import check_once
from sparcl.app.model import Model
from sparcl.base.errors import InputError


def add(commands: Any) -> None:
    """Declare the command and its arguments."""
    parser = commands.add_parser(
        "merge",
        help="add up models that were fitted on different samples",
        description="Add up models of one method and the same settings, fitted on different samples: the result is "
        "that of one fit on all of them. Only methods whose state is a sum can be merged.",
    )
    parser.add_argument("models", nargs="+", type=Path, metavar="MODEL.npz")
    arguments.add_device(parser)
    arguments.add_out(parser)
    parser.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> None:
    """Add models up and save the sum."""
    if len(chosen.models) < 2:
        raise InputError("A sum needs two models or more.")
    check_once(chosen.models)
    (_, first), *others = [(str(path), Model.load(path)) for path in chosen.models]
    first.move(chosen.device)
    first.merge(others)
    first.save(chosen.out)
    print(first.described(chosen.out))
