"""merge-sums: add up sums of shards."""

import argparse
from pathlib import Path
from typing import Any

from sparcl.app import arguments, merging
from sparcl.app.counted import check_once


def add(commands: Any) -> None:
    """Declare the command and its arguments."""
    parser = commands.add_parser(
        "merge-sums",
        help="add up sums of shards",
        description="Add up sums of the shards of one data set, in one order whatever order they are given in. The "
        "total and one shard are held in memory.",
    )
    parser.add_argument("sums", nargs="+", type=Path, metavar="SUMS.npz")
    arguments.add_out(parser, "SUMS.npz", "where the total is written")
    parser.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> None:
    """Add up sums of shards and save the total."""
    check_once(chosen.sums)
    total = merging.merge_saved(chosen.sums)
    total.save(chosen.out)
    print(total.described(chosen.out))
