"""Arguments that several commands share, and how their text is read."""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparcl.algebra.backend import DEVICES
from sparcl.base.errors import InputError
from sparcl.protocol import order_file


def assignment(text: str) -> tuple[str, Any]:
    """Read NAME=VALUE; the value is a JSON scalar, else text."""
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    try:
        scalar = json.loads(value)
    except (ValueError, RecursionError):
        return name, value
    return name, value if isinstance(scalar, (dict, list)) else scalar


def natural(text: str) -> int:
    """Read a whole number, 0 or more, that fits 32 bits as the number of a class order does."""
    if not (text.isascii() and text.isdecimal() and len(text) <= 10 and int(text) < 2**32):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0 to {2**32 - 1}")
    return int(text)


def positive(text: str) -> int:
    """Read a whole number of at least 1, as :func:`natural`."""
    if not (number := natural(text)):
        raise argparse.ArgumentTypeError("0 is not a whole number from 1")
    return number


def sessions(path: Path) -> list[NDArray[np.int64]]:
    """Return the classes of each session of an order file, as the workflow writes them.

    Raises
    ------
    InputError
        When the file holds something else, or other sessions than its hash says.
    """
    if not path.is_file():
        raise InputError(f"{path}: no such order file. Correct the path.")
    return order_file.numbered(order_file.read(path))


def add_set(parser: argparse.ArgumentParser, what: str, example: str) -> None:
    """Add --set."""
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        type=assignment,
        metavar="NAME=VALUE",
        help=f"{what} of the method, as often as needed: --set {example}",
    )


def add_raw(parser: argparse.ArgumentParser) -> None:
    """Add --raw."""
    parser.add_argument(
        "--raw",
        action="store_true",
        help="take features as they are; by default each is divided by its norm",
    )


def add_device(parser: argparse.ArgumentParser) -> None:
    """Add --device."""
    parser.add_argument(
        "--device",
        choices=DEVICES,
        default="cpu",
        help="where to compute: cpu (default), cuda, auto (cuda where there is a card), or torch-cpu, the code of "
        "cuda without a card. Models are the same to rounding and go from one to the other.",
    )


def add_features(parser: argparse.ArgumentParser) -> None:
    """Add --features."""
    parser.add_argument(
        "--features",
        nargs="+",
        type=Path,
        required=True,
        metavar="FILE.h5",
        help="feature files of one backbone; their classes are matched by name",
    )


def add_out(
    parser: argparse.ArgumentParser,
    file: str = "MODEL.npz",
    what: str = "where the model is written",
) -> None:
    """Add --out."""
    parser.add_argument("--out", type=Path, required=True, metavar=file, help=what)
