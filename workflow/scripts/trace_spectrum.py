"""Measure, over one class order, what depends on the sums R and C only."""

from sparcl.protocol import diagnostics, experiment
from study.jobs import Job
from study.pipeline import adapter
from study.sealed import write_sealed


def main(snakemake) -> None:
    job = Job.read(snakemake)
    parts = experiment.arrivals(*job.splits(), job.sessions, job.of_sample)
    sessions = [(part.features, part.labels) for part in parts]
    traced = diagnostics.trace(sessions, *(job.spec[key] for key in ("ridge", "tau", "modes")))
    advice = diagnostics.recommend(traced["sessions"], job.spec["recommend"])
    names = job.names | {"order": int(job.names["order"])}
    write_sealed(snakemake.output[0], traced | {"names": names, "recommended": advice})


if __name__ == "__main__":
    with adapter.logged(snakemake.log):  # noqa: F821
        main(snakemake)  # noqa: F821
