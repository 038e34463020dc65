"""What a clone plans: every record, table and figure, from files in git alone."""

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml
from copies import ROOT, edit_params, planned, snakemake

PARAMS = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))


def runs_of(suite: str) -> dict[str, int]:
    """Return how many jobs lead from a suite's features to its summary of runs."""
    block = PARAMS["suites"][suite]
    datasets, backbones, pairs = (len(block[key]) for key in ("datasets", "backbones", "pairs"))
    # A method that reads blocks is run on the backbones that keep some.
    methods = [
        PARAMS["methods"][name]
        for backbone in block["backbones"]
        for name in block["methods"]
        if PARAMS["methods"][name].get("features", "last") == "last"
        or PARAMS["backbones"][backbone].get("blocks")
    ]
    live = sum(PARAMS["datasets"][name]["features"] == "images" for name in block["datasets"])
    drawn = sum(PARAMS["datasets"][name].get("split") == "draw" for name in block["datasets"])
    traces = block.get("traces", 0)
    selecting = sum("select" in method for method in methods)
    return {
        "verify_features": 2 * backbones * (datasets - live),
        "extract_features": 2 * backbones * live,
        "list_split": drawn,
        "make_order": datasets * len({order for order, _ in block["pairs"]}),
        "select_hyper": datasets * selecting * pairs,
        "run_method": datasets * len(methods) * pairs,
        "trace_spectrum": datasets * backbones * traces,
        "summarise_runs": 1,
    }


def other_suites(suite: str) -> set[str]:
    """Return the suites whose runs a table or figure of a suite reads."""
    block = PARAMS["suites"][suite]
    drawn = [PARAMS["tables"][name] for name in block.get("tables", ["main"])]
    drawn += [PARAMS["figures"][name] for name in block.get("figures", [])]
    read = {frame for one in drawn for frame in one["frames"]}
    return {frame.split("/")[0] for frame in read} & set(PARAMS["suites"]) - {suite}


@pytest.mark.parametrize("suite", PARAMS["suites"])
def test_every_input_has_a_rule_or_is_in_git(pristine: Path, suite: str) -> None:
    """The copy holds what git holds and nothing else: an input without a rule would stop the plan."""
    plan = snakemake(pristine, "--dry-run", "--cores", "1", "all", "--config", f"suite={suite}")
    assert plan.returncode == 0, plan.stdout
    jobs = {
        rule: int(n) for rule, n in re.findall(r"^(\w+) +(\d+)$", plan.stdout, flags=re.MULTILINE)
    }
    block = PARAMS["suites"][suite]
    others = other_suites(suite)
    expected = dict(sum((Counter(runs_of(s)) for s in [suite, *others]), Counter()))
    if others:  # feature files that suites share are verified once
        shown = {name for s in [suite, *others] for name in PARAMS["suites"][s]["datasets"]}
        expected["verify_features"] = 2 * len(shown)
    expected |= {
        "summarise_spectra": int(block.get("traces", 0) > 0),
        "draw_figure": len(block.get("figures", ["dilution", "drift", "sessions"])),
        "write_table": len(block.get("tables", ["main"])),
        "compare_methods": int("compare" in block),
        "all": 1,
    }
    assert {rule: n for rule, n in jobs.items() if rule != "total"} == {
        rule: n for rule, n in expected.items() if n
    }


def test_nothing_is_extracted_where_features_are_bundled(pristine: Path) -> None:
    assert "extract_features" not in planned(pristine, "all", "--config", "suite=bundled")


def test_a_method_that_reads_blocks_is_planned_where_they_are(clone: Path) -> None:
    """Two backbones, one of them with blocks; a table on each says which methods it lacks."""
    reading = {"blocks": "blocks", "fused": "blocks-mean", "plain": "last"}

    def change(params: dict[str, Any]) -> None:
        params["backbones"]["vit-s14-focus"]["blocks"] = [6, 12]
        for name, kind in reading.items():
            params["methods"][f"acil-{name}"] = params["methods"]["acil"] | {"features": kind}
        ids = [f"acil-{name}" for name in reading]
        main = {k: v for k, v in params["tables"]["main"].items() if k != "groups"}
        for table, backbone in (("ablation", "vit-s14-focus"), ("sweep", "efficientnet-lite0")):
            params["tables"][table] = main | {"backbone": backbone}
        params["suites"]["digits"] |= {
            "methods": ["acil", *ids],
            "backbones": ["efficientnet-lite0", "vit-s14-focus"],
            "pairs": [[1993, 0]],
            "tables": ["ablation", "sweep"],
            "figures": [],
        }

    edit_params(clone, change)
    suite = ("--config", "suite=digits")
    plan = snakemake(clone, "--dry-run", "--cores", "1", "all", *suite)
    assert plan.returncode == 0, plan.stdout
    for folder, job in (("runs", "run_method"), ("selection", "select_hyper")):
        made = re.findall(
            rf"rule {job}:\n(?: .*\n)*?    output: results/{folder}/digits/digits/(\S+)/1993-0.json",
            plan.stdout,
        )
        assert sorted(made) == [
            "efficientnet-lite0/acil",
            "efficientnet-lite0/acil-plain",
            "vit-s14-focus/acil",
            "vit-s14-focus/acil-blocks",
            "vit-s14-focus/acil-fused",
            "vit-s14-focus/acil-plain",
        ]


def test_only_ablations_read_other_suites(clone: Path) -> None:
    """Else `make results` would run other suites for one of its tables."""
    edit_params(clone, lambda params: params["suites"]["toy"].update(tables=["orders"]))
    plan = snakemake(clone, "--dry-run", "--cores", "1", "all", "--config", "suite=toy")
    assert plan.returncode != 0
    assert re.search(r"tables.orders reads suite '(mild|hard)'; only suites under", plan.stdout)
    assert {suite for suite in PARAMS["suites"] if other_suites(suite)} == {"hard", "long", "sweep"}


def test_times_are_read_as_they_are(pristine: Path) -> None:
    """However young the features are, a table of times measures nothing."""
    assert set(planned(pristine, "paper/bundled/tables/tau-post.tex")) == {"write_table"}


def test_what_shows_times_is_drawn_again_by_make_timings() -> None:
    """Rules take times as they are, so `make timings` names what reads them."""
    timed = {"paper/claims/claims"}  # docs/claims.yaml judges times too
    for suite, block in PARAMS["suites"].items():
        for kind in ("tables", "figures"):
            for name in block.get(kind, []):
                if any(frame.startswith("timings/") for frame in PARAMS[kind][name]["frames"]):
                    timed.add(f"paper/{suite}/{kind}/{name}")
    plan = subprocess.run(
        ["make", "--dry-run", "timings"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    named = re.findall(r"paper/[\w/-]+(?=\.(?:md|png))", plan)
    assert set(named) == timed


def test_the_figure_of_the_claims_rests_on_the_ledger_alone(pristine: Path) -> None:
    plan = planned(pristine, "paper/claims/claims.pdf")
    assert {"draw_claims", "judge_claims"} <= set(plan) and "draw_figure" not in plan


def test_a_bundled_file_can_be_extracted_by_its_name(pristine: Path) -> None:
    target = "results/features/cub-50/efficientnet-lite0/train.h5"
    assert set(planned(pristine, target)) == {"extract_features"}


def test_an_input_outside_git_would_be_noticed(clone: Path) -> None:
    """The test above can fail: without one feature file there is no plan."""
    (clone / "data/features/cub-50/efficientnet-lite0/test.h5").unlink()
    plan = snakemake(clone, "--dry-run", "--cores", "1", "all", "--config", "suite=toy")
    assert plan.returncode != 0
    assert "cub-50/efficientnet-lite0/test.h5" in plan.stdout


def test_the_profile_is_found_by_itself(pristine: Path) -> None:
    assert "profiles/default" in snakemake(pristine, "--dry-run", "--cores", "1", "all").stdout


def test_lint(pristine: Path) -> None:
    lint = snakemake(pristine, "--lint")
    assert lint.returncode == 0, lint.stdout
    assert "good condition" in lint.stdout


def test_format() -> None:
    check = subprocess.run(
        [sys.executable, "-m", "snakefmt", "--check", "Snakefile", "workflow"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert check.returncode == 0, check.stderr


def test_a_copy_runs_its_own_code(clone: Path) -> None:
    """Another copy may be installed in the environment; PYTHONPATH does not help here."""
    with (clone / "sparcl/protocol/stream.py").open("a", encoding="utf-8") as file:
        file.write('\nraise RuntimeError("code of the clone")\n')
    target = "results/orders/toy/cub-50/1993.json"
    run = snakemake(clone, "--cores", "1", target, "--config", "suite=toy", PYTHONPATH="")
    assert run.returncode != 0
    assert "code of the clone" in run.stdout
