"""Find the files of a data set: its local folder, its local archive, else a download."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from sparcl.base.errors import DatasetError
from sparcl.extraction.storage.folder import FolderStorage
from sparcl.extraction.storage.protocol import Storage
from sparcl.extraction.weights import cache_folder
from study.images.archive import COMPRESSED, open_archive
from study.images.download import fetch, md5_of


def open_storage(dataset: str, block: dict[str, Any], root: str = "", cache: str = "") -> Storage:
    """Find the files of a data set: its local folder, its local archive, else a download.

    Parameters
    ----------
    dataset : its id
    block : its settings, of which `root`, `folder`, `archive`, `url` and `md5` are read
    root : folder that holds `folder` or `archive` unless the block has its own; by default $SPARCL_DATA
    cache : folder of downloads and decompressed archives, see `weights.cache_folder`

    Raises
    ------
    DatasetError : nowhere to be found (the message names every way to give the files), another file than the
        md5 says, or an unsafe archive
    """
    place = local_place(block, root)
    folder, archive, url = (block.get(key, "") for key in ("folder", "archive", "url"))
    remedy = _remedy(dataset, block)
    if place and (place / folder).is_dir():
        return FolderStorage(place / folder, block)
    if place and archive and (place / archive).is_file():
        path = place / archive
    elif url:
        path = cache_folder(cache) / "data" / archive
        if not path.is_file():
            fetch(dataset, url, block["md5"], path, remedy)
    else:
        found = f"no {place / folder} exists" if place else "nothing says where its images are"
        raise DatasetError(f"{dataset}: {found}. {remedy}")
    if "md5" in block and (found := md5_of(path)) != block["md5"]:
        raise DatasetError(
            f"{dataset}: {path} has md5 {found}, and `datasets.{dataset}.md5` states {block['md5']}. The file is "
            f"incomplete or another version: delete it. {remedy}"
        )
    return open_archive(path, folder, cache)


def local_place(block: dict[str, Any], root: str = "") -> Path | None:
    """Return the folder that `folder` and `archive` are looked for in, if anything names one."""
    base = block.get("root") or root or os.environ.get("SPARCL_DATA", "")
    return Path(base).expanduser() if base else None


def _remedy(dataset: str, block: dict[str, Any]) -> str:
    folder, archive, url = (block.get(key, "") for key in ("folder", "archive", "url"))
    if not folder:
        return (
            f"Correct `datasets.{dataset}.root`: the folder that holds one folder of images per class, "
            "or train/ and test/ with one each."
        )
    ways = [f"{folder}/ (a folder)"]
    if archive:
        kind = "as published" if archive.lower().endswith(COMPRESSED) else "an uncompressed tar"
        ways.append(f"{archive} ({kind})")
    text = (
        f"Put {' or '.join(ways)} into one folder and name that folder in the environment variable SPARCL_DATA, in "
        f"`extraction.image_root` or in `datasets.{dataset}.root`"
    )
    if url:
        text += (
            f"; or download {url} (md5 {block['md5']}) on a machine with network and put it there"
        )
    if block.get("features") == "bundle":
        text += f"; or use the bundled features (`datasets.{dataset}.features`: bundle)"
    return text + "."
