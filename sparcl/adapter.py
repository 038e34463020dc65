"""What every workflow script does around its one library call: log, and end with a clear error."""

import logging
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout

from sparcl.errors import SparclError


@contextmanager
def logged(log: Sequence[str]) -> Iterator[None]:
    """Send the block's output to the rule's log; on an error, say it on the terminal too.

    A SparclError is the user's to mend: its message is shown without a traceback, which the log
    keeps.  Any other exception passes with everything.
    """
    terminal = sys.stderr
    with open(log[0], "w", encoding="utf-8", buffering=1) as file:
        with redirect_stdout(file), redirect_stderr(file):
            logging.basicConfig(stream=file, level=logging.INFO, force=True)
            try:
                yield
                return
            except SparclError as error:
                traceback.print_exc(file=file)
                message = f"{type(error).__name__}: {error}"
            except Exception:
                traceback.print_exc(file=file)
                traceback.print_exc(file=terminal)
                message = f"unexpected error, see {log[0]}"
    print(message, file=terminal)
    sys.exit(1)
