"""Gather the adjacent similarity of a suite's class orders, and of the drawn ones that they were made from."""

from study.pipeline import adapter
from study.report import summary
from study.sealed import ORDER, read_sealed

COLUMNS = ["suite", "dataset", "order", "similarity", "similarity_drawn"]


def main(snakemake) -> None:
    rows = [read_sealed(path, ORDER) for path in snakemake.input.orders]
    summary.write_csv(summary.frame(rows, COLUMNS), snakemake.output.orders)


if __name__ == "__main__":
    with adapter.logged(snakemake.log, snakemake.output):  # noqa: F821
        main(snakemake)  # noqa: F821
