"""Choose one method's hyper-parameters on the base session's training samples, for every class order of a suite."""

from study import selection
from study.jobs import Job, Run
from study.loop import experiment
from study.pipeline import adapter


@adapter.script()
def main(snakemake) -> None:
    job = Job(snakemake)

    def chosen(run: Run) -> dict:
        # a base class may have samples in later sessions too
        train = experiment.arrivals(*run.splits(), run.sessions, run.of_sample)[0]
        rule = job.spec["selection"] | {"seed": run.seed, "device": job.device}
        learner = job.spec["learner"], run.hyper
        return selection.select(train, run.sessions[0], *learner, **rule) | run.names

    job.write(chosen)
