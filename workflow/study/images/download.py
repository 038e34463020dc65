"""Files that are fetched: a download that is resumed and used only with the right md5."""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path

from sparcl.base.errors import DatasetError
from sparcl.base.locks import locked

TIMEOUT_S = 30
BLOCK = 1 << 20


def md5_of(path: Path) -> str:
    """Return the md5 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "md5").hexdigest()


def fetch(dataset: str, url: str, md5: str, path: Path, remedy: str) -> None:
    """Download `url` to `path`. A second process that wants the same file waits for the first.

    Parameters
    ----------
    dataset : id for messages
    md5 : hash of the file
    path : where it goes; what has come so far lies beside it as ``<name>.part``
    remedy : sentence that says how else to provide the file

    Raises
    ------
    DatasetError : no network, an answer other than the file, a full disk, or another md5 (then nothing is kept)
    """
    import urllib3

    part = path.with_name(f"{path.name}.part")
    with locked(path.with_name(f".{path.name}.lock")):
        if path.is_file():
            return
        try:
            _resume(url, part)
            if md5_of(part) == md5:
                os.replace(part, path)
                return
            part.unlink()
        # Errors of requests are of the system's kind; a redirect to no address is a ValueError too.
        except (OSError, ValueError, urllib3.exceptions.HTTPError) as error:
            size = part.stat().st_size if part.exists() else 0
            kept = f"The {size} bytes that have come are kept in {part}: the same command resumes from there."
            raise DatasetError(
                f"{dataset}: could not download {url} ({type(error).__name__}: {error}). "
                f"{kept if size else 'Nothing has come that could be kept.'} {remedy}"
            ) from error
        raise DatasetError(
            f"{dataset}: {url} gave another file than the one with md5 {md5}; it was deleted. The download was "
            f"disturbed, or the publisher has replaced the file. Try again. {remedy}"
        )


def _resume(url: str, part: Path) -> None:
    """Append to `part` what is missing of a file (HTTP Range), block by block as it comes.

    The bytes are stored as they are sent: of a compressed archive its publisher's hash is stated, so nothing is
    decoded on the way. An answer ends where it says that it does; one that does not say is refused.
    """
    import requests
    from tqdm import tqdm

    reached = part.stat().st_size if part.exists() else 0
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={reached}-"} if reached else {})
    with requests.get(url, headers=headers, stream=True, timeout=TIMEOUT_S) as answer:
        if answer.status_code == 416:  # the part is already the whole file
            return
        answer.raise_for_status()
        if answer.status_code != 206:
            reached = 0
        elif not answer.headers.get("Content-Range", "").startswith(f"bytes {reached}-"):
            raise OSError(f"the server sends another range than from byte {reached}")
        length = answer.headers.get("Content-Length", "")
        if not length.isdecimal():
            raise OSError("the server does not say how large the file is")
        end = reached + int(length)
        shown = {"unit": "B", "unit_scale": True, "mininterval": 1.0, "file": sys.__stderr__}
        bar = tqdm(total=end, initial=reached, desc=part.stem, **shown)
        with bar, part.open("ab" if reached else "wb") as file:
            while reached < end:
                block = answer.raw.read1(min(BLOCK, end - reached), decode_content=False)
                if not block:
                    raise OSError(f"the connection ended after {reached} of {end} bytes")
                file.write(block)
                reached += len(block)
                bar.update(len(block))
