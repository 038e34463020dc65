"""Gather spectrum traces into spectrum.csv and the advice drawn from them."""

from study.pipeline import adapter
from study.report import summary
from study.sealed import listed


def main(snakemake) -> None:
    traces = listed(snakemake.input.traces)
    summary.write_csv(summary.spectra(traces), snakemake.output.spectrum)
    summary.write_csv(summary.recommendations(traces), snakemake.output.recommendations)


if __name__ == "__main__":
    with adapter.logged(snakemake.log, snakemake.output):  # noqa: F821
        main(snakemake)  # noqa: F821
