"""Settings, wildcards, and what ties workflow/study/pipeline to rules."""

import sys

import sparcl
from figures import module_name
from sparcl.base.errors import SparclError
from study.images.datasets import folder_stamp
from study.pipeline import (
    configuration,
    displays,
    interpreter,
    outside,
    paths,
    plan,
    specs,
)
from study.pipeline.provenance import code_hash, here, learner_modules, script_code


def ask(function, *arguments, **names):
    """Call a function while the Snakefile is read; what it refuses is shown without a traceback."""
    try:
        return function(*arguments, **names)
    except SparclError as error:
        raise WorkflowError(str(error)) from None


ask(interpreter.check, sys.executable)
ask(interpreter.check_folder, str(Path.cwd()))
ask(interpreter.check_code, sparcl.__file__, str(CODE))

# A folder that uses this workflow as a module may have a config/ of its own, which snakedeploy has copied.
SETTINGS = Path() if Path("config/methods.yaml").is_file() else CODE
# Until here config holds what --config and --configfile say; from here on, everything (scripts too).
# Jobs read what this process has checked.
config.update(
    ask(
        configuration.load,
        SETTINGS,
        config,
        check=workflow.is_main_process,
    )
)
SUITE = config["suite"]


def one_of(names):
    """Return a pattern of a wildcard; without names one that nothing matches."""
    return "|".join(names) or "(?!)"


SUITES = one_of(config["suites"])


wildcard_constraints:
    suite=SUITES,
    dataset=one_of(config["datasets"]),
    backbone=one_of(config["backbones"]),
    method=one_of(config["methods"]),
    split="train|test",
    shard=r"\d+",
    shards=r"\d+",
    scale="unit|raw",
    by=rf"classes|(?:{SUITES})-\d+",
    order=r"\d+",
    seed=r"\d+",
    timing=one_of(config["timings"]),


SHARDED = [d for d in config["datasets"] if paths.is_sharded(config, d)]
WHOLE = [d for d in config["datasets"] if d not in SHARDED]
SUMMED = [m for m, block in config["methods"].items() if "sums" in block]
TRAINED = plan.trained(config)
FITTED = [m for m in config["methods"] if m not in (*SUMMED, *TRAINED)]


def method_code(script, method):
    """Return the hash of the code of one method's jobs: another method's file is not among it."""
    return code_hash(script, *learner_modules(config["methods"][method]))


def frames(kind, name, suite):
    """Return what a figure or table reads; times count however old they are, as for the claims."""
    files = displays.frames(config, kind, name, suite)
    return [
        ancient(path) if path.startswith("timings/") else path
        for path in unedited(files)
    ]


# Outputs that were edited by hand, each with the rule that makes it.
EDITED = outside.edited() if workflow.is_main_process else {}
EDITED_SAYS = "is not as its job has written it: it was edited by hand."


def unedited(files):
    """Return files, unless one was edited and --allowed-rules keeps it from being made again."""
    allowed = workflow.dag_settings.allowed_rules
    for path in files:
        if allowed and EDITED.get(path) not in (None, *allowed):
            raise WorkflowError(
                f"{path} {EDITED_SAYS} Nothing is written from it. Make it again (snakemake --cores 1 {path}), or "
                f"delete results/logs/{EDITED[path]} to take it as it is."
            )
    return files


def stamp(dataset):
    """Return what changes with the files of a data set of one's own."""
    return folder_stamp(config["datasets"][dataset], config["extraction"]["image_root"])


def timed(timing):
    """Return the features that a timing reads, however young they are."""
    files = paths.timed_features(config, timing)
    return {dataset: ancient(path) for dataset, path in files.items()}


def megabytes(base, share=0):
    """Return the memory of a job: ``base``, and a share of its input's size; a second attempt gets three times as much."""
    return lambda w, input, attempt: int(
        (base + share * input.size_mb) * 3 ** (attempt - 1)
    )


def minutes(first):
    """Return the time after which a cluster ends a job; a second attempt gets three times as much."""
    return lambda w, attempt: first * 3 ** (attempt - 1)


def minutes_a_stream(first):
    """Return the time of a job on all class orders of a suite, given that of one."""
    return lambda w, attempt: minutes(first)(w, attempt) * len(
        plan.streams(config, w.suite)
    )
