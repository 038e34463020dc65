"""Facts that stand in more than one file agree."""

import os
import re
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import version
from pathlib import Path

import yaml
from copies import ROOT, copy_project, in_git
from packaging.requirements import Requirement
from setuptools import find_packages

import sparcl

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]


def test_citation() -> None:
    """What cite this repository asks for: the paper, and who wrote the software."""
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["license"] == PROJECT["license"]
    assert [a["name"] for a in citation["authors"]] == [a["name"] for a in PROJECT["authors"]]
    paper = citation["preferred-citation"]
    assert paper["title"] in citation["abstract"] and paper["type"] in REFERENCES
    assert all(author["family-names"] and author["given-names"] for author in paper["authors"])


REFERENCES = {"article", "conference-paper", "unpublished"}  # of CFF 1.2.0, those a paper may be


def test_the_version_is_stated_once() -> None:
    assert version("sparcl") == sparcl.__version__
    assert "version" not in PROJECT and PROJECT["dynamic"] == ["version"]
    assert "version" not in yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.findall(r"^## ([\d.]+)", changes, re.MULTILINE)[0] == sparcl.__version__


def test_what_pip_installs_is_a_command_and_one_package(tmp_path: Path) -> None:
    """An install of a copy, as `pip install .` makes it, but for the packages it asks for."""
    site = tmp_path / "site"
    pip = ["-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--no-build-isolation"]
    source = copy_project(tmp_path / "source")
    subprocess.run([sys.executable, *pip, "--target", site, source], check=True)
    (metadata,) = site.glob("sparcl-*.dist-info/METADATA")
    needed = re.findall(
        r"^Requires-Dist: (.*)$", metadata.read_text(encoding="utf-8"), re.MULTILINE
    )
    core = {Requirement(line).name for line in needed if "extra ==" not in line}
    assert core == {"h5py", "numpy", "scipy"}
    extras = {extra for line in needed for extra in re.findall(r"extra == [\"'](\w+)", line)}
    assert extras == {*PROJECT["optional-dependencies"]}
    for program in ([site / "bin/sparcl"], [sys.executable, "-m", "sparcl"]):
        said = subprocess.run(
            [*program, "--version"],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": str(site)},
            capture_output=True,
            text=True,
            check=True,
        )
        assert said.stdout == f"sparcl {sparcl.__version__}\n"


def test_a_script_beside_an_editable_clone_imports_the_package(tmp_path: Path) -> None:
    """And not the clone's folder, which has the same name and no ``__init__.py``."""
    clone = copy_project(tmp_path / "sparcl")
    build = "import sys; from setuptools import build_meta; print(build_meta.build_editable(sys.argv[1]))"
    command = [sys.executable, "-c", build, str(tmp_path)]
    said = subprocess.run(command, cwd=clone, capture_output=True, text=True, check=True).stdout
    with zipfile.ZipFile(tmp_path / said.split()[-1]) as wheel:
        wheel.extractall(tmp_path / "site")
    script = tmp_path / "script.py"
    script.write_text(
        f"import site, sys\nsite.addsitedir({str(tmp_path / 'site')!r})\n"
        "import sparcl\nprint(sparcl.__file__, 'build' in dir(sparcl))\n",
        encoding="utf-8",
    )
    said = subprocess.run(
        [sys.executable, "-S", script],  # no other install of this project
        env=os.environ | {"PYTHONPATH": ""},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert said == f"{clone / 'sparcl/__init__.py'} True\n"


def test_an_install_of_this_folder_is_editable_wherever_it_is_said() -> None:
    """`pip install .` in its place freezes the code that jobs and tools see."""
    frozen = re.compile(r"pip install [\"'\\]*\.[\[`\s\"']")
    texts = {path: path.read_text("utf-8", "ignore") for path in in_git() if path.suffix in SAYS}
    said = {path.relative_to(ROOT).as_posix(): frozen.findall(text) for path, text in texts.items()}
    assert {name for name, found in said.items() if found and not name.startswith("tests/")} == {
        "workflow/study/pipeline/interpreter.py"  # which names it as a cause
    }


SAYS = {".md", ".ipynb", ".py", ".toml", ".yml", ".yaml"}


def test_every_package_is_installed() -> None:
    found = {
        init.parent.relative_to(ROOT).as_posix().replace("/", ".")
        for init in (ROOT / "sparcl").rglob("__init__.py")
    }
    assert found == set(find_packages(ROOT, **PYPROJECT["tool"]["setuptools"]["packages"]["find"]))


def test_snakemake_is_at_least_what_the_snakefile_asks_for() -> None:
    (wanted,) = re.findall(
        r'min_version\("([\d.]+)"\)', (ROOT / "Snakefile").read_text(encoding="utf-8")
    )
    assert f"snakemake>={wanted}" in PROJECT["optional-dependencies"]["pipeline"]


def test_make_runs_the_suite_of_params() -> None:
    suite = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))["suite"]
    plan = subprocess.run(
        ["make", "--dry-run", "results"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    assert f"--config suite={suite}\n" in plan
    assert f"-m figures.main_table paper/{suite}/tables/main.csv\n" in plan


def test_dvc_names_paths_that_exist() -> None:
    suite = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))["suite"]
    text = (ROOT / "dvc.yaml").read_text(encoding="utf-8").replace("${suite}", suite)
    stages = yaml.safe_load(text)["stages"]
    outs = {path for stage in stages.values() for out in stage["outs"] for path in out}
    assert {f"paper/{suite}/{kind}" for kind in ("summary", "figures", "tables")} < outs
    deps = {dep for stage in stages.values() for dep in stage["deps"]} - outs
    assert [dep for dep in deps if not (ROOT / dep).exists()] == []
