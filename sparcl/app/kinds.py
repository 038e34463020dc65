"""Kinds of npz files of this project, for code that opens one and for messages about another kind."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sparcl.base import typed
from sparcl.base.errors import InputError, SparclError
from sparcl.base.npz import names, read_npz
from sparcl.base.state import HEADER
from sparcl.features.layout import is_hdf5

MODEL = "a model of `sparcl fit`"
SUMS = "sums of `study.sums`"
CLASSIFIER = "a classifier of sparcl.Classifier.save"
LEARNER = "a learner of Learner.save"
MEMBERS = {
    MODEL: {"card", "samples", HEADER},
    CLASSIFIER: {"card", "labels", HEADER},
    SUMS: {"card", "ids"},
    LEARNER: {HEADER},
}


def check_kind(path: str | Path, *wanted: str) -> str:
    """Return the kind of a saved file; InputError, which says what it is, unless the kind is among ``wanted``."""
    if is_hdf5(path):
        raise InputError(
            f"{path}: not {' or '.join(wanted)}, but HDF5, as feature files are. `sparcl fit` makes a model of "
            "features, and `python -m study.sums` sums: name what they wrote."
        )
    members = names(path)
    found = next((kind for kind, own in MEMBERS.items() if own <= {*members}), None)
    if found not in wanted:
        shown = ", ".join(sorted(members)[:5]) + (", ..." if len(members) > 5 else "")
        what = found or f"a file of {len(members)} arrays ({shown})"
        raise InputError(f"{path}: not {' or '.join(wanted)}, but {what}. Correct the path.")
    return found


@contextmanager
def opened(
    path: str | Path, wanted: str, hints: Mapping[str, Any]
) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Give the card of a saved file, which is of these types (:func:`sparcl.base.typed.read`), and its other arrays.

    Raises
    ------
    InputError
        When the file is of another kind or was changed, and for whatever the block finds wrong in it.
    """
    check_kind(path, wanted)
    state: dict[str, Any] = read_npz(path)
    try:
        yield typed.read(state.pop("card"), hints, "card"), state
    except (
        *(KeyError, IndexError, TypeError, ValueError, AttributeError),
        *(OverflowError, RecursionError, SparclError),
    ) as error:
        raise InputError(
            f"{path}: not {wanted}, as written ({error}). It is damaged or was changed: make it again."
        ) from error
