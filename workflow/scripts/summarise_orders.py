"""Gather the adjacent similarity of a suite's class orders, and of the drawn ones that they were made from."""

from study.pipeline import adapter
from study.report import summary
from study.sealed import ORDER, read_sealed

COLUMNS = ["suite", "dataset", "order", "similarity", "similarity_drawn"]


@adapter.script(sealed=True)
def main(snakemake) -> None:
    rows = [read_sealed(path, ORDER) for path in snakemake.input.orders]
    summary.write_csv(summary.frame(rows, COLUMNS), snakemake.output.orders)
