"""Take the differences between all pairs of a suite's methods from its records."""

from study.pipeline import adapter
from study.report import comparison, summary
from study.sealed import listed


def main(snakemake) -> None:
    given = snakemake.input
    table = comparison.compare(listed(given.records), given.manifests, **snakemake.params.spec)
    summary.write_csv(table, snakemake.output[0])


if __name__ == "__main__":
    with adapter.logged(snakemake.log, snakemake.output):  # noqa: F821
        main(snakemake)  # noqa: F821
