"""import: make a data set of arrays."""

import argparse
from pathlib import Path
from typing import Any

from sparcl.app import importing
from sparcl.base.errors import InputError

SHARE = 0.2  # of the samples, for testing


def add(commands: Any) -> None:
    """Declare the command and its arguments."""
    parser = commands.add_parser(
        "import",
        help="make a data set of arrays",
        description="Make feature files of features and labels in npy, npz, pt, safetensors, csv or parquet files. An "
        "npy file is read in blocks, others are read into memory.",
    )
    samples = {"features": "(n, d), float16 or float32", "labels": "(n,), whole numbers or text"}
    helps = samples | {"ids": "(n,), default: hash and row"}
    helps |= {f"test-{name}": f"{name} of test samples" for name in helps}
    for name, what in helps.items():
        parser.add_argument(
            f"--{name}",
            nargs="+",
            type=Path,
            default=[],
            required=name in samples,
            metavar="FILE",
            help=what,
        )
    columns = {"label": "of --labels", "split": "of --labels or --features: train or test"}
    for name, what in columns.items():
        parser.add_argument(f"--{name}-column", metavar="NAME", help=f"{what}; default {name}")
    parser.add_argument(
        "--test-share",
        type=share,
        metavar="SHARE",
        help=f"of the samples, drawn for testing where no test samples are named; default {SHARE}",
    )
    parser.add_argument(
        "--float32", action="store_true", help="round features of other types to float32"
    )
    parser.add_argument(
        "--out",
        dest="folder",
        type=Path,
        required=True,
        metavar="FOLDER",
        help="a new folder, data/features/<data set>/<network>",
    )
    parser.set_defaults(run=run, out=None)


def share(text: str) -> float:
    """Read a number between 0 and 1."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number between 0 and 1")
    return value


def run(chosen: argparse.Namespace) -> None:
    """Read arrays and write the two feature files of a data set."""
    dataset, _ = importing.check_out(chosen.folder)
    tests = importing.Files(chosen.test_features, chosen.test_labels, chosen.test_ids)
    if any(tests) and not all(tests[:2]):
        raise InputError("Test samples are named by both --test-features and --test-labels.")
    ways = ("test_share", "test_features", "split_column")
    given = [f"--{name.replace('_', '-')}" for name in ways if getattr(chosen, name)]
    if len(given) > 1:
        raise InputError(f"{' and '.join(given)} both say what is for testing. Leave out one.")
    stated = {"labels": chosen.label_column, "split": chosen.split_column}
    columns = {name: column for name, column in stated.items() if column}
    files = importing.Files(chosen.features, chosen.labels, chosen.ids)
    samples = importing.load([files, tests] if any(tests) else [files], chosen.float32, columns)
    test = samples.group == 1 if any(tests) else None
    if test is None and chosen.test_share is None:
        test = importing.stated(files, columns)
    if test is None:
        test = importing.cut(samples, chosen.test_share or SHARE)
    names = importing.write(chosen.folder, samples, test)
    print(
        f"{chosen.folder}: {(~test).sum()} training and {test.sum()} test samples of {len(names)} classes\n"
        "Its block among the data sets of a study:\n"
        f"{dataset}: {{features: file, path: {chosen.folder}}}"
    )
