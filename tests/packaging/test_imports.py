"""What importing costs, and that the core lives without the extras."""

import json
import os
import subprocess
import sys

HEAVY = ["h5py", "matplotlib", "pandas", "snakemake", "torch"]
EXTRAS = ["onnx", "pooch", "safetensors", "sklearn", "timm", "torch", "torchvision"]


def python(code: str) -> str:
    """Run code in a fresh interpreter and return what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def loaded_by(statement: str) -> set[str]:
    return set(
        json.loads(python(f"{statement}\nimport json, sys\nprint(json.dumps([*sys.modules]))"))
    )


def test_importing_and_building_a_learner_loads_nothing_heavy() -> None:
    modules = loaded_by("import sparcl\nfrom sparcl.methods import build\nbuild('sparcl')")
    assert "scipy.linalg" in modules
    assert not modules.intersection(HEAVY)


def test_a_run_job_loads_no_tables_and_no_plots() -> None:
    modules = loaded_by(
        "from sparcl import methods\nfrom sparcl.pipeline import adapter\n"
        "from sparcl.protocol import experiment, selection\nfrom sparcl.features import store"
    )
    assert not modules & {"matplotlib", "pandas", "snakemake", "torch"}


def test_every_module_imports_without_the_extras() -> None:
    code = f"""
import importlib, pkgutil, sys
sys.modules.update(dict.fromkeys({EXTRAS}))  # None: importing it raises ImportError
import figures, sparcl
for package in (sparcl, figures):
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        needs = ("sparcl.trained.", "sparcl.app.classifier")  # torch, scikit-learn: by their purpose
        if not module.name.startswith(needs):
            importlib.import_module(module.name)
        print(module.name)
"""
    names = python(code).split()
    assert "sparcl.extraction.extract" in names and "sparcl.methods.ranpac" in names
