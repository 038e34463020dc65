"""import-log: runs of other toolboxes as numbers measured elsewhere."""

import argparse
from collections.abc import Iterator

from sparcl.app.arguments import argument, command, out, saved
from sparcl.base.errors import InputError
from study.exchange import elsewhere, mammoth, pilot

READERS = {"pilot": pilot.read, "mammoth": mammoth.read}


@command(
    *("import-log", "read logs of other toolboxes as numbers measured elsewhere"),
    saved("logs", "LOG", nargs="+"),
    argument("--from", dest="tool", choices=tuple(READERS), required=True),
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
        found += elsewhere.rows(chosen.tool, path, content, READERS[chosen.tool](path, text))
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
