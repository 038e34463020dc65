"""Gather run records into the summaries of a suite."""

from sparcl import adapter, summary


def main(snakemake) -> None:
    frames = summary.summarise(snakemake.input.records, snakemake.input.traces)
    for name, frame in frames.items():
        summary.write_csv(frame, snakemake.output[name])


if __name__ == "__main__":
    with adapter.logged(snakemake.log):  # noqa: F821
        main(snakemake)  # noqa: F821
