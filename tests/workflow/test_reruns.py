"""What a change reruns: the jobs that rest on it, what follows from them, and nothing else."""

import os
from contextlib import ExitStack
from pathlib import Path

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
    "a method's file, for the one that solves nothing, and the algebra, for the others": (
        [
            ("sparcl/methods/ncm.py", "", "# changed\n"),
            ("sparcl/algebra/ridge.py", "", "# changed\n"),
        ],
        {**RUNS, "run_method": EVERY},
    ),
    "a method's row": ([("sparcl/methods/table.py", '"warmup": 1', '"warmup": 2')], ONE),
    "candidates of tau": ([("params.yaml", "tau: [0.3, 0.5,", "tau: [0.4, 0.5,")], ONE),
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


def test_a_change_reruns_what_rests_on_it(toy: Path) -> None:
    """And a new time of every file reruns nothing; tests/pipeline has what each job is told."""
    tops = ("config", "data", "figures", "sparcl", "workflow", "Snakefile", "params.yaml")
    files = [path for top in tops for path in (toy / top, *(toy / top).rglob("*"))]
    assert len(files) > 50
    for path in files:
        os.utime(path, follow_symlinks=False)
    for what, (changes, expected) in CHANGES.items():
        with ExitStack() as stack:
            for file, old, new in changes:
                stack.enter_context(edited(toy / file, (old, new)))
            assert planned(toy) == expected, what


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


def test_what_is_due_really_reruns_alone(toy: Path, tmp_path: Path) -> None:
    """A changed method and a forced one compute all class orders, the third a new one alone; and back again."""
    folder = duplicate(toy, tmp_path / "changed")
    before = outputs(folder)

    def times() -> dict[str, int]:
        kept = (folder / "results/finished").rglob("*.json")
        records = [path for path in kept if path.parent.name in EVERY]
        return {f"{path.parent.name}/{path.name}": path.stat().st_mtime_ns for path in records}

    def runs(*forced: str) -> set[str]:
        earlier = times()
        run = snakemake(folder, "--cores", "2", "runs", *TOY[1:], *forced)
        assert run.returncode == 0, run.stdout
        new = {name for name, time in times().items() if earlier.get(name) != time}
        return {name.partition(".")[0] for name in new}

    settings, suite = folder / "config/methods.yaml", folder / "config/suites/toy.yaml"
    method = "{relative: true, refresh: 1}", "{relative: true, refresh: 0}"
    pairs = "[[1993, 0], [1994, 1]]", "[[1993, 0], [1994, 1], [7, 7]]"
    orders = ("1993-0", "1994-1", "7-7")
    with edited(settings, method), edited(suite, pairs):
        made = runs("--forcerun", "results/runs/toy/cub-50/vit-s14-focus/ncm")
        assert made == {f"{name}/{order}" for name in ("ncm", "sparcl") for order in orders} | {
            "acil/7-7"
        }
        records = {path.name for path in (folder / "results/runs").rglob("acil/*.json")}
        assert records == {f"{order}.json" for order in orders}
        assert outputs(folder) != before
    assert {name.partition("/")[0] for name in runs()} == {"sparcl"}
    (folder / "results/orders/toy/cub-50/7.json").unlink()
    assert outputs(folder) == before
