"""What a clone plans: every record, table and figure, from files in git alone."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from copies import ROOT, jobs_of, number_of_jobs, snakemake

from study.pipeline import configuration, plan


@pytest.fixture(scope="module")
def short(one_order: Path) -> dict[str, Any]:
    """Return all settings, with one class order a suite."""
    return configuration.load(one_order)


def test_every_input_of_every_suite_has_a_rule_or_is_in_git(
    everything: str, short: dict[str, Any]
) -> None:
    """The copy holds what git holds and nothing else: an input without a rule would stop the plan."""
    jobs = number_of_jobs(everything)
    records = [path for suite in short["suites"] for path in plan.records(short, suite)]
    records = [path for path in records if path.startswith("results/runs/")]
    ran = jobs["run_method"] + jobs["train_method"]
    assert ran == len(set(records)) > 200
    ruined = plan.stressed_suites(short)
    assert jobs["summarise_runs"] == len(short["suites"]) - len(ruined)
    assert jobs["summarise_stressed"] == len(ruined) > 0
    assert jobs["compare_methods"] == len(short["suites"])


def test_features_are_extracted_where_they_are_not_bundled(everything: str) -> None:
    extracted = re.findall(
        r"rule extract_features:\n(?: .*\n)*?    wildcards: dataset=([\w-]+)", everything
    )
    # cub-50 is bundled too: its file was asked for by its name
    assert set(extracted) == {
        *("digits", "cifar-100", "cub-50", "cub-200", "imagenet-r", "imagenet-a", "imagenet-100")
    }


def test_only_ablations_read_other_suites(loaded: dict[str, Any]) -> None:
    """Else `make results` would run other suites for one of its tables; problems.py refuses them."""
    reading = {
        suite
        for suite, block in loaded["suites"].items()
        for kind in ("tables", "figures")
        for name in block[kind]
        for frame in loaded[kind][name]["frames"]
        if frame.split("/")[0] in {*loaded["suites"]} - {suite}
    }
    assert (
        reading
        == {"adjacent-most", "hard", "long", "near-duplicate", "sweep"}
        <= set(plan.of_group(loaded, "ablations"))
    )


def test_times_are_read_as_they_are(everything: str) -> None:
    """However young the features are, a table of times measures nothing; nor do the claims, which need no figure."""
    jobs = number_of_jobs(everything)
    assert {"write_table", "draw_claims", "judge_claims"} <= jobs.keys()
    assert not {"time_methods", "measure_memory"} & jobs.keys()
    read = re.findall(r"rule (?:judge|draw)_claims:\n +input: (.*)", everything)
    assert len(read) == 2 and not re.search(r"paper/[\w-]+/figures/", " ".join(read))


def test_what_shows_times_is_drawn_again_by_make_timings(loaded: dict[str, Any]) -> None:
    """Rules take times as they are, so `make timings` names what reads them."""
    timed = {"paper/claims/claims"}  # docs/claims.yaml reads times too
    for suite, block in loaded["suites"].items():
        for kind in ("tables", "figures"):
            for name in block[kind]:
                if any(frame.startswith("timings/") for frame in loaded[kind][name]["frames"]):
                    timed.add(f"paper/{suite}/{kind}/{name}")
    said = subprocess.run(
        ["make", "--dry-run", "timings"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    assert set(re.findall(r"paper/[\w/-]+(?=\.(?:md|png))", said)) == timed


def test_an_input_outside_git_would_be_noticed(clone: Path) -> None:
    """The first test can fail: without one feature file there is no plan."""
    (clone / "data/features/cub-50/vit-s14-focus/test.h5").unlink()
    said = snakemake(clone, "--dry-run", "--cores", "1", "all", "--config", "suite=toy")
    assert said.returncode != 0
    assert "cub-50/vit-s14-focus/test.h5" in said.stdout


def test_a_file_of_overrides_and_the_profile_are_taken(clone: Path) -> None:
    """`--configfile` names settings of any file, here a block of own images; profiles/default is found by itself.

    docs/data.md: with the block alone, without a label, every command works and the suite has its name.
    """
    (clone / "my.yaml").write_text(
        "datasets: {mybirds: {reader: folder, root: birds}}\nsuite: mybirds\n", encoding="utf-8"
    )
    said = snakemake(clone, "--dry-run", "--cores", "1", "all", "--configfile", "my.yaml")
    assert said.returncode == 0, said.stdout
    jobs = jobs_of(said.stdout)
    assert {"list_split", "extract_features"} <= set(jobs)
    assert jobs["run_method"] == {"ncm", "acil", "ranpac", "sparcl", "sparcl-plus"}
    assert "profiles/default" in said.stdout


def test_a_copy_runs_its_own_code(clone: Path, tmp_path: Path) -> None:
    """An older copy may be installed in the environment, as `pip install .` leaves it."""
    shutil.copytree(clone / "sparcl", tmp_path / "installed/sparcl")
    with (clone / "sparcl/protocol/stream.py").open("a", encoding="utf-8") as file:
        file.write('\nraise RuntimeError("code of the clone")\n')
    target = "results/orders/toy/cub-50/1993.json"
    changes = {"PYTHONPATH": str(tmp_path / "installed"), "PYTHONDONTWRITEBYTECODE": "1"}
    run = snakemake(clone, "--cores", "1", target, "--config", "suite=toy", **changes)
    assert run.returncode != 0
    assert "code of the clone" in run.stdout
    # jobs keep bytecode whatever that variable says
    assert list((clone / "sparcl").rglob("*.pyc"))
