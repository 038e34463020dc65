"""What every workflow script does around its one library call: log, and end with a clear error."""

import logging
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import NoReturn, TextIO

from sparcl.base.errors import SparclError
from sparcl.base.files import unwritable
from sparcl.base.terminal import Formatter, printable, printable_lines


@contextmanager
def logged(log: Sequence[str]) -> Iterator[None]:
    """Send the block's output to the rule's log; errors and this project's warnings reach the terminal too.

    A SparclError is the user's to mend, and so are a full disk and too little memory: the message
    is shown without a traceback, which the log keeps.  Any other exception passes with everything.
    """
    try:
        file = open(log[0], "w", encoding="utf-8", buffering=1)
    except OSError as error:
        refused = unwritable(Path(log[0]), error, "this job has not begun")
        sys.exit(printable(f"OutputError: {refused}"))
    try:
        with redirect_stdout(file), redirect_stderr(file):
            logging.basicConfig(stream=file, level=logging.INFO, force=True)
            with _on_terminal():
                yield
    except (SparclError, OSError) as error:
        _end(file, f"{type(error).__name__}: {error}")
    except MemoryError as error:
        _end(
            file,
            f"MemoryError: {error or 'no room'}. The job of {log[0]} needs more memory than it may have: run fewer "
            "jobs at a time (--cores), or raise the limit. Jobs that are done stay done.",
        )
    except Exception:
        traceback.print_exc()
        _end(file, f"unexpected error, see {log[0]}")
    finally:
        with suppress(OSError):  # a full disk takes no log either; the outputs are what counts
            file.close()


@contextmanager
def _on_terminal() -> Iterator[None]:
    """Say on the terminal, beside the log, what this project warns of."""
    terminal = logging.StreamHandler(sys.__stderr__)
    terminal.setLevel(logging.WARNING)
    terminal.setFormatter(Formatter())
    projects = [logging.getLogger(name) for name in ("sparcl", "study")]
    for project in projects:
        project.addHandler(terminal)
    try:
        yield
    finally:
        for project in projects:
            project.removeHandler(terminal)


def _end(log: TextIO, message: str) -> NoReturn:
    """Say the message, keep the traceback in the log if the disk takes it, and end the job."""
    # In one piece: other jobs write to this terminal too; and no line but the first looks like a message of its own.
    sys.stderr.write(printable_lines(message).replace("\n", "\n  ") + "\n")
    with suppress(OSError):
        traceback.print_exc(file=log)
    sys.exit(1)
