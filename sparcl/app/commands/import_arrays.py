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
    for name, what in samples.items():
        parser.add_argument(f"--{name}", type=Path, required=True, metavar="FILE", help=what)
    parser.add_argument("--ids", type=Path, metavar="FILE", help="(n,), default: hash and row")
    for name in (*samples, "ids"):
        parser.add_argument(f"--test-{name}", type=Path, metavar="FILE", help="of test samples")
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
    tests = chosen.test_features, chosen.test_labels
    if any(tests) != all(tests) or (chosen.test_ids and not all(tests)):
        raise InputError("Test samples are named by both --test-features and --test-labels.")
    if all(tests) and chosen.test_share is not None:
        raise InputError(
            "--test-share draws test samples, --test-features names them. Leave out one."
        )
    samples = importing.load(chosen.features, chosen.labels, chosen.ids, chosen.float32)
    if all(tests):
        train, test = samples, importing.load(*tests, chosen.test_ids, chosen.float32)
    else:
        train, test = importing.cut(samples, chosen.test_share or SHARE)
    names = importing.write(chosen.folder, train, test)
    print(
        f"{chosen.folder}: {len(train.labels)} training and {len(test.labels)} test samples of {len(names)} classes\n"
        "Its block in config/datasets.yaml:\n"
        f"{dataset}: {{features: file, path: {chosen.folder}}}"
    )
