"""``python -m study.exchange export|import-log``: runs to other toolboxes' files, and their logs to numbers."""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from sparcl.app import cli
from sparcl.app.arguments import argument, command, out, saved
from sparcl.base.errors import InputError, OutputError
from sparcl.base.files import unwritable
from study.exchange import elsewhere, features, mammoth, pilot
from study.exchange.outcome import Outcome

SAYS = "Exchange streams, results and features with LAMDA-PILOT and mammoth. docs/exchange.md has examples."
TOOLS = {"pilot": pilot, "mammoth": mammoth}


@command(
    *("export", "write runs and features in the file forms of other toolboxes"),
    argument("--to", choices=tuple(TOOLS), required=True),
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
                written += TOOLS[chosen.to].write(of_name, name, unfinished)
            unfinished.rename(folder)
    except OSError as error:
        raise unwritable(folder, error, "nothing is left of this try") from error
    yield from (str(folder / path.relative_to(unfinished)) for path in written)


@command(
    *("import-log", "read logs of other toolboxes as numbers measured elsewhere"),
    saved("logs", "LOG", nargs="+"),
    argument("--from", dest="tool", choices=tuple(TOOLS), required=True),
    out("FILE.csv", "made, or added to"),
)
def import_log(chosen: argparse.Namespace) -> Iterator[str]:
    """Add the accuracies in logs of LAMDA-PILOT or mammoth to a CSV of such numbers.

    Nothing here computes with them. A run that is there already is left out.
    """
    found: list[elsewhere.Row] = []
    for path in chosen.logs:
        content = path.read_bytes()
        try:
            text = content.decode("utf-8")
        except UnicodeDecodeError as error:
            raise InputError(f"{path}: no text (byte {error.start}). Name a log.") from error
        found += elsewhere.rows(chosen.tool, path, content, TOOLS[chosen.tool].read(path, text))
    new = elsewhere.add(chosen.out, found)
    yield f"{'measured elsewhere':<28}{'data set':<20}{'T':>4}{'over':>10}{'A_bar':>8}{'A_last':>8}"
    means, lasts = ([r for r in found if r["measure"] == name] for name in ("A_bar", "A_last"))
    for mean, last in zip(means, lasts, strict=True):
        name = f"{mean['method']} ({mean['tool']}, {mean['seed']})"
        yield (
            f"{name:<28}{mean['dataset']:<20}{mean['sessions']:>4}{mean['averaging']:>10}"
            f"{float(mean['value']):>8.2f}{float(last['value']):>8.2f}"
        )
    yield f"{chosen.out}: {new} numbers added, {len(found) - new} were there already"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; 0, or 2 with a message on the standard error."""
    return cli.main(arguments, (export, import_log), "study.exchange", SAYS)


if __name__ == "__main__":
    sys.exit(main())
