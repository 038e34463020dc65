"""``python -m sparcl``, which is the command ``sparcl``: see :mod:`sparcl.app.cli`."""

import sys

from sparcl.app.cli import main

if __name__ == "__main__":
    sys.exit(main())
