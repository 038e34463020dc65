"""What a change reruns: the jobs that rest on it, what follows from them, and nothing else."""

import os
from contextlib import ExitStack
from pathlib import Path

import pytest
from copies import TOY, duplicate, edited, outputs, planned, snakemake

from sparcl.features import store

REPORT = {
    "summarise_runs": {""},
    "compare_methods": {""},
    "write_table": {"main"},
    "draw_figure": {"dilution", "drift", "sessions"},
}
EVERY = {"ncm", "acil", "sparcl"}
SELECTED = {"acil", "sparcl"}
RUNS = {"run_method": SELECTED, "select_hyper": SELECTED, **REPORT}
ONE = {"run_method": {"sparcl"}, "select_hyper": {"sparcl"}, **REPORT}
DRAWN = {"write_table": {"main"}, "draw_figure": {"dilution", "drift", "sessions"}}
# Changes of files, each where the text stands first, and the jobs that they make due; of several changes, all of them.
CHANGES = {
    "nothing that this suite has": (
        [
            ("sparcl/methods/loranpac.py", "", "# changed\n"),
            ("workflow/study/parts/row_weights.py", "", "# changed\n"),
            ("sparcl/methods/table.py", '"width": 10000', '"width": 9999'),
            ("workflow/study/images/extract.py", "", "# changed\n"),
            ("workflow/study/pipeline/plan.py", "", "# changed\n"),
            ("sparcl/app/classifier.py", "", "# changed\n"),
            ("params.yaml", "selection:", "# changed\nselection:"),
            ("params.yaml", "batch_size: 16 ", "batch_size: 32 "),
            ("params.yaml", "move: 0.9 ", "move: 0.8 "),
            ("params.yaml", "middle: [0.01,", "middle: [0.02,"),
            ("config/methods.yaml", "ranpac, width: 10000}", "ranpac, width: 9999}"),
            ("config/suites/sweep.yaml", "sessions: 10", "sessions: 5"),
        ],
        {},
    ),
    "a method's file": (
        [("sparcl/methods/ncm.py", "", "# changed\n")],
        {"run_method": {"ncm"}, **REPORT},
    ),
    "a method's row": ([("sparcl/methods/table.py", '"warmup": 1', '"warmup": 2')], ONE),
    "a method's settings": (
        [("config/methods.yaml", "{relative: true, refresh: 1}", "{relative: true, refresh: 2}")],
        ONE,
    ),
    "what it selects": (
        [
            (
                "config/methods.yaml",
                "{relative: true, refresh: 1}\n  select: [ridge, tau]",
                "{relative: true, refresh: 1, tau: 0.5}\n  select: [ridge]",
            )
        ],
        ONE,
    ),
    "candidates of tau": ([("params.yaml", "tau: [0.3, 0.5,", "tau: [0.4, 0.5,")], ONE),
    "the algebra": ([("sparcl/algebra/ridge.py", "", "# changed\n")], RUNS),
    "the experiment": (
        [("workflow/study/loop/experiment.py", "", "# changed\n")],
        {
            **REPORT,
            "make_order": {""},  # reads its inputs by the module that runs read theirs by
            "run_method": EVERY,
            "select_hyper": SELECTED,
            "trace_spectrum": {""},
            "summarise_spectra": {""},
            "draw_figure": {"dilution", "drift", "sessions"},
        },
    ),
    "the summary": (
        [("workflow/study/report/summary.py", "", "# changed\n")],
        {"summarise_runs": {""}, "summarise_spectra": {""}, "compare_methods": {""}, **DRAWN},
    ),
    "a figure's code and settings, and a caption": (
        [
            ("figures/drift.py", "", "# changed\n"),
            ("config/figures.yaml", "  session: 2 ", "  session: 3 "),
            ("config/tables.yaml", "Suite {suite}: frozen", "Changed. Suite {suite}: frozen"),
        ],
        {"draw_figure": {"drift", "dilution"}, "write_table": {"main"}},
    ),
    "a label": (
        [("config/methods.yaml", "label: Nearest class mean", "label: Nearest mean")],
        DRAWN,
    ),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_change_reruns_what_rests_on_it(toy: Path, what: str) -> None:
    changes, expected = CHANGES[what]
    with ExitStack() as stack:
        for file, old, new in changes:
            stack.enter_context(edited(toy / file, (old, new)))
        assert planned(toy) == expected


def test_another_class_order_computes_that_order_alone(toy: Path, tmp_path: Path) -> None:
    """Its records are new; those of the other orders stand, until they are forced."""
    folder = duplicate(toy, tmp_path / "more")

    def times() -> dict[str, int]:
        kept = (folder / "results/finished").rglob("*.json")
        return {f"{path.parent.name}/{path.name}": path.stat().st_mtime_ns for path in kept}

    def new(*forced: str) -> set[str]:
        before = times()
        run = snakemake(folder, "--cores", "2", "runs", *TOY[1:], *forced)
        assert run.returncode == 0, run.stdout
        return {
            name.partition(".")[0] for name, time in times().items() if before.get(name) != time
        }

    pairs = ("[[1993, 0], [1994, 1]]", "[[1993, 0], [1994, 1], [7, 7]]")
    with edited(folder / "config/suites/toy.yaml", pairs):
        assert new() == {f"{method}/7-7" for method in EVERY}
        made = {path.name for path in (folder / "results/runs").rglob("ncm/*.json")}
        assert made == {"1993-0.json", "1994-1.json", "7-7.json"}
        forced = new("--forcerun", "results/runs/toy/cub-50/vit-s14-focus/ncm")
        assert forced == {"ncm/1993-0", "ncm/1994-1", "ncm/7-7"}


def test_touch_alone_reruns_nothing(toy: Path) -> None:
    touched = 0
    for top in ("config", "data", "figures", "sparcl", "workflow", "Snakefile", "params.yaml"):
        for path in [toy / top, *(toy / top).rglob("*")]:
            os.utime(path, follow_symlinks=False)
            touched += 1
    assert touched > 50
    assert planned(toy) == {}


def test_features_that_keep_an_old_time_rerun_what_rests_on_them(toy: Path, tmp_path: Path) -> None:
    """As ``cp -p`` or ``rsync -a`` leave them: the hash in the records counts."""
    folder = duplicate(toy, tmp_path / "replaced")
    features = folder / "data/features/cub-50/vit-s14-focus"
    data = store.read(features / "train.h5")
    (features / "train.h5").unlink()  # a link to the bundled file
    meta = {key: value for key, value in data.meta.items() if not key.endswith("_sha256")}
    meta |= {key: data.meta[key] for key in ("weights_sha256", "split_sha256") if key in data.meta}
    arrays = (data.features[:, ::-1], data.labels, [name.decode() for name in data.ids])
    store.write(features / "train.h5", *arrays, data.class_names, meta)
    for name in ("train.h5", "train.json"):
        os.utime(features / name, (1e9, 1e9))
    expected = {
        "verify_features": {""},
        "make_order": {""},
        "trace_spectrum": {""},
        "summarise_spectra": {""},
    }
    assert planned(folder) == {**RUNS, "run_method": EVERY, **expected}
    assert planned(folder) == {**RUNS, "run_method": EVERY, **expected}


def test_a_changed_method_really_reruns_alone(toy: Path, tmp_path: Path) -> None:
    """Not planned but run: the other methods' records are neither rewritten nor different."""
    folder = duplicate(toy, tmp_path / "changed")
    records = sorted((folder / "results/runs").rglob("*.json"))
    times = {path: path.stat().st_mtime_ns for path in records}
    before = outputs(folder)
    runs = ("--cores", "2", "runs", *TOY[1:])
    settings = folder / "config/methods.yaml"
    with edited(settings, ("{relative: true, refresh: 1}", "{relative: true, refresh: 0}")):
        run = snakemake(folder, *runs)
        assert run.returncode == 0, run.stdout
        written = {path.parent.name for path in records if path.stat().st_mtime_ns != times[path]}
        assert written == {"sparcl"}
        assert outputs(folder) != before
    run = snakemake(folder, *runs)
    assert run.returncode == 0, run.stdout
    assert outputs(folder) == before
