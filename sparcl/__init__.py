"""SPARCL: analytic class-incremental learning on frozen features.

The package imports in milliseconds and needs numpy, scipy and h5py only, the last where feature files are read;
what an extra brings is imported where it is used.

``sparcl.build`` gives a learner, ``sparcl.Classifier`` one with scikit-learn's conventions, and ``sparcl.load`` opens
what was saved (docs/library.md).
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sparcl.app.building import build, load
    from sparcl.app.classifier import Classifier

__version__ = "0.1.0"
__all__ = ["Classifier", "__version__", "build", "load"]

EXPORTS = {
    "Classifier": "sparcl.app.classifier",
    "build": "sparcl.app.building",
    "load": "sparcl.app.building",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name not in EXPORTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(EXPORTS[name]), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *EXPORTS})
