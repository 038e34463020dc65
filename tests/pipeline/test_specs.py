"""What jobs are told: lists for the names of lists, fixed beside selected settings, nothing too much."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from copies import ROOT, environment

from sparcl import methods
from study.loop.experiment import Split, run
from study.pipeline import provenance, specs
from study.selection import select

Settings = dict[str, Any]


def test_every_method_is_run_by_a_suite(config: Settings) -> None:
    used = {m for suite in config["suites"].values() for m in suite["methods"]}
    used |= {block["of"] for suite in config["suites"].values() for block in suite.get("vary", [])}
    assert [method for method in config["methods"] if method not in used] == []


def test_settings_read_from_the_file_are_those_of_the_module() -> None:
    for learner in methods.names():
        read = provenance.hyperparameters({"learner": learner})
        assert read == tuple(methods.hyperparameters(learner)), learner


def test_a_device_is_told_and_a_gpu_asked_for_where_a_job_may_compute_on_one(
    config: Settings,
) -> None:
    assert specs.solver(config, "ranpac") == {}  # the default changes no job
    for device, asked in (("cpu", None), ("cuda", 1), ("auto", 1), ("torch-cpu", None)):
        config["solver"]["device"] = device
        told = {} if device == "cpu" else {"device": device}
        assert specs.solver(config, "ranpac") == told and specs.gpus(config, "ranpac") == asked
        assert specs.solver(config, "ncm") == {} and specs.gpus(config, "ncm") is None


def test_names_become_lists_in_parts_too(config: Settings) -> None:
    spec = specs.method(config, "flycl-official")
    assert spec["hyper"]["ridges"] == config["ridges"]["fly-cl"] == [1e6, 1e7, 1e8, 1e9]
    assert np.log10(config["ridges"]["ranpac"]) == pytest.approx(np.arange(-8, 9))
    parts = {"rule": {"newest": {"ridges": "middle"}}, "ridges": [2.0]}
    assert specs.resolved(config, parts) == {
        "rule": {"newest": {"ridges": [0.01, 0.03, 0.1, 0.3, 1.0, 3.0]}},
        "ridges": [2.0],
    }
    assert specs.timing(config, "refresh")["variants"]["ranpac"]["hyper"]["ridges"][0] == 1e-8


def test_the_validation_share_goes_to_methods_that_take_it(config: Settings) -> None:
    config["validation"]["share"] = 0.3
    assert specs.method(config, "ranpac")["hyper"]["validation_share"] == 0.3
    config["methods"]["ranpac"]["hyper"]["validation_share"] = 0.1
    assert specs.method(config, "ranpac")["hyper"]["validation_share"] == 0.1
    assert "validation_share" not in specs.method(config, "ncm")["hyper"]


def test_a_selection_has_candidates_of_what_is_selected_and_the_value_of_what_is_fixed(
    config: Settings,
) -> None:
    grid = specs.candidates(config)
    assert grid["ridge"] == config["ridges"]["half-decades"]
    chosen = {key: grid[key] for key in ("ridge", "tau")}
    assert specs.selection(config, "sparcl")["selection"]["grid"] == chosen
    dsal = specs.selection(config, "dsal")["selection"]["grid"]
    assert dsal == {key: grid[key] for key in ("ridge", "ratio")}
    config["methods"]["sparcl"] |= {"hyper": {"tau": 0.5, "refresh": 1}, "select": ["ridge"]}
    spec = specs.selection(config, "sparcl")
    assert spec["selection"]["grid"] == {"ridge": grid["ridge"], "tau": [0.5]}
    share = {"validation_share": config["validation"]["share"]}
    assert spec["hyper"] == share | {"refresh": 1}
    assert specs.method(config, "sparcl")["hyper"] == share | {"tau": 0.5, "refresh": 1}
    config["methods"]["sparcl"]["hyper"] = {"tau": None, "k": 0}
    assert specs.selection(config, "sparcl")["hyper"] == share | {"tau": None, "k": 0}


def test_a_selection_with_a_fixed_tau_runs(config: Settings) -> None:
    """It chooses among the ridges at that tau, and the run takes both."""
    config["methods"]["sparcl"] |= {"hyper": {"tau": 0.5, "refresh": 1}, "select": ["ridge"]}
    config["selection"]["sub_sessions"] = 2
    rng = np.random.default_rng(5)
    labels = np.repeat(np.arange(8), 10)
    features = rng.standard_normal((8, 12))[labels] + rng.standard_normal((80, 12))
    train = Split(features, labels)
    spec = specs.selection(config, "sparcl")
    found = select(train, [0, 1, 2, 3], "sparcl", spec["hyper"], **spec["selection"], seed=0)
    assert {score["tau"] for score in found["scores"]} == {0.5}
    assert len(found["scores"]) == len(specs.candidates(config)["ridge"])
    hyper = specs.method(config, "sparcl")["hyper"] | found["chosen"]
    record = run(train, train, [[0, 1, 2, 3], [4, 5, 6, 7]], "sparcl", hyper)
    assert record["hyper"]["tau"] == 0.5


def test_stress_and_streams_have_the_settings_of_their_kinds_alone(config: Settings) -> None:
    plain = {"normalize": True, "stress": {}}
    assert specs.data(config, "toy") == plain
    stressed = {"stress": {"long-tail": {"imbalance": 50.0, "least": 2}}}
    assert specs.data(config, "long-tail") == plain | stressed
    rated = {"rated": {"unannotated": {"reserve": 0.4}}}
    rates = {"streams": [{"unannotated": [0, 0.1, 0.2, 0.5, 1]}]}
    assert specs.streams(config, "contaminated") == plain | rated | rates


def test_what_leaves_the_bytes_of_features_alone_extracts_nothing_again(config: Settings) -> None:
    before = specs.extraction(config, "digits", "efficientnet-lite0")
    config["datasets"]["digits"] |= {"label": "Others", "root": "elsewhere", "shards": 4}
    config["extraction"] |= {"image_root": "elsewhere", "cache": "elsewhere", "workers": 1}
    assert specs.extraction(config, "digits", "efficientnet-lite0") == before
    config["extraction"]["batch_size"] += 1
    assert specs.extraction(config, "digits", "efficientnet-lite0") != before


def test_planning_loads_no_tables_figures_or_networks() -> None:
    code = """
import json, sys
from pathlib import Path
from study.pipeline import configuration, displays, paths, plan, provenance, specs
from study.report.claims import sources
config = configuration.load(Path.cwd())
for suite in config["suites"]:
    plan.records(config, suite), plan.paper_files(config, suite), specs.data(config, suite)
for name, block in config["methods"].items():
    specs.method(config, name), provenance.code_hash("run_method", "study.loop.experiment")
print(json.dumps([*sys.modules]))
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=environment(Path(ROOT)),
        capture_output=True,
        text=True,
        check=True,
    )
    assert not {"pandas", "torch", "matplotlib", "h5py"} & set(json.loads(done.stdout))
