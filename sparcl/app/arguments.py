"""Commands of the command line: how they are declared, the arguments that several share, and how text is read."""

import argparse
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from inspect import cleandoc
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from sparcl.algebra.backend import DEVICES
from sparcl.base.checks import LARGEST
from sparcl.base.errors import InputError
from sparcl.base.terminal import printable
from sparcl.protocol.stream import order_hash

ORDER_FILE = 'Expected {"sessions": [[3, 1], [0, 2]]} as .json: classes by position from 0 in the class list.'
Argument = dict[str, Any]  # the name, and what argparse's ``add_argument`` takes


class Parser(argparse.ArgumentParser):
    """A parser of arguments whose messages no argument steers."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong, and exit."""
        super().error(printable(message))


def argument(name: str, **settings: Any) -> Argument:
    """Return an argument of a command."""
    return {"name": name} | settings


@dataclass(frozen=True)
class Command:
    """A function that does the work of a command and yields the lines that it says; its docstring describes it.

    Attributes
    ----------
    name, what : its name, and its line among the others
    arguments, run : what it takes, and the function
    """

    name: str
    what: str
    arguments: tuple[Argument, ...]
    run: Callable[[argparse.Namespace], Iterator[str]]

    def add(self, commands: Any) -> None:
        """Declare the command and its arguments to argparse."""
        description = cleandoc(self.run.__doc__ or "")
        parser = commands.add_parser(self.name, help=self.what, description=description)
        option = next((one["name"] for one in self.arguments if one.get("dest") == "out"), "--out")
        parser.set_defaults(run=self.run, out=None, option=option)
        for one in self.arguments:
            parser.add_argument(one["name"], **{k: v for k, v in one.items() if k != "name"})


def command(name: str, what: str, *arguments: Argument) -> Callable[[Any], Command]:
    """Make a function a :class:`Command`."""
    return lambda run: Command(name, what, arguments, run)


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


def lines(path: Path) -> list[str]:
    """Return the lines of a text file; InputError where it is no UTF-8."""
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: no UTF-8 (byte {error.start}). Save it as UTF-8.") from error


def sessions(path: Path) -> list[NDArray[np.int64]]:
    """Return the classes of each session of an order file, by position from 0 in the class list.

    Raises
    ------
    InputError
        When the file holds something else, or other sessions than its hash says.
    """
    if not path.is_file():
        raise InputError(f"{path}: no such order file. Correct the path.")
    try:
        content = json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path}: missing or damaged ({error}). {ORDER_FILE}") from error
    found = content.get("sessions") if isinstance(content, dict) else None
    if not (isinstance(found, list) and found and all(map(_is_session, found))):
        raise InputError(f"{path}: not a class order. {ORDER_FILE}")
    if content.get("sha256", own := order_hash(found)) != own:
        raise InputError(
            f"{path}: its sessions are not those of its sha256. Usual cause: it was edited by hand, or the sessions "
            "are stated by samples. Take the key sha256 out of an order of your own."
        )
    return [np.array(part, dtype=np.int64) for part in found]


def _is_session(value: Any) -> bool:
    """Tell whether a value is a list of whole numbers that an array holds, at least one."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(type(label) is int and abs(label) <= LARGEST for label in value)
    )


def check_order(chosen: argparse.Namespace) -> None:
    """Raise InputError where --order or --sessions is given without the other."""
    if (chosen.order is None) != (chosen.sessions is None):
        raise InputError("--order and --sessions go together: a class order is cut into sessions.")


FEATURES = argument(
    "--features",
    nargs="+",
    type=Path,
    required=True,
    metavar="FILE.h5",
    help="feature files of one backbone; their classes are matched by name",
)
SET = argument(
    "--set",
    action="append",
    default=[],
    type=assignment,
    metavar="NAME=VALUE",
    help="a hyper-parameter of the method, such as --set dtype=float32; may be repeated",
)
ORDER = argument(
    "--order", type=natural, metavar="NUMBER", help="number of a class order; the field uses 1993"
)
SESSIONS = argument("--sessions", type=positive, metavar="T", help="number of sessions")
RAW = argument(
    "--raw",
    action="store_true",
    help="do not normalise; by default each feature vector is divided by its norm",
)
DEVICE = argument(
    "--device",
    choices=DEVICES,
    default="cpu",
    help="cpu (default), cuda, auto (cuda if present), or torch-cpu, the code of cuda on the CPU. Models agree to "
    "rounding and can change device.",
)


def out(metavar: str, what: str, **settings: Any) -> Argument:
    """Return the argument --out."""
    return argument("--out", type=Path, metavar=metavar, help=what, **{"required": True} | settings)


def saved(name: str, metavar: str, **settings: Any) -> Argument:
    """Return an argument that names files."""
    return argument(name, type=Path, metavar=metavar, **settings)
