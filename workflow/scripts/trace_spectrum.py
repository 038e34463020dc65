"""Measure, over the class orders of a suite that are traced, what depends on the sums R and C only."""

from sparcl.protocol import diagnostics
from study.jobs import Job, Run
from study.loop import experiment
from study.pipeline import adapter


@adapter.script()
def main(snakemake) -> None:
    job = Job(snakemake)

    def trace(run: Run) -> dict:
        parts = experiment.arrivals(*run.splits(), run.sessions, run.of_sample)
        sessions = [(part.features, part.labels) for part in parts]
        traced = diagnostics.trace(sessions, *(job.spec[key] for key in ("ridge", "tau", "modes")))
        advice = diagnostics.recommend(traced["sessions"], job.spec["recommend"])
        names = run.names | {"order": run.order["order"]}
        return traced | {"names": names, "recommended": advice}

    job.write(trace)
