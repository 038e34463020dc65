"""JSON files in results/: sealed with a hash when they are written, verified when they are read again."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from sparcl.base.errors import InputError
from sparcl.base.files import read_json, write_json

# The end of each kind's path, without the suffix, from its content.
ORDER = "{suite}/{dataset}/{order}"
RUN = "{suite}/{dataset}/{backbone}/{method}/{order}-{seed}"  # and a selection's
TRACE = "{names[suite]}/{names[dataset]}/{names[backbone]}/{names[order]}"


def write_sealed(path: str | Path, content: Mapping[str, Any]) -> None:
    """Write a mapping of plain values as JSON, with the hash of all of it as ``seal``."""
    written = json.loads(json.dumps(content))  # as it is read again
    write_json(path, {**written, "seal": seal(written)})


def read_sealed(path: str | Path, place: str) -> dict[str, Any]:
    """Read what :func:`write_sealed` wrote.

    Parameters
    ----------
    place : how the file's path ends, with names from its content

    Raises
    ------
    InputError
        When the file is no JSON, was changed after it was written, or is the file of another path.
    """
    content = read_json(path)
    if not isinstance(content, dict) or content.pop("seal", None) != seal(content):
        raise InputError(
            f"{path}: not as this project wrote it: the content does not fit its seal. Usual cause: the file was "
            "edited by hand or is older than seals. Delete the file and run again; it will be made anew."
        )
    try:
        own = place.format(**content)
    except (AttributeError, KeyError, IndexError, TypeError, ValueError) as error:
        raise InputError(
            f"{path}: another kind of file ({error!r}). Delete the file and run again; it will be made anew."
        ) from error
    if not f"/{Path(path).with_suffix('').as_posix()}".endswith(f"/{own}"):
        raise InputError(
            f"{path}: belongs to .../{own}.json, by its content. Usual cause: a file that was copied or renamed. "
            "Delete the file and run again; it will be made anew."
        )
    return content


def is_sealed(path: str | Path) -> bool:
    """Tell whether there is a file, and it is as :func:`write_sealed` wrote it."""
    try:
        content = read_json(path)
    except (InputError, FileNotFoundError):
        return False
    return isinstance(content, dict) and content.pop("seal", None) == seal(content)


def listed(outputs: Iterable[str | Path]) -> list[Path]:
    """Return the records that jobs have made: files, and those in folders."""
    paths = map(Path, outputs)
    return [f for path in paths for f in (sorted(path.glob("*.json")) if path.is_dir() else [path])]


def seal(content: Mapping[str, Any]) -> str:
    """Return the sha256 of a mapping as JSON with sorted keys."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
