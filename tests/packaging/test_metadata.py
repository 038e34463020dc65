"""Facts that stand in more than one file agree."""

import re
import subprocess
import tomllib
from importlib.metadata import version
from pathlib import Path

import yaml
from setuptools import find_packages

ROOT = Path(__file__).resolve().parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]


def test_citation() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == PROJECT["version"]
    assert citation["license"] == PROJECT["license"]
    assert [a["name"] for a in citation["authors"]] == [a["name"] for a in PROJECT["authors"]]


def test_installed_version() -> None:
    assert version("sparcl") == PROJECT["version"]


def test_every_package_is_installed() -> None:
    found = {
        init.parent.relative_to(ROOT).as_posix().replace("/", ".")
        for top in ("sparcl", "figures", "snakemake_logger_plugin_oneline")
        for init in (ROOT / top).rglob("__init__.py")
    }
    assert found == set(find_packages(ROOT, **PYPROJECT["tool"]["setuptools"]["packages"]["find"]))


def test_snakemake_is_at_least_what_the_snakefile_asks_for() -> None:
    (wanted,) = re.findall(
        r'min_version\("([\d.]+)"\)', (ROOT / "Snakefile").read_text(encoding="utf-8")
    )
    assert f"snakemake>={wanted}" in PROJECT["dependencies"]


def test_make_runs_the_suite_of_params() -> None:
    suite = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))["suite"]
    plan = subprocess.run(
        ["make", "--dry-run", "results"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    assert f"--config suite={suite}\n" in plan
    assert f"figures.main_table paper/{suite}/tables/main.csv\n" in plan


def test_dvc_names_paths_that_exist() -> None:
    suite = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))["suite"]
    text = (ROOT / "dvc.yaml").read_text(encoding="utf-8").replace("${suite}", suite)
    stages = yaml.safe_load(text)["stages"]
    outs = {path for stage in stages.values() for out in stage["outs"] for path in out}
    assert {f"paper/{suite}/{kind}" for kind in ("summary", "figures", "tables")} < outs
    deps = {dep for stage in stages.values() for dep in stage["deps"]} - outs
    assert [dep for dep in deps if not (ROOT / dep).exists()] == []
