"""The suites of params.yaml name what exists, and every method of theirs can be built."""

from pathlib import Path

import pytest
import yaml

from sparcl import methods

PARAMS = yaml.safe_load((Path(__file__).resolve().parents[2] / "params.yaml").read_text("utf-8"))


@pytest.mark.parametrize("name", PARAMS["suites"])
def test_suite_names_what_exists(name: str) -> None:
    suite = PARAMS["suites"][name]
    for block in ("datasets", "backbones", "methods", "tables", "figures"):
        assert set(suite.get(block, [])) <= set(PARAMS[block]), block
    for table in suite.get("tables", []):
        for group in PARAMS["tables"][table].get("groups", {}).values():
            assert set(group) <= set(PARAMS["methods"])
    if "compare" in suite:
        named = {suite["compare"]["of"], *suite["compare"]["against"]}
        assert named <= set(suite["methods"])
    for figure in suite.get("figures", []):
        shown = PARAMS["figures"][figure]
        assert set(shown.get("curve", [])) <= set(suite["methods"])


@pytest.mark.parametrize("name", PARAMS["methods"])
def test_method_can_be_built(name: str) -> None:
    block = PARAMS["methods"][name]
    methods.build(block["learner"], **block["hyper"])


def test_ablations_are_suites_and_tables_of_the_sweep_leave_no_method_out() -> None:
    assert set(PARAMS["ablations"]) <= set(PARAMS["suites"])
    for name in ("ablation", "sweep"):
        grouped = [m for group in PARAMS["tables"][name]["groups"].values() for m in group]
        assert sorted(grouped) == sorted(PARAMS["suites"][name]["methods"])
