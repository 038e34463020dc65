"""Draw one figure from the summaries."""

from figures import render
from study.pipeline import adapter


@adapter.script(sealed=True)
def main(snakemake) -> None:
    render(
        "figure",
        snakemake.wildcards.figure,
        snakemake.input.csv,
        snakemake.params.options,
        list(snakemake.output),
    )
