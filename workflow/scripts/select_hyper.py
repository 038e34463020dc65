"""Choose one method's hyper-parameters on the base session's training samples."""

from sparcl.protocol import experiment
from study import selection
from study.jobs import Job
from study.pipeline import adapter
from study.sealed import write_sealed


def main(snakemake) -> None:
    job = Job.read(snakemake)
    # a base class may have samples in later sessions too
    train = experiment.arrivals(*job.splits(), job.sessions, job.of_sample)[0]
    rule = job.spec["selection"] | {"seed": job.seed, "device": job.spec.get("device", "cpu")}
    chosen = selection.select(train, job.sessions[0], job.spec["learner"], job.hyper, **rule)
    write_sealed(snakemake.output[0], chosen | job.names)


if __name__ == "__main__":
    with adapter.logged(snakemake.log):  # noqa: F821
        main(snakemake)  # noqa: F821
