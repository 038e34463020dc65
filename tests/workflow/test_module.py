"""Other folders use the workflow: as `snakedeploy` writes them, from a repository, and from a clone beside them."""

import fcntl
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from copies import commit_all, edited, git, planned, snakemake, tree

ADDRESS = "https://github.com/someone/sparcl"


def elsewhere(folder: Path, repository: Path) -> dict[str, str]:
    """Return an environment without this project, in which git finds a local repository at the address."""
    return {
        "PYTHONPATH": "",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"url.file://{repository}.insteadOf",
        "GIT_CONFIG_VALUE_0": ADDRESS,
        "XDG_CACHE_HOME": str(folder / "cache"),
    }


@pytest.mark.slow
def test_snakedeploy(work: Path, tmp_path: Path) -> None:
    """The same numbers as in the repository; another tag reruns what it changes; one run at a time."""
    there = elsewhere(tmp_path, work)
    git(work, "tag", "v1")
    study = tmp_path / "study"
    deploy = [Path(sys.executable).with_name("snakedeploy"), "deploy-workflow", ADDRESS, study]
    subprocess.run([*deploy, "--tag", "v1"], check=True, env=os.environ | there)
    run = snakemake(study, "--cores", "2", **there)
    assert run.returncode == 0, run.stdout
    made, own = tree(study / "paper"), tree(work / "paper")
    assert made and made == {name: own[name] for name in made}
    assert not {path.name for path in study.iterdir()} & {
        "sparcl",
        "figures",
        "data",
        "params.yaml",
    }

    with edited(work / "sparcl/methods/ncm.py", ("", "# a remark\n")):
        commit_all(work, "A remark")
    git(work, "tag", "v2")
    with edited(study / "workflow/Snakefile", ('tag="v1"', 'tag="v2"')):
        assert planned(study, "runs", **there) == {"run_method": {"ncm"}, "runs": {""}}
        with open(study / ".snakemake/running", "a") as running:
            fcntl.flock(running, fcntl.LOCK_EX)
            second = snakemake(study, "--cores", "1", "runs", **there)
        assert second.returncode != 0 and "Another run is active" in second.stdout
    wrong = ("suite: bundled", "suite: bunled")
    with edited(study / "config/config.yaml", wrong):
        assert "bunled" in snakemake(study, "--cores", "1", "--dry-run", **there).stdout


def test_a_module_of_a_clone_beside_it(one_order: Path, tmp_path: Path) -> None:
    """Without settings of its own: those of the clone, whose features and code are inputs where they lie."""
    (tmp_path / "Snakefile").write_text(
        f'module sparcl:\n    snakefile: "{one_order}/workflow/Snakefile"\n    config: {{"suite": "toy"}}\n\n'
        "use rule * from sparcl as sparcl_*\n",
        encoding="utf-8",
    )
    plan = snakemake(tmp_path, "--dry-run", "--cores", "1", PYTHONPATH="")
    assert plan.returncode == 0, plan.stdout
    rules = set(re.findall(r"^(?:local)?rule (\w+):", plan.stdout, flags=re.MULTILINE))
    assert {"sparcl_all", "sparcl_run_method", "sparcl_draw_figure"} <= rules
    inputs = {
        name
        for line in re.findall(r"^ +input: (.*)", plan.stdout, re.MULTILINE)
        for name in line.split(", ")
    }
    place = os.path.relpath(one_order, tmp_path)
    for name in (
        "data/features/cub-50/vit-s14-focus/train.h5",
        "sparcl/features/store.py",
        "workflow/study/pairs.py",
    ):
        assert f"{place}/{name}" in inputs, name
