"""A suite of two data sets of invented features: seconds from features to tables."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
from copies import commit_all, duplicate, dvc, edit_params, edit_yaml, git, snakemake

from sparcl.features import store

CLASSES, PER_CLASS, WIDTH = 12, 8, 24
RUNS = ("--cores", "2", "runs", "--config", "suite=tiny")


def write_split(folder: Path, dataset: str, split: str) -> Path:
    """Write invented features of 12 classes to the bundle of a copy."""
    rng = np.random.default_rng([len(split), *dataset.encode()])
    centres = np.random.default_rng(3).standard_normal((CLASSES, WIDTH))
    labels = np.repeat(np.arange(CLASSES), PER_CLASS)
    path = folder / "data/features" / dataset / "efficientnet-lite0" / f"{split}.h5"
    store.write(
        path,
        (centres[labels] + rng.standard_normal((len(labels), WIDTH))).astype(np.float16),
        labels,
        [f"{split}-{i}" for i in range(len(labels))],
        [f"class-{i}" for i in range(CLASSES)],
        {
            "dataset": dataset,
            "split": split,
            "backbone": "efficientnet-lite0",
            "timm_id": "none",
            "weights_sha256": "0" * 64,
            "preprocessing": {},
        },
    )
    return path


def add_tiny_suite(params: dict[str, Any]) -> None:
    """Add two data sets of :func:`write_split` and the suite `tiny` of both."""
    block = params["datasets"]["cub-50"]
    for name in ("tiny-a", "tiny-b"):
        params["datasets"][name] = {
            **block,
            "label": name,
            "classes": CLASSES,
            "counts": dict.fromkeys(("train", "test"), CLASSES * PER_CLASS),
        }
    params["suites"]["tiny"] = {
        **params["suites"]["toy"],
        "datasets": ["tiny-a", "tiny-b"],
        "backbones": ["efficientnet-lite0"],
        "methods": ["ncm", "sparcl"],
        "sessions": 3,
        "pairs": [[1993, 0]],
    }
    params["selection"]["sub_sessions"] = 2


def records(folder: Path) -> set[str]:
    """Return the run records of the suite `tiny` that are there, as data set and method."""
    return {"/".join(p.parts[-4:-1:2]) for p in (folder / "results/runs/tiny").rglob("*.json")}


def tiny_bare(pristine: Path, folder: Path) -> Path:
    """Copy the project and add the suite `tiny`, which has not run."""
    duplicate(pristine, folder)
    for dataset in ("tiny-a", "tiny-b"):
        for split in ("train", "test"):
            write_split(folder, dataset, split)
    edit_params(folder, add_tiny_suite)
    return folder


def tiny_repository(folder: Path) -> Path:
    """Make a copy a git repository whose default suite is `tiny`, computed and committed with its dvc.lock."""
    shutil.rmtree(folder / "data/features")
    for dataset in ("tiny-a", "tiny-b"):
        for split in ("train", "test"):
            write_split(folder, dataset, split)

    def change(params: dict[str, Any]) -> None:
        add_tiny_suite(params)
        few = {"datasets": ["tiny-a"], "methods": ["ncm", "sparcl", "sparcl-paper"]}
        params["suites"]["bundled"] = params["suites"]["tiny"] | few

    edit_params(folder, change)
    # the other suites have no features or images here
    for stage in ("recorded", "trained"):
        edit_yaml(folder / "dvc.yaml", lambda pipeline, stage=stage: pipeline["stages"].pop(stage))
    git(folder, "init", "--quiet")
    (folder / "dvc.lock").unlink(missing_ok=True)
    run = snakemake(folder, "--cores", "2", "all")
    assert run.returncode == 0, run.stdout
    dvc(folder, "commit", "--force")
    commit_all(folder, "A suite of seconds")
    return folder
