"""A run as an RO-Crate: ``python -m study.pipeline.crate SUITE OUT.zip``, once the suite has run.

The archive holds run records, summaries, tables and figures, and the settings, versions and manifests behind them. The
code is named by its commit, and files of features by their hashes.
"""

import argparse
import hashlib
import subprocess
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from mimetypes import guess_type
from pathlib import Path
from typing import Any

from rocrate.model import ContextEntity, Entity
from rocrate.rocrate import ROCrate

from sparcl import __version__
from sparcl.base.errors import InputError, SparclError
from study.pipeline import outside, paths, plan
from study.pipeline.configuration import load, read_yaml
from study.places import CATALOGUES

# Of a crate of one run; of a process, of a workflow, and of the workflow alone.
PROFILES = ("ro/wfrun/process/0.5", "ro/wfrun/workflow/0.5", "workflowhub/workflow-ro-crate/1.0")
LICENCES = {"Apache-2.0": "https://www.apache.org/licenses/LICENSE-2.0"}


def crate(config: dict[str, Any], suite: str) -> ROCrate:
    """Return the crate of a suite that has run in this folder, a clone of the repository.

    Raises
    ------
    InputError
        An output is missing or was edited, or code and settings are not those of a commit.
    """
    if suite not in config["suites"]:
        raise InputError(f"there is no suite {suite}; there are {', '.join(config['suites'])}")
    outputs = [*plan.records(config, suite), *plan.paper_files(config, suite)]
    if missing := [path for path in outputs if not Path(path).is_file()]:
        raise InputError(
            f"{missing[0]}: {len(missing)} of {len(outputs)} outputs of suite {suite} are missing. Make them: "
            f"make results SUITE={suite}"
        )
    if edited := sorted(outside.edited().keys() & {*outputs}):
        raise InputError(
            f"{edited[0]}: it was edited by hand. Make it again: make results SUITE={suite}"
        )
    if changed := _git("status", "--porcelain", "--untracked-files=no", "--", ".", ":!paper"):
        raise InputError(
            f"{changed.split()[1]}: not as in the commit that the crate would name. Commit it, or take it back."
        )
    block = config["suites"][suite]
    features = [
        paths.feature_file(config, dataset, backbone, split)
        for dataset in block["datasets"]
        for backbone in block["backbones"]
        for split in ("train", "test")
    ]
    settings = ["params.yaml", f"config/suites/{suite}.yaml", "requirements/core.txt"]
    settings += [f"config/{name}.yaml" for name in CATALOGUES]
    settings += [path.replace(".h5", ".json") for path in features]
    return _described(suite, features, settings, outputs)


def _described(
    suite: str, features: Iterable[str], settings: Iterable[str], outputs: Iterable[str]
) -> ROCrate:
    """Return the crate with its entities: one action, from features and settings to outputs, by the workflow."""
    citation = read_yaml(Path("CITATION.cff"))
    made = ROCrate(version="1.1")
    made.name = f"SPARCL, suite {suite}"
    made.description = " ".join(citation["abstract"].split())
    licence = {"@type": "CreativeWork", "name": citation["license"]}
    made.license = made.add(ContextEntity(made, LICENCES[citation["license"]], licence))
    made.keywords = ", ".join(citation["keywords"])
    made.datePublished = datetime.now(UTC)
    made.creator = [
        made.add(ContextEntity(made, f"#author-{n}", {"@type": "Organization"} | author))
        for n, author in enumerate(citation["authors"])
    ]
    for profile in (f"https://w3id.org/{name}" for name in PROFILES):
        work = {"@type": "CreativeWork", "name": profile}
        made.root_dataset.append_to("conformsTo", made.add(ContextEntity(made, profile, work)))
    properties = {"version": _git("rev-parse", "HEAD"), "softwareVersion": __version__}
    workflow = made.add_workflow(
        "Snakefile", "Snakefile", main=True, lang="snakemake", properties=properties
    )
    hashed = [
        made.add(ContextEntity(made, f"#{path}", {"@type": "CreativeWork"} | _facts(path)))
        for path in features
    ]
    given = [_file(made, path) for path in settings if Path(path).is_file()]
    results = [_file(made, path) for path in outputs]
    ended = max(Path(path).stat().st_mtime for path in outputs)
    made.add_action(
        workflow,
        object=[*hashed, *given],
        result=results,
        properties={
            "name": f"make results SUITE={suite}",
            "endTime": datetime.fromtimestamp(ended, UTC).isoformat(timespec="seconds"),
        },
    )
    return made


def _facts(path: str) -> dict[str, Any]:
    content = Path(path).read_bytes()
    return {
        "name": path,
        "sha256": hashlib.sha256(content).hexdigest(),
        "contentSize": str(len(content)),
        "encodingFormat": guess_type(path)[0] or "application/octet-stream",
    }


def _file(made: ROCrate, path: str) -> Entity:
    return made.add_file(path, path, properties=_facts(path))


def _git(*arguments: str) -> str:
    run = subprocess.run(["git", *arguments], capture_output=True, text=True)
    if run.returncode:
        raise InputError(f"git {arguments[0]}: {run.stderr.strip()}. A crate is made in a clone.")
    return run.stdout.strip()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m study.pipeline.crate", description=__doc__)
    parser.add_argument("suite")
    parser.add_argument("out", metavar="OUT.zip")
    asked = parser.parse_args()
    try:
        crate(load(Path()), asked.suite).write_zip(asked.out)
    except SparclError as error:
        sys.exit(f"{type(error).__name__}: {error}")
