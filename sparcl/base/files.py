"""Writing files so that a killed process never leaves half of one under its final name."""

import errno
import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sparcl.base.errors import InputError, OutputError

ADVICE = {
    (errno.ENOSPC, errno.EDQUOT): "Make room on the disk, or raise the quota",
    (errno.EFBIG,): "Raise the limit on file sizes (ulimit -f), or write to another file system",
    (errno.EACCES, errno.EPERM, errno.EROFS): "Make the folder writable",
    (errno.ENOTDIR, errno.EEXIST): "A file has the name that a folder needs: rename it",
    (errno.EISDIR,): "A folder has this name: choose another",
    (errno.ENAMETOOLONG,): "Choose a shorter name",
    (errno.EMFILE, errno.ENFILE): "Raise the limit on open files (ulimit -n)",
    (errno.EIO, errno.ESTALE): "The disk or its connection fails: check it, or write to another",
    (errno.ENOLCK,): "The file system keeps no locks: write to another one",
}


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path beside ``path`` and rename it to ``path`` if the block succeeds.

    The content is on the disk before the new name is, and the name before this returns, so a power failure too
    leaves the old file or the new one.

    The temporary name carries the process id and a number drawn for this call: children of a killed
    driver live on and may still be writing when the command is started again, and processes of two
    machines that share a disk may have the same id.

    Raises
    ------
    OutputError
        When ``path`` is something other than a file, or the system refuses to write; the message has the advice
        that fits the system's reason.
    """
    path = Path(path)
    if path.exists() and not path.is_file():
        kind = "a folder" if path.is_dir() else "a device, a pipe or a socket"
        raise OutputError(f"{path} is {kind} and stays as it is. Choose another name.")
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            yield temporary
            _sync(temporary)
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise unwritable(path, error, "nothing half-written stays under this name") from error
    try:
        _sync(path.parent)
    except OSError as error:
        raise OutputError(
            f"{path}: is written, whole, but the system does not confirm its name ({error.strerror or error}), which a "
            "power failure may take away. Check the disk, and whether the file is there, before you run again."
        ) from error


def unwritable(path: Path, error: OSError, then: str) -> OutputError:
    """Return the error for a file that the system refuses to write: with what helps, and what the next run finds."""
    return OutputError(
        f"{path}: cannot be written ({error.strerror or error}). {advice(error)}, then run again; {then}."
    )


def advice(error: OSError) -> str:
    """Return what helps against an error of the system, without a full stop."""
    fitting = [text for numbers, text in ADVICE.items() if error.errno in numbers]
    return fitting[0] if fitting else "Remove the cause that the system names"


def _sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # Some network file systems know no fsync of a folder.
        if error.errno not in (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP):
            raise
    finally:
        os.close(descriptor)


def write_text(path: str | Path, text: str) -> None:
    r"""Write ``text`` as UTF-8 with line feeds, whole or not at all.

    A byte of a path that is no UTF-8, a lone surrogate in Python, is written as ``\udcXX``, as JSON does.
    """
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")


def write_json(path: str | Path, content: Any) -> None:
    """Write ``content`` as JSON with sorted keys: equal content gives equal bytes."""
    write_text(path, json.dumps(content, sort_keys=True, separators=(",", ":")) + "\n")


def read_json(path: str | Path) -> Any:
    """Read what :func:`write_json` wrote.

    Raises
    ------
    InputError
        When the file is no JSON: another program has written into it.
    """
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{path}: damaged ({error}). Delete the file and run again; it will be made anew."
        ) from error
