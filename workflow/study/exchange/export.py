"""export: runs, streams and features in the file forms of other toolboxes."""

import argparse
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from sparcl.app.arguments import argument, command, out, saved
from sparcl.base.errors import InputError, OutputError
from sparcl.base.files import unwritable
from study.exchange import features, mammoth, pilot
from study.exchange.outcome import Outcome

WRITERS = {"pilot": pilot.write, "mammoth": mammoth.write}


@command(
    *("export", "write runs and features in the file forms of other toolboxes"),
    argument("--to", choices=tuple(WRITERS), required=True),
    saved("--records", "RUN.json", nargs="+", default=[], help="of results/runs"),
    argument(
        "--features",
        nargs=2,
        type=Path,
        metavar=("TRAIN.h5", "TEST.h5"),
        help="both splits of a data set",
    ),
    argument(
        "--dataset", metavar="NAME", help="what the toolbox calls the data set; default: as here"
    ),
    out("FOLDER", "a new folder", dest="folder"),
)
def export(chosen: argparse.Namespace) -> Iterator[str]:
    """Write the streams and accuracies of run records as LAMDA-PILOT or mammoth do, and feature files as arrays.

    docs/exchange.md says which file is what.
    """
    if not chosen.records and chosen.features is None:
        raise InputError("Nothing says what to export: give --records, --features, or both.")
    if chosen.folder.exists() or chosen.folder.is_symlink():
        raise OutputError(f"--out {chosen.folder} exists and stays as it is. Name a new folder.")
    if chosen.dataset is not None and Path(chosen.dataset).name != chosen.dataset:
        raise InputError(f"--dataset {chosen.dataset!r} names a folder. Give a name alone.")
    named: dict[str, list[Outcome]] = {}
    for outcome in map(Outcome.read, chosen.records):
        named.setdefault(chosen.dataset or outcome.names["dataset"], []).append(outcome)
    # The folder gets its name when all is in it, so that a failure leaves nothing in the way of the next try.
    folder, written = chosen.folder, []
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=folder.parent, prefix=".") as temporary:
            unfinished = Path(temporary, folder.name)
            if chosen.features is not None:
                train, test = chosen.features
                written.append(unfinished / "features.npz")
                features.write(train, test, written[-1])
            for name, of_name in named.items():
                written += WRITERS[chosen.to](of_name, name, unfinished)
            unfinished.rename(folder)
    except OSError as error:
        raise unwritable(folder, error, "nothing is left of this try") from error
    yield from (str(folder / path.relative_to(unfinished)) for path in written)
