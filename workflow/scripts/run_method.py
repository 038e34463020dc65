"""Run one method over every class order of a suite and write the records."""

from study.jobs import Job, Run
from study.loop import experiment
from study.pipeline import adapter


def main(snakemake) -> None:
    job = Job(snakemake)

    def record(run: Run) -> dict:
        learner = job.spec["learner"], run.hyper, job.device
        return run.record(experiment.run(*run.splits(), run.sessions, *learner, run.of_sample))

    job.write(record)


if __name__ == "__main__":
    with adapter.logged(snakemake.log):  # noqa: F821
        main(snakemake)  # noqa: F821
