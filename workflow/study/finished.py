"""Records of finished class orders: a job that is started again computes those that are missing.

Snakemake deletes the folder that a job makes before the job starts, and after it has failed.  A job therefore writes
each record to results/finished as soon as it is computed, under a hash of all that determines it, and fills its folder
from there in the end.
"""

import hashlib
import json
import shutil
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from sparcl.base.files import replacing
from study.sealed import is_sealed, write_sealed


def place(folder: str | Path) -> Path:
    """Return where the records of a job's folder ``results/...`` are kept."""
    above, _, below = Path(folder).as_posix().rpartition("results/")
    return Path(f"{above}results/finished/{below}")


def key(told: Any, files: Iterable[str | Path]) -> str:
    """Return the hash of what determines a record: what the job is told of it, as JSON, and the content of files."""
    digests = [told]
    for file in files:
        with open(file, "rb") as content:
            digests.append(hashlib.file_digest(content, "sha256").hexdigest())
    return hashlib.sha256(json.dumps(digests, sort_keys=True).encode()).hexdigest()


def fill(
    folder: str | Path, keys: Mapping[str, str], compute: Callable[[str], Mapping[str, Any]]
) -> None:
    """Write records into a folder, computing those that are not finished, and forget others that were in it.

    Parameters
    ----------
    keys : of the records, by name
    compute : returns the record of a name
    """
    kept = {name: place(folder) / f"{name}.{digest}.json" for name, digest in keys.items()}
    for name, path in kept.items():
        if not is_sealed(path):
            write_sealed(path, compute(name))
    for name, path in kept.items():
        with replacing(Path(folder) / f"{name}.json") as temporary:
            shutil.copyfile(path, temporary)
    for path in {*place(folder).glob("*.json")} - {*kept.values()}:
        path.unlink(missing_ok=True)


def unchanged(folder: Path) -> bool:
    """Tell whether the records in a folder are those that its job has left there."""
    found = {path.stem: path for path in folder.glob("*.json")}
    kept = {path.name.partition(".")[0]: path for path in place(folder).glob("*.json")}
    return found.keys() == kept.keys() and all(
        found[name].read_bytes() == kept[name].read_bytes() for name in found
    )


def drop_forced(dag: Any, settings: Any) -> None:
    """Forget the records of the jobs that Snakemake's command line forces: they would be taken as they are."""
    named = {*settings.forcerun, *(settings.targets if settings.forcetargets else ())}
    for job in dag.needrun_jobs():
        if job.rule in dag.forcerules or not named.isdisjoint(job.output):
            for path in job.output:
                shutil.rmtree(place(path), ignore_errors=True)
