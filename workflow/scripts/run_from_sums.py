"""Run one method over every class order of a suite from the sums of the training samples and write the records."""

from functools import lru_cache

from sparcl.base.files import read_json
from study import pairs
from study.jobs import Job, Run
from study.pipeline import adapter
from study.sums import sweep
from study.sums.sums_file import SumsFile


@adapter.script()
def main(snakemake) -> None:
    job, given = Job(snakemake), snakemake.input
    train = read_json(given.train_manifest)
    pairs.check_path(given.train_manifest, train, job.names, "train")
    of_train = {
        "train_sha256": train["arrays"]["features"]["sha256"],
        "weights_sha256": train["weights_sha256"],
    }

    @lru_cache(1)
    def summed(path: str) -> SumsFile:
        sums = SumsFile.load(path)
        sums.check_test(given.test, given.manifests[0])
        return sums

    def record(run: Run) -> dict:
        (test,), sums = run.splits(), summed(run.sums).sums
        learner = job.spec["learner"], run.hyper, job.device
        return run.record(sweep.run(sums, test, run.sessions, *learner), **of_train)

    job.write(record)
