"""Where this project is: the study and the figures are no installed packages, and its jobs find them there."""

import os
import sys
from pathlib import Path


def project():
    """Return the folder of this project: that of this file, or a checkout of what another workflow's `module` names.

    Snakemake fetches the rules and scripts of a repository one by one, but not the packages that they import. A file
    that two commits have in common keeps its time in the checkout, so that another tag reruns what it changes.
    """
    rules = workflow.current_basedir
    if rules.is_local:
        return Path(rules).parents[1]
    folder = Path(".snakemake/code").absolute()
    if workflow.is_main_process:
        folder.mkdir(parents=True, exist_ok=True)
        repository = rules.hosted_repo.repo
        place = {"GIT_DIR": repository.git_dir, "GIT_WORK_TREE": str(folder)}
        with repository.git.custom_environment(
            **place, GIT_INDEX_FILE=f"{folder}/.index"
        ):
            repository.git.read_tree("--reset", "-u", rules.ref)
    return folder


CODE = project()
PLACES = [str(CODE), str(CODE / "workflow")]
sys.path[:0] = [folder for folder in PLACES if folder not in sys.path]
PLACES += filter(None, [os.getenv("PYTHONPATH")])
os.environ |= {"PYTHONPATH": os.pathsep.join(PLACES)}
# A job is an interpreter of its own: without bytecode it would compile 120 modules again, 0.2 s.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
