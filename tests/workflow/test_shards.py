"""A data set with `shards: n`: planned, run to its records, and one shard redone."""

import json
import re
from pathlib import Path

import pytest
from copies import duplicate, edit_params, planned, snakemake, tree
from own_data import add_own_data

SUITE = ("--config", "suite=my-suite")
FEATURES = "results/features/my-data/my-net"


def own(clone: Path, place: Path, shards: int) -> Path:
    """Give a copy images, a network and a suite; 18 images a split, in 5 batches."""
    add_own_data(clone, place)
    edit_params(clone, lambda params: params["datasets"]["my-data"].update(shards=shards))
    return clone


def test_as_many_jobs_as_shards(clone: Path, tmp_path: Path) -> None:
    own(clone, tmp_path / "images", 7)
    plan = snakemake(clone, "--dry-run", "--cores", "1", "runs", *SUITE)
    assert plan.returncode == 0, plan.stdout
    jobs = dict(re.findall(r"^(\w+) +(\d+)$", plan.stdout, flags=re.MULTILINE))
    assert (jobs["extract_shard"], jobs["merge_shards"]) == ("14", "2")
    assert "extract_features" not in jobs
    # a reader of a view waits for the shards too: they are what it reads
    (run,) = re.findall(r"^rule run_method:\n +input: (.*)$", plan.stdout, flags=re.MULTILINE)[:1]
    assert f"{FEATURES}/test.shards/7-of-7.h5" in run

    edit_params(clone, lambda params: params["datasets"]["my-data"].update(shards=1))
    jobs = planned(clone, "runs", *SUITE)
    assert "extract_features" in jobs and not {"extract_shard", "merge_shards"} & jobs.keys()


def test_no_shards_is_no_number(clone: Path, tmp_path: Path) -> None:
    own(clone, tmp_path / "images", 0)
    plan = snakemake(clone, "--dry-run", "--cores", "1", "runs", *SUITE)
    assert plan.returncode != 0
    assert "my-data.shards: 0 should be greater than or equal to 1" in plan.stdout


@pytest.mark.slow
def test_from_shards_to_records(clone: Path, tmp_path: Path) -> None:
    own(clone, tmp_path / "images", 1)
    sharded = duplicate(clone, tmp_path / "sharded")
    edit_params(sharded, lambda params: params["datasets"]["my-data"].update(shards=3))
    for folder in (clone, sharded):
        run = snakemake(folder, "--cores", "2", "all", *SUITE)
        assert run.returncode == 0, run.stdout
    assert tree(sharded / "results/runs", sharded / "paper") == tree(
        clone / "results/runs", clone / "paper"
    )
    for split in ("train", "test"):
        manifests = [folder / FEATURES / f"{split}.json" for folder in (clone, sharded)]
        assert manifests[0].read_bytes() == manifests[1].read_bytes()
        names = {p.name for p in (sharded / FEATURES / f"{split}.shards").iterdir()}
        assert names == {f"{k}-of-3.{kind}" for k in (1, 2, 3) for kind in ("h5", "json")}

    second, before = f"{FEATURES}/train.shards/2-of-3.h5", tree(sharded / FEATURES)
    (sharded / second).unlink()
    assert planned(sharded, second, *SUITE).keys() == {"extract_shard"}
    run = snakemake(sharded, "--cores", "1", second, *SUITE)
    assert run.returncode == 0, run.stdout
    assert tree(sharded / FEATURES) == before
    assert planned(sharded, "all", *SUITE) == {}  # the same bytes: nothing depends on their time

    # shards that do not belong together stop the run, and the message is on the terminal
    manifest = sharded / f"{FEATURES}/train.shards/3-of-3.json"
    stated = json.loads(manifest.read_text(encoding="utf-8"))
    manifest.write_text(json.dumps(stated | {"backbone": "other-net"}), encoding="utf-8")
    run = snakemake(sharded, "--cores", "1", "features", *SUITE)
    assert run.returncode != 0
    assert re.search(r"FeatureFileError: \S*3-of-3\.\S+ does not match .*backbone", run.stdout)
