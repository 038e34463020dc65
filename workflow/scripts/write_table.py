"""Write one table from the summaries."""

from figures import render
from study.pipeline import adapter


@adapter.script(sealed=True)
def main(snakemake) -> None:
    render(
        "table",
        snakemake.wildcards.table,
        snakemake.input.csv,
        snakemake.params.options,
        list(snakemake.output),
    )
