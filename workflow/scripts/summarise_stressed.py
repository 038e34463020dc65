"""Gather the records of streams that go wrong into the summaries of a suite."""

from study.pipeline import adapter
from study.report import stressed, summary
from study.sealed import listed


@adapter.script(sealed=True)
def main(snakemake) -> None:
    for name, frame in stressed.summarise(listed(snakemake.input.records)).items():
        summary.write_csv(frame, snakemake.output[name])
