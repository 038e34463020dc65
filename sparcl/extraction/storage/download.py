"""Download of an archive: with progress, resumed after an interruption, and used only with the right md5."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from sparcl.base.errors import DatasetError
from sparcl.base.locks import locked

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
        except (requests.RequestException, OSError) as error:
            raise DatasetError(
                f"{dataset}: could not download {url} ({type(error).__name__}: {error}). A part that is there already "
                f"is kept, the same command goes on from it. {remedy}"
            ) from error


class _Resuming:
    """A downloader for pooch that asks only for the part of a file that is missing (HTTP Range)."""

    def __init__(self, path: Path) -> None:
        self.part = path.with_name(f"{path.name}.part")

    def __call__(self, url: str, output_file: str, pooch: object) -> None:
        import requests
        from tqdm import tqdm

        start = self.part.stat().st_size if self.part.exists() else 0
        headers = {"Range": f"bytes={start}-"} if start else {}
        with requests.get(url, headers=headers, stream=True, timeout=TIMEOUT_S) as answer:
            if answer.status_code != 416:  # 416: the part is already the whole file
                answer.raise_for_status()
                resumed = answer.status_code == 206
                start = start if resumed else 0
                length = int(answer.headers.get("Content-Length", 0))
                bar = tqdm(
                    total=start + length or None,
                    initial=start,
                    desc=self.part.stem,
                    unit="B",
                    unit_scale=True,
                    mininterval=1.0,
                    file=sys.__stderr__,
                )
                with bar, self.part.open("ab" if resumed else "wb") as file:
                    for block in answer.iter_content(BLOCK):
                        file.write(block)
                        bar.update(len(block))
                if length and self.part.stat().st_size < start + length:
                    raise OSError(f"the connection ended after {self.part.stat().st_size} bytes")
        os.replace(self.part, output_file)
