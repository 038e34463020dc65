"""Commands by their names, whichever command line has them: that of the package or one of the study."""

from collections.abc import Callable, Sequence

from sparcl.app import cli
from study.exchange import __main__ as exchange
from study.sums import __main__ as sums

Write = Callable[..., str]  # writes a file and returns its name
Refused = Callable[..., str]  # runs a command that must fail and returns its message

STUDY = {"export": exchange, "import-log": exchange, "cut": sums}
STUDY |= {"sums": sums, "merge-sums": sums, "sweep": sums}


def main(command: Sequence[str]) -> int:
    """Run a command; its exit code."""
    return STUDY.get(command[0], cli).main(command)
