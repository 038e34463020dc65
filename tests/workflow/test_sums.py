"""Runs that start from sums of shards: a bundled cache of CUB-50, cut in three, gives the table of one pass."""

import json
from pathlib import Path
from typing import Any

import pytest
from copies import duplicate, edit_params, number_of_jobs, snakemake

from study.sums.__main__ import main

NETWORK = "vit-s14-focus"
CUB = f"data/features/cub-50/{NETWORK}"
METHODS = ["acil-paper", "sparcl", "sparcl-paper"]  # fixed settings, and selected ones
SUMS = f"results/sums/cub-50/{NETWORK}/unit"


@pytest.fixture
def cub(clone: Path) -> Path:
    """Return a copy whose suite `toy` is one class order of CUB-50."""

    def change(params: dict[str, Any]) -> None:
        params["suites"]["toy"] |= {
            **{"datasets": ["cub-50"], "backbones": [NETWORK], "methods": METHODS, "sessions": 10},
            **{"pairs": [[1993, 0]], "traces": 0, "figures": []},
        }

    edit_params(clone, change)
    return clone


def summed(folder: Path, **by: str) -> None:
    """Let methods start from sums of three shards."""

    def change(params: dict[str, Any]) -> None:
        params["datasets"]["cub-50"]["shards"] = 3
        for method, what in by.items():
            params["methods"][method.replace("_", "-")]["sums"] = what

    edit_params(folder, change)


def cut(folder: Path) -> None:
    for split in ("train", "test"):
        file = f"{folder}/{CUB}/{split}.h5"
        own = Path(file).read_bytes()
        Path(file).unlink()  # copies of the project link large files, and a link is not cut
        Path(file).write_bytes(own)
        manifest = Path(file).with_suffix(".json").read_bytes()
        assert main(["cut", file, "--shards", "3", "--out", file]) == 0
        assert Path(file).with_suffix(".json").read_bytes() == manifest


def run(folder: Path, *arguments: str) -> str:
    done = snakemake(folder, "--cores", "2", *arguments, "--config", "suite=toy")
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.mark.slow
def test_the_table_is_that_of_one_pass(cub: Path, tmp_path: Path) -> None:
    sharded = duplicate(cub, tmp_path / "sharded")
    cut(sharded)
    summed(sharded, acil_paper="classes", sparcl="classes", sparcl_paper="sessions")
    plan = snakemake(sharded, "--dry-run", "--cores", "1", "tables", "--config", "suite=toy").stdout
    jobs = number_of_jobs(plan)
    made = [jobs.get(rule) for rule in ("sum_shard", "merge_sums", "run_from_sums")]
    assert made == [6, 2, 3], plan
    assert "run_method" not in jobs
    for folder in (cub, sharded):
        run(folder, "tables", "runs")
    for kind in ("csv", "md", "tex"):
        tables = [folder / f"paper/toy/tables/main.{kind}" for folder in (cub, sharded)]
        assert tables[0].read_bytes() == tables[1].read_bytes()
    for method in METHODS:
        name = f"results/runs/toy/cub-50/{NETWORK}/{method}/1993-0.json"
        one, other = (json.loads((folder / name).read_text()) for folder in (cub, sharded))
        assert one["correct"] == other["correct"] and one["answers"] == other["answers"]
        assert {key: one[key] for key in one if key.endswith("sha256")} == {
            key: other[key] for key in other if key.endswith("sha256")
        }

    # sums of one shard, made again, are the same bytes: nothing else runs
    one = sharded / SUMS / "classes/2-of-3.npz"
    before = one.read_bytes()
    one.unlink()
    run(sharded, str(one.relative_to(sharded)))
    assert one.read_bytes() == before


def test_sums_by_session_of_a_data_set_that_is_a_suite(cub: Path) -> None:
    edit_params(cub, lambda params: params["methods"]["acil-paper"].update(sums="sessions"))
    made = "results/runs/cub-50/cub-50/efficientnet-lite0/acil-paper"
    plan = snakemake(cub, "--dry-run", "--cores", "1", made, "--config", "suite=cub-50")
    assert plan.returncode == 0, plan.stdout
    assert "results/sums/cub-50/efficientnet-lite0/unit/cub-50-1993.npz" in plan.stdout
