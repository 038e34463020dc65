"""``python -m sparcl``: see :mod:`sparcl.cli`."""

import sys

from sparcl.cli import main

if __name__ == "__main__":
    sys.exit(main())
