"""cut: cut a feature file into shards."""

import argparse
from pathlib import Path
from typing import Any

from sparcl.app import arguments
from sparcl.features import shards


def add(commands: Any) -> None:
    """Declare the command and its arguments."""
    parser = commands.add_parser(
        "cut",
        help="cut a feature file into shards",
        description="Cut a feature file into shards of consecutive samples and write a view of them, which is read as "
        "the file is. The manifest stays the same.",
    )
    parser.add_argument("features", type=Path, metavar="FILE.h5")
    parser.add_argument("--shards", type=arguments.positive, required=True, metavar="N")
    arguments.add_out(
        parser, "VIEW.h5", "where the view is written; the shards get a folder beside it"
    )
    parser.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> None:
    """Cut a feature file into shards and a view of them."""
    manifest = shards.cut(chosen.features, chosen.out, chosen.shards)
    print(
        f"{chosen.out}: {manifest['n']} samples in {chosen.shards} shards, {chosen.out.with_suffix('.shards')}"
    )
