"""One run at a time in a folder, and what has been changed there by others than its jobs.

The kernel drops this lock together with the process that holds it, after kill -9 too. Snakemake's
own lock files outlive such a process and would stop the next run (profiles/default: nolock).
"""

import fcntl

from snakemake.logging import logger
from snakemake.persistence.file import FilePersistence
from study import finished
from study.pipeline.adapter import SAID


onstart:
    global RUNNING  # an open file; closing it would drop the lock
    RUNNING = open(".snakemake/running", "a", encoding="utf-8")
    try:
        fcntl.flock(RUNNING, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise WorkflowError(
            "Another run is active in this folder and is not affected. Wait until it has ended, "
            "or end it, then start again."
        ) from None
    SAID.write_text("", encoding="utf-8")
    finished.drop_forced(workflow.dag, workflow.dag_settings)


# Snakemake calls the `onstart` of a run's own Snakefile, not that of a module.
if not workflow.modifier.is_main_snakefile():
    workflow._onstart = lambda log, start=workflow.globals["onstart"]: start()


if workflow.is_main_process:
    for path in ask(outside.renew_features, config):
        logger.warning(
            f"{path} holds other features than those that runs were made from."
        )
    for path in (*EDITED, *outside.changed_records(config)):
        logger.warning(f"{path} {EDITED_SAYS} Where it is needed, it is made again.")
        # as if its job had been killed (profiles/default: rerun-incomplete)
        FilePersistence(nolock=True)._mark_incomplete(path, None)
