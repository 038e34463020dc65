"""Gather run records into the summaries of a suite, and their means into metrics.json."""

from sparcl.base.files import write_json
from study.pipeline import adapter
from study.report import summary
from study.sealed import listed


@adapter.script(sealed=True)
def main(snakemake) -> None:
    frames = summary.summarise(*map(listed, (snakemake.input.records, snakemake.input.traces)))
    for name, frame in frames.items():
        summary.write_csv(frame, snakemake.output[name])
    write_json(snakemake.output.metrics, summary.headline(frames["runs"]))
