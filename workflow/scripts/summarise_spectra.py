"""Gather spectrum traces into spectrum.csv."""

from sparcl import adapter, summary


def main(snakemake) -> None:
    summary.write_csv(summary.spectra(snakemake.input.traces), snakemake.output[0])


if __name__ == "__main__":
    with adapter.logged(snakemake.log):  # noqa: F821
        main(snakemake)  # noqa: F821
