"""One hierarchy of errors.

Each message says what is wrong, where (file, session, data set), the likely cause and what to change.
"""

from collections.abc import Sequence


class SparclError(Exception):
    """Base of every error that SPARCL raises on purpose."""


class InputError(SparclError):
    """Arrays, labels or hyper-parameters that a function cannot work with."""


class ArgumentError(InputError, ValueError):
    """An InputError for callers that expect a ValueError, as those of scikit-learn's conventions do."""


class FeatureFileError(SparclError):
    """A feature file or its manifest is damaged, foreign or not what it claims to be."""


class WeightsError(SparclError):
    """Backbone weights are missing, unsafe to load or not the ones that were pinned."""


class DatasetError(SparclError):
    """Images of a data set are missing or do not have the expected layout."""


class NumericalError(SparclError):
    """A computation has no trustworthy result (singular, not finite)."""


class ConfigError(SparclError):
    """A setting names something that does not exist or contradicts itself."""


class OutputError(SparclError):
    """A file cannot be written: the disk is full, or the folder is read-only or no folder."""


class SkippedError(SparclError):
    """Part of what was given could not be read; all else has its answer."""


def listed(names: Sequence[object], most: int = 5) -> str:
    """Return the first names, one after the other; one that holds a comma or blank ends is quoted."""
    shown = [str(name) for name in names[:most]]
    shown = [
        repr(name) if "," in name or name != name.strip() or not name else name for name in shown
    ]
    return ", ".join(shown) + (f" and {len(names) - most} more" if len(names) > most else "")
