"""``python -m study.images cut``: a feature file in shards."""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from sparcl.app import arguments, cli
from sparcl.app.arguments import argument, command, out, saved
from sparcl.app.outputs import check_out
from sparcl.base.errors import OutputError
from sparcl.features import layout, store
from study.images import shards

SAYS = "Cut feature files into shards. docs/command-line.md has an example."


@command(
    *("cut", "cut a feature file into shards"),
    saved("source", "FILE.h5"),
    argument("--shards", type=arguments.positive, required=True, metavar="N"),
    out("VIEW.h5", "where the view is written; the shards are in a folder beside it"),
)
def cut(chosen: argparse.Namespace) -> Iterator[str]:
    """Cut a feature file into shards of consecutive samples and write a view, which is read like the file.

    The manifest stays the same.
    """
    check_view(chosen.out, chosen.source)
    n = shards.cut(chosen.source, chosen.out, chosen.shards)["n"]
    folder = chosen.out.with_suffix(".shards")
    yield f"{chosen.out}: {n} samples in {chosen.shards} shards, {folder}"


def check_view(view: Path, source: Path) -> None:
    """Raise OutputError where a cut would replace what it reads: a file may be cut in place, its parts are left alone.

    Parameters
    ----------
    view : where the view is written, and its manifest beside it
    source : the feature file that is cut
    """
    manifest = layout.manifest_path(view)
    if manifest == view:
        raise OutputError(f"--out {view} is the name of a manifest. Name a file that ends in .h5.")
    parts = store.sources(source) if layout.is_hdf5(source) else []
    in_place = view.exists() and source.exists() and view.samefile(source)
    for path in (view, manifest):
        check_out(path, parts[2:] if in_place else parts)


def main(given: Sequence[str] | None = None) -> int:
    """Run one command; 0, or 2 with a message on the standard error."""
    return cli.main(given, (cut,), "study.images", SAYS)


if __name__ == "__main__":
    sys.exit(main())
