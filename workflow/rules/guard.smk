"""One run at a time in a folder.

The kernel drops this lock together with the process that holds it, after kill -9 too. Snakemake's
own lock files outlive such a process and would stop the next run (profiles/default: nolock).
"""

import fcntl


onstart:
    global RUNNING  # an open file; closing it would drop the lock
    RUNNING = open(".snakemake/running", "a", encoding="utf-8")
    try:
        fcntl.flock(RUNNING, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise WorkflowError(
            "Another run is at work in this folder; it goes on unharmed. Wait until it has ended, "
            "or end it, then start again."
        ) from None
