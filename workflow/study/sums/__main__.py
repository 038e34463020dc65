"""``python -m study.sums sums|merge-sums|sweep|cut``: sums of feature files, and what follows from them."""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from sparcl.app import arguments, cli
from sparcl.app.arguments import argument, command, out, saved
from sparcl.app.counted import check_once
from sparcl.app.outputs import check_out
from sparcl.base.errors import InputError, OutputError
from sparcl.base.files import write_json
from sparcl.features import layout, store
from sparcl.parts.core import Core
from sparcl.protocol import stream
from study.images import shards
from study.loop import metrics
from study.sums import merging, sweep
from study.sums.sums_file import SumsFile

SAYS = "Sum feature files by class, and sweep class orders and settings. docs/command-line.md has examples."


@command(
    *("sums", "sum feature files by class"),
    *(arguments.FEATURES, arguments.RAW),
    saved(
        *("--order-file", "FILE.json"),
        help="keep second moments per session of this class order instead of per class: less memory, and no other "
        "order can be computed",
    ),
    out("SUMS.npz", "where the sums are written"),
)
def sums(chosen: argparse.Namespace) -> Iterator[str]:
    """Compute count, sum and second moments of each class of feature files, read in blocks.

    They take at most 4 d (d + 1) bytes per class, 236 MB for 100 classes of 768 features. `sweep` needs nothing else.
    """
    sessions = None if chosen.order_file is None else arguments.sessions(chosen.order_file)
    total = merging.merge_files(chosen.features, not chosen.raw, sessions)
    total.save(chosen.out)
    yield total.described(chosen.out)


@command(
    *("merge-sums", "add sums of shards"),
    saved("sums", "SUMS.npz", nargs="+"),
    out("SUMS.npz", "where the total is written"),
)
def merge_sums(chosen: argparse.Namespace) -> Iterator[str]:
    """Add sums of the shards of one data set. The result does not depend on their order.

    The total and one shard are in memory.
    """
    check_once(chosen.sums)
    total = merging.merge_saved(chosen.sums)
    total.save(chosen.out)
    yield total.described(chosen.out)


@command(
    *("sweep", "run class orders, ridges and thresholds from sums"),
    saved("sums", "SUMS.npz"),
    *(arguments.FEATURES, arguments.DEVICE, arguments.SET),
    argument("--method", required=True, metavar="ID", help="acil, sparcl or sparcl-alg1"),
    argument("--ridge", nargs="+", type=float, required=True, metavar="RIDGE"),
    argument("--tau", nargs="+", type=float, metavar="TAU"),
    arguments.ORDER | {"name": "--orders", "nargs": "+", "required": True},
    arguments.SESSIONS | {"required": True},
    out("FILE.json", "also write the counts of every session", required=False),
)
def run_sweep(chosen: argparse.Namespace) -> Iterator[str]:
    """Print the accuracy of every class order, ridge and tau, from sums of the training samples.

    A_bar is the mean over sessions and A_last the final accuracy, in percent of the test samples.
    """
    summed = SumsFile.load(chosen.sums)
    Phi, y = summed.rows(chosen.features)
    grid = dict(chosen.set)
    if grid.keys() & {"ridge", "tau"}:
        raise InputError(
            "--set is for hyper-parameters that all settings share: give ridges and taus by --ridge and --tau."
        )
    grid |= {"ridge": chosen.ridge}
    grid |= {} if chosen.tau is None else {"tau": chosen.tau}
    placed = sweep.placed(summed.sums, Phi, chosen.device)
    records = []
    yield f"{'order':>6}  {'ridge':>8}  {'tau':>6}  {'A_bar':>7}  {'A_last':>7}"
    for number in chosen.orders:
        order = stream.class_order(number, summed.sums.classes)
        sessions = stream.split_sessions(order, chosen.sessions)
        fitted = sweep.learner(chosen.method, grid, chosen.device)
        core = fitted.core
        counts = np.bincount(y, minlength=len(order))[order]
        born = np.repeat(np.arange(len(sessions)), [len(classes) for classes in sessions])
        for (i, j), correct in sweep.correct(*placed, y, sessions, fitted).items():
            A_t = metrics.session_accuracy(correct, counts, born)
            ridge = fitted.rule.ridges[i]
            tau = core.taus[j] if isinstance(core, Core) else None
            shown = "-" if tau is None else f"{tau:g}"
            yield f"{number:>6}  {ridge:>8g}  {shown:>6}  {A_t.mean():>7.2f}  {A_t[-1]:>7.2f}"
            records.append(
                {"order": number, "ridge": ridge, "tau": tau, "A_t": A_t.tolist()}
                | {"correct": correct.sum(axis=1).tolist()}
            )
    if chosen.out is not None:
        write_json(chosen.out, records)


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
    return cli.main(given, (sums, merge_sums, run_sweep, cut), "study.sums", SAYS)


if __name__ == "__main__":
    sys.exit(main())
