"""Gather what the training of each session showed into one table."""

from study.pipeline import adapter
from study.report import summary, training


@adapter.script(sealed=True)
def main(snakemake) -> None:
    summary.write_csv(training.summarise(snakemake.input.records), snakemake.output.training)
