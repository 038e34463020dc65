"""The command line: bring arrays in; fit, evaluate, inspect, merge and use learners; cut and sweep."""

import argparse
import io
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from sparcl import __version__
from sparcl.app.commands import (
    cut,
    evaluate,
    fit,
    import_arrays,
    inspect,
    merge,
    merge_sums,
    predict,
    sums,
    sweep,
)
from sparcl.app.outputs import check_out
from sparcl.base.errors import SparclError

COMMANDS = (
    import_arrays,
    fit,
    evaluate,
    predict,
    inspect,
    merge,
    cut,
    sums,
    merge_sums,
    sweep,
)
SAYS = (
    "Import arrays; fit, evaluate, inspect, merge and use learners on cached features; sweep class orders and settings "
    "from sums. docs/command-line.md has examples."
)
BAD_INPUT = 2  # exit code, as argparse's own


def main(
    arguments: Sequence[str] | None = None,
    commands: Sequence[ModuleType] = COMMANDS,
    prog: str = "sparcl",
    says: str = SAYS,
) -> int:
    """Run one of ``commands``; 0, or 2 with a message on the standard error."""
    for output in (sys.stdout, sys.stderr):
        if isinstance(
            output, io.TextIOWrapper
        ):  # class names hold letters that a terminal may lack
            output.reconfigure(errors="backslashreplace")
    chosen = _parser(commands, prog, says).parse_args(arguments)
    try:
        if chosen.out is not None:
            check_out(chosen.out, _inputs(chosen), getattr(chosen, "option", "--out"))
        chosen.run(chosen)
    except (SparclError, OSError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return BAD_INPUT
    except MemoryError as error:
        print(
            f"InputError: not enough memory ({error}). Take a smaller width or fewer features, or a machine with more.",
            file=sys.stderr,
        )
        return BAD_INPUT
    return 0


def _inputs(chosen: argparse.Namespace) -> list[Path]:
    """Return what a command reads and must not replace: `fit` may append in place, and `cut` may cut in place."""
    names = {"features", "model", "models", "since", "sums", "order_file", "logs"}
    if chosen.run is cut.run:
        names -= {"features"}
    given = [getattr(chosen, name, None) for name in sorted(names)]
    return [
        path for paths in given if paths for path in (paths if type(paths) is list else [paths])
    ]


def _parser(commands: Sequence[ModuleType], prog: str, says: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=prog, description=says)
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    found = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for command in commands:
        command.add(found)
    return parser
