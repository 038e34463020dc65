"""Draw one figure from the summaries."""

from figures import render
from study.pipeline import adapter


def main(snakemake) -> None:
    render(
        "figure",
        snakemake.wildcards.figure,
        snakemake.input.csv,
        snakemake.params.options,
        list(snakemake.output),
    )


if __name__ == "__main__":
    with adapter.logged(snakemake.log, snakemake.output):  # noqa: F821
        main(snakemake)  # noqa: F821
