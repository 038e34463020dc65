"""Download of an archive: with progress, resumed after an interruption, and used only with the right md5."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from sparcl.base.errors import DatasetError
from sparcl.base.locks import locked

if TYPE_CHECKING:
    import urllib3

TIMEOUT_S = 30
BLOCK = 1 << 20


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
    import pooch
    import requests
    import urllib3

    path.parent.mkdir(parents=True, exist_ok=True)
    with locked(path.with_name(f".{path.name}.lock")):
        if path.is_file():
            return
        try:
            pooch.retrieve(
                url, f"md5:{md5}", fname=path.name, path=path.parent, downloader=_Resuming(path)
            )
        except ValueError as error:  # pooch: the hash of the file differs; it has removed the file
            raise DatasetError(
                f"{dataset}: {url} gave another file than the one with md5 {md5}; it was deleted. The download was "
                f"disturbed, or the publisher has replaced the file. Try again. {remedy}"
            ) from error
        except (requests.RequestException, urllib3.exceptions.HTTPError, OSError) as error:
            raise DatasetError(
                f"{dataset}: could not download {url} ({type(error).__name__}: {error}). {_kept(path)} {remedy}"
            ) from error


def _part(path: Path) -> Path:
    return path.with_name(f"{path.name}.part")


def _kept(path: Path) -> str:
    part = _part(path)
    size = part.stat().st_size if part.exists() else 0
    if not size:
        return "Nothing has come that could be kept."
    return (
        f"The {size} bytes that have come are kept in {part}: the same command goes on from there."
    )


class _Resuming:
    """A downloader for pooch that asks only for the part of a file that is missing (HTTP Range).

    The bytes are stored as they are sent: of a compressed archive its publisher's hash is stated, so nothing is
    decoded on the way. An answer ends where it says that it does; one that does not say is refused.
    """

    def __init__(self, path: Path) -> None:
        self.part = _part(path)

    def __call__(self, url: str, output_file: str, pooch: object) -> None:
        import requests

        start = self.part.stat().st_size if self.part.exists() else 0
        headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={start}-"} if start else {})
        with requests.get(url, headers=headers, stream=True, timeout=TIMEOUT_S) as answer:
            if answer.status_code != 416:  # 416: the part is already the whole file
                answer.raise_for_status()
                if answer.status_code != 206:
                    start = 0
                elif not answer.headers.get("Content-Range", "").startswith(f"bytes {start}-"):
                    raise OSError(f"the server sends another range than from byte {start}")
                length = answer.headers.get("Content-Length", "")
                if not length.isdecimal():
                    raise OSError("the server does not say how large the file is")
                self._store(answer.raw, start, start + int(length))
        os.replace(self.part, output_file)

    def _store(self, stream: urllib3.BaseHTTPResponse, start: int, end: int) -> None:
        """Write what comes behind the first `start` bytes of the part, up to `end`, block by block as it comes."""
        from tqdm import tqdm

        bar = tqdm(
            total=end,
            initial=start,
            desc=self.part.stem,
            unit="B",
            unit_scale=True,
            mininterval=1.0,
            file=sys.__stderr__,
        )
        reached = start
        with bar, self.part.open("ab" if start else "wb") as file:
            while reached < end:
                block = stream.read1(min(BLOCK, end - reached), decode_content=False)
                if not block:
                    raise OSError(f"the connection ended after {reached} of {end} bytes")
                file.write(block)
                reached += len(block)
                bar.update(len(block))
