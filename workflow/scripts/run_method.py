"""Run one method over every class order of a suite and write the records."""

from study.jobs import Job, Run
from study.loop import experiment
from study.pipeline import adapter


@adapter.script()
def main(snakemake) -> None:
    job = Job(snakemake)

    def record(run: Run) -> dict:
        learner = job.spec["learner"], run.hyper, job.device
        return run.record(experiment.run(*run.splits(), run.sessions, *learner, run.of_sample))

    job.write(record)
