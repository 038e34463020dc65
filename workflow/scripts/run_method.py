"""Run one method over one class order and write the record."""

from sparcl.protocol import experiment
from study.jobs import Job
from study.pipeline import adapter


def main(snakemake) -> None:
    job = Job.read(snakemake)
    device = job.spec.get("device", "cpu")
    learner = job.spec["learner"], job.hyper, device
    record = experiment.run(*job.splits(), job.sessions, *learner, job.of_sample)
    job.write(snakemake.output[0], record)


if __name__ == "__main__":
    with adapter.logged(snakemake.log):  # noqa: F821
        main(snakemake)  # noqa: F821
