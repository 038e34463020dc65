"""Gather the records of streams that go wrong into the summaries of a suite."""

from study.pipeline import adapter
from study.report import stressed, summary
from study.sealed import listed


def main(snakemake) -> None:
    for name, frame in stressed.summarise(listed(snakemake.input.records)).items():
        summary.write_csv(frame, snakemake.output[name])


if __name__ == "__main__":
    with adapter.logged(snakemake.log, snakemake.output):  # noqa: F821
        main(snakemake)  # noqa: F821
