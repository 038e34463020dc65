"""What importing costs, and that the core lives without the extras."""

import json
import os
import subprocess
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

from copies import ROOT

HEAVY = ["h5py", "matplotlib", "pandas", "snakemake", "torch"]
EXTRAS = ["onnx", "pooch", "safetensors", "sklearn", "timm", "torch", "torchvision"]


def python(code: str, folder: Path = ROOT) -> str:
    """Run code in a fresh interpreter and return what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        cwd=folder,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def loaded_by(statement: str) -> set[str]:
    return set(
        json.loads(python(f"{statement}\nimport json, sys\nprint(json.dumps([*sys.modules]))"))
    )


def test_what_one_starts_loads_nothing_heavy_that_it_does_not_need() -> None:
    for statement, not_loaded in {
        "import sparcl\nfrom sparcl.methods import build\nbuild('sparcl')": {*HEAVY},
        "import sparcl.features.store": {*HEAVY, *EXTRAS, "PIL"},
        # a job that runs a method
        "from study.pipeline import adapter\nfrom study.loop import experiment\nfrom study import selection\n"
        "from sparcl import methods\nfrom sparcl.features import store\nmethods.build('sparcl')": {
            *("matplotlib", "pandas", "snakemake", "torch"),
            *(f"scipy.{name}" for name in ("cluster", "sparse", "spatial", "special")),
        },
        # the job of a drawn class order
        "import sys\nsys.path.append('workflow/scripts')\nimport make_order": {
            *("pandas", "scipy", "study.streams")
        },
    }.items():
        modules = loaded_by(statement)
        assert ("scipy.linalg" in modules) == ("build(" in statement)
        assert not modules & not_loaded, statement


def test_the_core_alone_builds_fits_saves_and_predicts(tmp_path: Path) -> None:
    """With every distribution hidden that `pip install .` does not bring, from arrays to labels."""
    kept = {"h5py", "numpy", "scipy", "setuptools"}
    hidden = {top for top, of in packages_distributions().items() if not kept & {*of, top}}
    hidden -= {"sparcl", "_distutils_hack"}
    assert {"matplotlib", "pandas", "snakemake", "sklearn", "torch", "yaml"} <= hidden
    code = f"""
import sys
sys.modules.update(dict.fromkeys({sorted(hidden)}))
import numpy as np
import sparcl
from sparcl.app.cli import main
rng = np.random.default_rng(0)
y = np.arange(60) % 3
X = np.eye(3, 6, dtype=np.float32)[y] + rng.normal(0, 0.1, (60, 6)).astype(np.float32)
np.save("X.npy", X), np.save("y.npy", y)
def run(*arguments):
    assert main(arguments) == 0
run("import", "--features", "X.npy", "--labels", "y.npy", "--out", "own/net")
run("fit", "--method", "acil", "--features", "own/net/train.h5", "--out", "m.npz")
run("evaluate", "m.npz", "--features", "own/net/test.h5")
run("predict", "m.npz", "--features", "X.npy", "--out", "p.csv")
assert sparcl.load("m.npz").predict(X).tolist() == y.astype(str).tolist()
for method in sparcl.methods.names():
    sparcl.build(method)
try:
    sparcl.Classifier
except ImportError as error:
    print(error)
"""
    said = python(code, tmp_path)
    assert "needs scikit-learn, which is not installed: pip install 'sparcl[sklearn]'" in said


def test_every_module_imports_without_the_extras() -> None:
    code = f"""
import importlib, pkgutil, sys
sys.modules.update(dict.fromkeys({EXTRAS}))  # None: importing it raises ImportError
import figures, sparcl, study
for package in (sparcl, study, figures):
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        needs = ("study.trained.", "sparcl.app.classifier")  # torch, scikit-learn: by their purpose
        if not module.name.startswith(needs):
            importlib.import_module(module.name)
        print(module.name)
"""
    names = python(code).split()
    assert "study.images.extract" in names and "sparcl.methods.loranpac" in names
