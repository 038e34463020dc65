"""Changes to outputs by others than their jobs, which file times alone do not show."""

import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sparcl.base.errors import InputError
from sparcl.base.files import read_json
from study.finished import unchanged
from study.pipeline.adapter import SEALS
from study.pipeline.paths import feature_file
from study.pipeline.plan import trained

LOGS = Path("results/logs")
FOLDERS = ("runs/*/*/*/*", "streams/*/*/*/*", "selection/*/*/*/*", "spectra/*/*/*")
RECORDS = ("runs/*/*/*/*/*.json", "streams/*/*/*/*/*.json")
# Records hold the hashes of the features that a run read; JSON with sorted keys and without spaces.
HASH = re.compile(rb'"(train|test)_sha256":"([0-9a-f]{64})"')


def edited() -> dict[str, str]:
    """Return the outputs in paper/ that are not as their job wrote them, each with its rule.

    The hashes beside a job's log are compared with the files. A file without a log here, as in a fresh clone, was
    made elsewhere: git knows whether it was changed.
    """
    return {
        path: seals.relative_to(LOGS).parts[0]
        for seals in sorted(LOGS.rglob(f"*{SEALS}"))
        for digest, path in _seals(seals)
        if Path(path).is_file() and hashlib.sha256(Path(path).read_bytes()).hexdigest() != digest
    }


def _seals(file: Path) -> Iterator[tuple[str, str]]:
    for line in file.read_text(encoding="utf-8").splitlines():
        digest, _, path = line.partition("  ")
        yield digest, path


def changed_records(config: Mapping[str, Any]) -> list[str]:
    """Return the folders of records that are not as their job has left them, or that no job here has left."""
    images = set(trained(config))
    return [
        str(folder)
        for kind in FOLDERS
        for folder in sorted(Path("results").glob(kind))
        if folder.is_dir() and folder.name not in images and not unchanged(folder)
    ]


def renew_features(config: Mapping[str, Any]) -> list[str]:
    """Give features other than those that a run record was made from a time after the record; return their files.

    A file that keeps its old time when it is put in the place of another (``cp -p``, ``rsync -a``, ``mv``) would
    rerun nothing.

    Raises
    ------
    InputError
        The system does not allow another time.
    """
    images = set(trained(config))  # their records hold hashes of pixels
    stated: dict[str, str] = {}
    renewed: list[str] = []
    for record in sorted(path for kind in RECORDS for path in Path("results").glob(kind)):
        dataset, backbone, method = record.parts[3:6]
        if dataset not in config["datasets"] or method in images:
            continue
        for split, digest in HASH.findall(record.read_bytes()):
            names = (config, dataset, backbone, split.decode())
            features, manifest = feature_file(*names), feature_file(*names, "json")
            if manifest not in stated:
                stated[manifest] = _stated(Path(manifest))
            if features in renewed or stated[manifest] in ("", digest.decode()):
                continue
            if os.path.getmtime(manifest) <= os.path.getmtime(record):
                _touch(features, manifest)
                renewed.append(features)
    return renewed


def _stated(manifest: Path) -> str:
    """Return the hash of the features that a manifest states, empty where a job will refuse it or there is none."""
    try:
        return str(read_json(manifest)["arrays"]["features"]["sha256"])
    except (InputError, KeyError, OSError, TypeError):
        return ""


def _touch(*paths: str) -> None:
    for path in paths:
        try:
            os.utime(path)
        except OSError as error:
            raise InputError(
                f"{path}: these are not the features that runs were made from, but their time is older than the runs', "
                f"and the system allows no other ({error.strerror}). Set it (touch {path}), or delete results/runs."
            ) from error
