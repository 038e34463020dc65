"""Writing files so that a killed process never leaves half of one under its final name."""

import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sparcl.base.errors import InputError, OutputError


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path beside ``path`` and rename it to ``path`` if the block succeeds.

    The temporary name carries the process id and a number drawn for this call: children of a killed
    driver live on and may still be writing when the command is started again, and processes of two
    machines that share a disk may have the same id.

    Raises
    ------
    OutputError
        When the system refuses to write: disk full, folder read-only, or a file where a folder should be.
    """
    path = Path(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            yield temporary
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise OutputError(
            f"{path}: cannot be written ({error.strerror or error}). Make room on the disk or make the folder "
            "writable, then run again; nothing half-written stays under this name."
        ) from error


def write_text(path: str | Path, text: str) -> None:
    """Write ``text`` as UTF-8 with line feeds, whole or not at all."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def write_json(path: str | Path, content: Any) -> None:
    """Write ``content`` as JSON with sorted keys: equal content gives equal bytes."""
    write_text(path, json.dumps(content, sort_keys=True, separators=(",", ":")) + "\n")


def read_json(path: str | Path) -> Any:
    """Read what :func:`write_json` wrote.

    Raises
    ------
    InputError
        When the file is no JSON: somebody else has written into it.
    """
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except ValueError as error:
        raise InputError(
            f"{path}: damaged ({error}). Delete the file and run again; it will be made anew."
        ) from error
