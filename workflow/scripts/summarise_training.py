"""Gather what the training of each session showed into one table."""

from study.pipeline import adapter
from study.report import summary, training


def main(snakemake) -> None:
    summary.write_csv(training.summarise(snakemake.input.records), snakemake.output.training)


if __name__ == "__main__":
    with adapter.logged(snakemake.log, snakemake.output):  # noqa: F821
        main(snakemake)  # noqa: F821
