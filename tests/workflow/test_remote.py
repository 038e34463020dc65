"""Own extractions on a DVC remote: pushed from one clone, pulled in another, never extracted again."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import h5py
import pytest
import yaml
from copies import ROOT, clone_of, commit_all, dvc, planned, snakemake
from own_data import add_own_data

from sparcl.base.files import read_json

Make = Callable[..., subprocess.CompletedProcess[str]]
PLAN = ("all", "--config", "suite=my-suite")


def documented(language: str, page: str = "docs/remote.md") -> list[str]:
    """Return the fenced blocks of a language in a page."""
    text = (ROOT / page).read_text(encoding="utf-8")
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    return [block for name, block in blocks if name == language]


@pytest.mark.slow
def test_the_documented_way(fresh: Path, tmp_path: Path, make: Make) -> None:
    add_own_data(fresh, tmp_path / "images")
    (stage,) = documented("yaml")
    stages = yaml.safe_load((fresh / "dvc.yaml").read_text(encoding="utf-8"))
    stages["stages"] |= yaml.safe_load(stage)["stages"]
    (fresh / "dvc.yaml").write_text(yaml.safe_dump(stages, sort_keys=False), encoding="utf-8")
    dvc(fresh, "remote", "add", "--default", "features", str(tmp_path / "remote"))
    (extraction,) = {line for line in "".join(documented("")).split("\n") if "features --" in line}
    run = snakemake(fresh, *extraction.split()[1:])
    assert run.returncode == 0, run.stdout
    dvc(fresh, "commit", "--force", "my-data")
    dvc(fresh, "push", "my-data")
    commit_all(fresh, "Features of my data")

    other = clone_of(fresh, tmp_path / "other")
    assert "not in cache" in dvc(other, "status", "my-data")
    dvc(other, "pull", "my-data")
    files = sorted(p.relative_to(other) for p in (other / "results/features").rglob("*.*"))
    assert len(files) == 4
    assert all((other / f).read_bytes() == (fresh / f).read_bytes() for f in files)
    for stage in ("my-data", "features"):
        assert "up to date" in dvc(other, "status", stage)

    touched = make(other, "touch", "SUITE=my-suite")
    assert touched.returncode == 0, touched.stdout
    assert "extract_features" not in planned(other, *PLAN)
    assert "up to date" in dvc(other, "repro", "my-data")
    (tmp_path / "images").rename(tmp_path / "nowhere")
    run = snakemake(other, "--cores", "2", "runs", *PLAN[1:])
    assert run.returncode == 0, run.stdout
    record = read_json(other / "results/runs/my-suite/my-data/my-net/ncm/1993-0.json")
    manifest = read_json(other / "results/features/my-data/my-net/train.json")
    assert record["train_sha256"] == manifest["arrays"]["features"]["sha256"]
    assert all((other / f).read_bytes() == (fresh / f).read_bytes() for f in files)

    # `make touch` vouches for no content: the job that reads a file compares it with its manifest
    with h5py.File(other / "results/features/my-data/my-net/train.h5", "r+") as file:
        file["features"][0, 0] += 1
    assert make(other, "touch", "SUITE=my-suite").returncode == 0
    run = snakemake(other, "--cores", "2", *PLAN, "--forcerun", "run_method")
    assert run.returncode != 0
    assert "does not match its manifest" in run.stdout
