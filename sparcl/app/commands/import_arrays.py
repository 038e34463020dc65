"""import: make a data set from arrays."""

import argparse
from collections.abc import Iterator

from sparcl.app import importing
from sparcl.app.arguments import Argument, argument, command, out, saved
from sparcl.base.errors import InputError

SHARE = 0.2  # of the samples, for testing
HELPS = {
    "features": "(n, d), float16 or float32",
    "labels": "(n,), whole numbers or text",
    "ids": "(n,), default: hash and row",
}


def share(text: str) -> float:
    """Read a number between 0 and 1."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number between 0 and 1")
    return value


def _files(name: str, what: str, required: bool) -> Argument:
    """Return an argument that names the files of one array."""
    return saved(f"--{name}", "FILE", nargs="+", default=[], required=required, help=what)


@command(
    *("import", "make a data set from arrays"),
    *(_files(name, what, name != "ids") for name, what in HELPS.items()),
    *(_files(f"test-{name}", f"{name} of test samples", False) for name in HELPS),
    argument("--label-column", metavar="NAME", help="column of --labels; default label"),
    argument(
        "--split-column",
        metavar="NAME",
        help="column of --labels or --features with train or test; default split",
    ),
    argument(
        "--test-share",
        type=share,
        metavar="SHARE",
        help=f"fraction of the samples that is drawn for testing if no test samples are given; default {SHARE}",
    ),
    argument("--float32", action="store_true", help="round features of other types to float32"),
    out("FOLDER", "a new folder, data/features/<data set>/<network>", dest="folder"),
)
def import_arrays(chosen: argparse.Namespace) -> Iterator[str]:
    """Make feature files from features and labels in npy, npz, pt, safetensors, csv or parquet files.

    An npy file is read in blocks, other files are read into memory.
    """
    dataset, _ = importing.check_out(chosen.folder)
    tests = importing.Files(chosen.test_features, chosen.test_labels, chosen.test_ids)
    if any(tests) and not all(tests[:2]):
        raise InputError("Test samples need both --test-features and --test-labels.")
    ways = ("test_share", "test_features", "split_column")
    given = [f"--{name.replace('_', '-')}" for name in ways if getattr(chosen, name)]
    if len(given) > 1:
        raise InputError(f"{' and '.join(given)} both choose the test samples. Leave out one.")
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
    yield f"{chosen.folder}: {(~test).sum()} training and {test.sum()} test samples of {len(names)} classes"
    yield "Block for the data sets of a study:"
    yield f"{dataset}: {{features: file, path: {chosen.folder}}}"
