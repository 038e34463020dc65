"""What a suite has: its records, tables and figures, and what they read and are told."""

from typing import Any

import pytest

from sparcl.base.errors import ConfigError
from study.pipeline import displays, paths, plan, provenance

Settings = dict[str, Any]


def test_a_record_for_each_data_set_backbone_method_and_pair(config: Settings) -> None:
    assert plan.records(config, "toy") == [
        f"results/runs/toy/cub-50/efficientnet-lite0/{method}/{pair}.json"
        for method in ("ncm", "acil", "sparcl")
        for pair in ("1993-0", "1994-1")
    ]
    assert len(plan.records(config, "bundled")) == 4 * 10 * 5


def test_a_method_that_reads_blocks_runs_where_they_are(config: Settings) -> None:
    suite = config["suites"]["fusion"]
    suite["backbones"] = ["efficientnet-lite0", "vit-s14-focus"]
    runs = plan.records(config, "fusion")
    assert any("vit-s14-focus/foal/" in path for path in runs)
    assert not any("efficientnet-lite0/foal/" in path for path in runs)
    assert any("efficientnet-lite0/foal-last/" in path for path in runs)
    told = displays.display(config, "tables", "peers", "fusion")
    assert told["absent"] == ["real-ffb", "foal", "layup"]
    config["tables"]["peers"]["backbone"] = "vit-s14-focus"
    assert displays.display(config, "tables", "peers", "fusion")["absent"] == []


def test_traces_are_of_the_first_orders_and_summarised_where_there_are_some(
    config: Settings,
) -> None:
    config["suites"]["toy"]["pairs"] = [[7, 0], [7, 1], [8, 0]]
    spectra = "results/spectra/toy/cub-50/efficientnet-lite0"
    assert plan.spectrum_traces(config, "toy") == [spectra]
    assert plan.traced(config, "toy") == [{"order": "7"}]
    assert "paper/toy/summary/spectrum.csv" in plan.summary_files(config, "toy")
    config["suites"]["toy"]["traces"] = 0
    assert plan.spectrum_traces(config, "toy") == []
    assert "paper/toy/summary/spectrum.csv" not in plan.summary_files(config, "toy")
    assert "paper/increments/summary/differences.csv" in plan.summary_files(config, "increments")


def test_groups_are_what_suites_say(config: Settings) -> None:
    assert plan.of_group(config, "peers") == ["best", "fusion", "matched", "official"]
    config["suites"]["toy"]["group"] = "peers"
    assert "paper/toy/tables/main.csv" in plan.group_files(config, "peers")


def test_tables_of_the_ablations_leave_no_method_out(config: Settings) -> None:
    for name in ("ablation", "sweep"):
        grouped = [m for group in config["tables"][name]["groups"].values() for m in group]
        assert sorted(grouped) == sorted(config["suites"][name]["methods"])


def test_frames_lie_in_their_suite_in_another_or_in_a_folder() -> None:
    expected = {
        "runs": "paper/toy/summary/runs.csv",
        "mild/runs": "paper/mild/summary/runs.csv",
        "data/published": "data/published.csv",
        "timings/methods": "timings/methods.csv",
        "claims/claims": "paper/claims/claims.csv",
    }
    assert {frame: displays.frame_file(frame, "toy") for frame in expected} == expected


def test_shards_are_inputs_of_what_reads_a_view(config: Settings) -> None:
    names = ("digits", "efficientnet-lite0")
    assert "shards" not in paths.feature_inputs(config, *names, "train")
    config["datasets"]["digits"]["shards"] = 2
    folder = "results/features/digits/efficientnet-lite0"
    inputs = paths.feature_inputs(config, *names, "train", "test")
    assert inputs == {
        "train": f"{folder}/train.h5",
        "test": f"{folder}/test.h5",
        "manifests": [f"{folder}/train.json", f"{folder}/test.json"],
        "shards": [f"{folder}/{s}.shards/{k}-of-2.h5" for s in ("train", "test") for k in (1, 2)],
    }
    second = paths.summed_features(config, *names, "2", "2")
    assert second["features"] == f"{folder}/train.shards/2-of-2.h5"
    for k, n in ((3, 2), (0, 2), (1, 1)):
        with pytest.raises(ConfigError, match=f"No shard {k} of {n}: data set 'digits' has 2"):
            paths.summed_features(config, *names, str(k), str(n))


def test_a_run_waits_for_a_selection_where_its_method_selects(config: Settings) -> None:
    names = {"suite": "toy", "dataset": "cub-50", "backbone": "net"}
    assert paths.selections(config, method="ncm", **names) == []
    selected = "results/selection/toy/cub-50/net/acil"
    assert paths.selections(config, method="acil", **names) == selected


def test_sums_lie_by_scale_and_by_what_is_summed(config: Settings) -> None:
    names = {"dataset": "cub-50", "backbone": "efficientnet-lite0", "method": "acil"}
    config["methods"]["acil"]["sums"] = "classes"
    folder = "results/sums/cub-50/efficientnet-lite0"
    assert paths.sums_files(config, suite="toy", **names) == [f"{folder}/unit/classes.npz"]
    config["methods"]["acil"]["sums"] = "sessions"
    config["suites"]["official"]["pairs"] = [[7, 0], [7, 1], [8, 0]]
    sums = [f"{folder}/raw/official-{order}.npz" for order in (7, 8)]
    assert paths.sums_files(config, suite="official", **names) == sums
    with pytest.raises(ConfigError, match="Suite 'saturated', method 'acil': its key `sums` wants"):
        paths.sums_files(config, suite="saturated", **names)
    orders = "results/orders/long-tail/cub-50/1993.json"
    assert paths.summed_order("cub-50", "long-tail-1993") == {"order": orders}
    assert paths.summed_order("cub-50", "classes") == {}


def test_code_of_a_job_is_what_its_method_rests_on_and_no_plan() -> None:
    """What a change of it reruns: tests/workflow/test_reruns.py."""
    modules = {name: provenance.learner_module({"learner": name}) for name in ("ncm", "ranpac")}
    ncm, ranpac = ({*provenance.script_code("run_method", modules[name])} for name in modules)
    assert ncm - ranpac == {"sparcl/methods/ncm.py"}
    assert "sparcl/methods/compose.py" in ranpac - ncm
    assert {"workflow/scripts/run_method.py", "sparcl/learners/learner.py"} <= ncm
    assert not {"sparcl/methods/table.py", "workflow/study/pipeline/plan.py"} & (ncm | ranpac)
    composed = provenance.script_code(
        "run_method", *provenance.learner_modules({"learner": "compose"})
    )
    assert {*composed} - ranpac >= {"workflow/study/parts/row_weights.py"}  # by name
    assert len({provenance.code_hash("run_method", module) for module in modules.values()}) == 2


def test_a_suite_of_streams_that_go_wrong_has_records_and_summaries_of_its_own(
    config: Settings,
) -> None:
    assert "noisy" in plan.stressed_suites(config) and "toy" not in plan.stressed_suites(config)
    records = plan.records(config, "noisy")
    block = config["suites"]["noisy"]
    assert len(records) == len(block["methods"]) * len(block["pairs"])
    assert records[0] == (
        "results/streams/noisy/cub-50/efficientnet-lite0/stream-ridge/1993-0.json"
    )
    assert set(plan.job_outputs(config, "noisy")) == {path.rpartition("/")[0] for path in records}
    names = ["rates.csv", "ages.csv", "differences.csv"]
    assert plan.summary_files(config, "noisy") == [f"paper/noisy/summary/{n}" for n in names]
