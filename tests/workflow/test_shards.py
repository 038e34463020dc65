"""A data set with `shards: n`: run to its records, and one shard redone; test_cluster.py has its plan."""

import json
import re
from pathlib import Path

import pytest
from copies import duplicate, edit_params, planned, snakemake, tree
from own_data import add_own_data

SUITE = ("--config", "suite=my-suite")
FEATURES = "results/features/my-data/my-net"


@pytest.mark.slow
def test_from_shards_to_records(clone: Path, tmp_path: Path) -> None:
    add_own_data(clone, tmp_path / "images")
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
