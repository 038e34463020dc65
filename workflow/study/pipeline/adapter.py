"""The frame of every workflow script around its one library call: log, seal, and end with a clear error."""

import fcntl
import hashlib
import logging
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import Any, NoReturn, TextIO

from sparcl.base.errors import SparclError
from sparcl.base.files import unwritable, write_text
from sparcl.base.terminal import Formatter, printable, printable_lines

# What the jobs of a run have said on the terminal, and the logs of those that ended with an error: a line each.
# Emptied when a run begins (workflow/rules/guard.smk); without it, every job speaks for itself.
SAID = Path(".snakemake/said")
SEALS = ".sha256"  # of a job's outputs, beside its log, as sha256sum writes and reads them
Main = Callable[[Any], None]


def script(*, sealed: bool = False) -> Callable[[Main], Main]:
    """Return a decorator for the function of a workflow script, which is called where Snakemake has started the script.

    Parameters
    ----------
    sealed : whether the hashes of the outputs are kept (:func:`logged`)
    """

    def started(main: Main) -> Main:
        if main.__module__ == "__main__":
            snakemake: Any = sys.modules["__main__"].__dict__["snakemake"]
            with logged(snakemake.log, snakemake.output if sealed else ()):
                main(snakemake)
        return main

    return started


@contextmanager
def logged(log: Sequence[str], sealed: Sequence[str] = ()) -> Iterator[None]:
    """Send the block's output to the rule's log; errors and this project's warnings reach the terminal too, once a run.

    A SparclError is the user's to fix, and so are a full disk and too little memory: the message
    is shown without a traceback, which the log keeps.  Any other exception passes with everything.

    Parameters
    ----------
    log : the rule's log, first of the list
    sealed : outputs whose hashes are kept beside the log: the next plan compares them (`study.pipeline.outside`)
    """
    place = Path(log[0])
    try:
        file = open(place, "w", encoding="utf-8", buffering=1)
    except OSError as error:
        refused = unwritable(place, error, "this job has not begun")
        sys.exit(printable(f"OutputError: {refused}"))
    try:
        with redirect_stdout(file), redirect_stderr(file):
            with _handled(file):
                yield
        if sealed:
            write_text(place.with_suffix(SEALS), "".join(map(seal, sealed)))
    except (SparclError, OSError) as error:
        _end(file, f"{type(error).__name__}: {error}")
    except MemoryError as error:
        _end(
            file,
            f"MemoryError: {error or 'no room'}. A job needs more memory than it may have: run fewer jobs at a time "
            "(--cores), or raise the limit. Jobs that are done stay done.",
        )
    except Exception as error:
        _end(file, f"unexpected error ({type(error).__name__}: {error})")
    finally:
        with suppress(OSError):  # a full disk takes no log either; the outputs are what counts
            file.close()


def seal(path: str | Path) -> str:
    """Return the line that sha256sum writes for a file."""
    return f"{hashlib.sha256(Path(path).read_bytes()).hexdigest()}  {path}\n"


class _Once(logging.StreamHandler[TextIO]):
    """Says a warning on the terminal unless another job of this run has said it."""

    def emit(self, record: logging.LogRecord) -> None:
        if _first(self.format(record)):
            super().emit(record)


@contextmanager
def _handled(log: TextIO) -> Iterator[None]:
    """Write every record to a log alone, and say on the terminal what this project warns of; then undo both."""
    root, terminal = logging.getLogger(), _Once(sys.__stderr__)
    terminal.setLevel(logging.WARNING)
    terminal.setFormatter(Formatter())
    projects = [logging.getLogger(name) for name in ("sparcl", "study")]
    before, level = root.handlers[:], root.level
    root.handlers[:] = [logging.StreamHandler(log)]
    root.handlers[0].setFormatter(logging.Formatter(logging.BASIC_FORMAT))
    root.setLevel(logging.INFO)
    for project in projects:
        project.addHandler(terminal)
    try:
        yield
    finally:
        root.handlers[:] = before
        root.setLevel(level)
        for project in projects:
            project.removeHandler(terminal)


def _first(text: str, log: str = "") -> bool:
    """Tell whether no job of this run has said a text; note that one has now, and a log that ends with it."""
    digest = hashlib.sha256(text.encode(errors="replace")).hexdigest()
    try:
        with SAID.open("r+", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            known = digest in file.read().split("\n")
            file.write(f"{digest}\n{log}\n")
    except OSError:
        return True
    return not known


def _end(log: TextIO, message: str) -> NoReturn:
    """Say the message and where the log is, keep the traceback there if the disk takes it, and end the job."""
    with suppress(OSError):
        traceback.print_exc(file=log)
    if _first(message, log.name):
        # in one piece, since other jobs write here too; no line but the first looks like a message of its own
        said = printable_lines(message).replace("\n", "\n  ")
        sys.stderr.write(f"{said}\nIts log: {printable(log.name)}\n")
    sys.exit(1)
