"""The command line: fit, evaluate and merge learners on feature files, cut those, and sweep sums of classes."""

import argparse
import sys
from collections.abc import Sequence

from sparcl.app.commands import cut, evaluate, fit, merge, merge_sums, sums, sweep
from sparcl.base.errors import SparclError

COMMANDS = (fit, evaluate, merge, cut, sums, merge_sums, sweep)
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


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m sparcl",
        description="Fit, evaluate and merge learners on cached features, or sweep class orders and settings from "
        "sums. docs/command-line.md has examples.",
    )
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for command in COMMANDS:
        command.add(commands)
    return parser
