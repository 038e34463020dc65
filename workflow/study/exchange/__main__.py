"""``python -m study.exchange export|import-log``: runs to other toolboxes' files, and their logs to numbers."""

import sys
from collections.abc import Sequence

from sparcl.app import cli
from study.exchange import export, import_log

SAYS = "Exchange streams, results and features with LAMDA-PILOT and mammoth. docs/exchange.md has examples."


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; 0, or 2 with a message on the standard error."""
    return cli.main(arguments, (export.export, import_log.import_log), "study.exchange", SAYS)


if __name__ == "__main__":
    sys.exit(main())
