"""Run one method over one class order on every stream of a suite that goes wrong, and write the record."""

from study.jobs import Job
from study.pipeline import adapter
from study.streams import run


def main(snakemake) -> None:
    job = Job.read(snakemake)
    streams = job.spec["streams"], job.spec["rated"], job.order["order"]
    record = run.run(*job.splits(), job.sessions, *streams, job.spec["learner"], job.hyper)
    job.write(snakemake.output[0], record)


if __name__ == "__main__":
    with adapter.logged(snakemake.log):  # noqa: F821
        main(snakemake)  # noqa: F821
