"""The command line: bring arrays in; fit, evaluate, inspect, merge and use learners."""

import argparse
import io
import logging
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sparcl import __version__
from sparcl.app.arguments import Parser
from sparcl.app.commands import import_arrays, models, pictures
from sparcl.app.outputs import check_out
from sparcl.base.errors import SkippedError, SparclError
from sparcl.base.terminal import Formatter, printable

COMMANDS = (
    import_arrays.import_arrays,
    *(models.fit, models.evaluate, models.predict, models.inspect, models.merge),
    *(models.forget, pictures.label, pictures.learn),
)
SAYS = (
    "Class-incremental learning on features of a frozen network: import arrays, fit and evaluate methods, label "
    "images. docs/command-line.md has examples."
)
INPUTS = (
    *("features", "against", "ids", "model", "models", "since"),
    *("sums", "order_file", "logs", "images", "weights"),
)
BAD_INPUT = 2  # exit code, as argparse's own
SKIPPED = 1


def main(
    arguments: Sequence[str] | None = None,
    commands: Sequence[Any] = COMMANDS,
    prog: str = "sparcl",
    says: str = SAYS,
) -> int:
    """Run one of ``commands``; 0, or with a message on the standard error 2, or 1 where the rest was answered.

    A command yields the lines that it says; they are printed here, and no name in them steers the terminal.
    """
    for output in (sys.stdout, sys.stderr):
        if isinstance(output, io.TextIOWrapper):  # a terminal may lack the letters of a class name
            output.reconfigure(errors="backslashreplace")
    if logging.lastResort is not None:
        logging.lastResort.setFormatter(Formatter())
    chosen = _parser(commands, prog, says).parse_args(arguments)
    try:
        if chosen.out is not None:
            check_out(chosen.out, _inputs(chosen), getattr(chosen, "option", "--out"))
        for line in chosen.run(chosen):
            print(printable(line), flush=True)
        return 0
    except (SparclError, OSError) as error:
        code = SKIPPED if isinstance(error, SkippedError) else BAD_INPUT
        said = f"{type(error).__name__}: {error}"
    except MemoryError as error:
        code = BAD_INPUT
        said = f"InputError: not enough memory ({error}). Take a smaller width, fewer features or a larger machine."
    print(printable(said), file=sys.stderr)
    return code


def _inputs(chosen: argparse.Namespace) -> list[Path]:
    """Return what a command reads and must not replace; `fit` may append in place."""
    given: list[Any] = [getattr(chosen, name, None) or [] for name in INPUTS]
    return [path for paths in given for path in (paths if type(paths) is list else [paths])]


def _parser(commands: Sequence[Any] = COMMANDS, prog: str = "sparcl", says: str = SAYS) -> Parser:
    parser = Parser(prog=prog, description=says)
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    found = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for command in commands:
        command.add(found)
    return parser
