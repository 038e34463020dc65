"""inspect: look at a saved model or at sums."""

import argparse
import shutil
import sys
from pathlib import Path
from typing import Any

from sparcl.app import arguments, chart, inspecting
from sparcl.app.counted import check_once
from sparcl.base.errors import InputError


def add(commands: Any) -> None:
    """Declare the command and its arguments."""
    parser = commands.add_parser(
        "inspect",
        help="look at a saved model or at sums",
        description="Print classes, sums, spectrum and core of a model or of sums, and what the paper's diagnostic "
        "protocol makes of them where sessions can be told apart: models with --since, sums with --order.",
    )
    parser.add_argument("model", type=Path, metavar="FILE.npz", help="of fit or sums")
    parser.add_argument(
        "--since",
        nargs="+",
        type=Path,
        default=[],
        metavar="MODEL.npz",
        help="the same model after earlier sessions",
    )
    parser.add_argument(
        "--order", type=arguments.natural, metavar="NUMBER", help="of sums: a class order"
    )
    parser.add_argument(
        "--sessions", type=arguments.positive, metavar="T", help="sessions of --order"
    )
    parser.add_argument("--ridge", type=float, default=inspecting.RIDGE, help="of the protocol")
    parser.add_argument("--tau", type=float, default=inspecting.TAU, help="of the protocol")
    parser.add_argument(
        "--html",
        dest="out",
        type=Path,
        metavar="FILE.html",
        help="write one page with the plots too; needs the extra plots",
    )
    parser.set_defaults(run=run, option="--html")


def run(chosen: argparse.Namespace) -> None:
    """Print what a file holds, and write a page about it."""
    if (chosen.order is None) != (chosen.sessions is None):
        raise InputError("--order and --sessions go together: a class order is cut into sessions.")
    check_once([chosen.model, *chosen.since])
    order = None if chosen.order is None else (chosen.order, chosen.sessions)
    found = inspecting.inspect(chosen.model, chosen.since, order, chosen.ridge, chosen.tau)
    width = shutil.get_terminal_size().columns
    print(chart.text(found, width, chart.blocks(sys.stdout.encoding)))
    if chosen.out is not None:
        from sparcl.app import page

        page.write(chosen.out, found, chosen.model.name)
        print(f"\n{chosen.out}: the same with plots")
