"""Run one method over every class order on every stream of a suite that goes wrong, and write the records."""

from study.jobs import Job, Run
from study.pipeline import adapter
from study.streams import run as stressed


@adapter.script()
def main(snakemake) -> None:
    job = Job(snakemake)

    def record(run: Run) -> dict:
        streams = job.spec["streams"], job.spec["rated"], run.order["order"]
        learner = job.spec["learner"], run.hyper
        return run.record(stressed.run(*run.splits(), run.sessions, *streams, *learner))

    job.write(record)
