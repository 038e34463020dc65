"""Set one method of a suite against others, pair by pair."""

from study.pipeline import adapter
from study.report import comparison, summary
from study.sealed import RUN, read_sealed


def main(snakemake) -> None:
    records = [read_sealed(path, RUN) for path in snakemake.input.records]
    rows = comparison.compare(records, **snakemake.params.spec)
    summary.write_csv(summary.frame(rows, summary.COMPARED), snakemake.output[0])


if __name__ == "__main__":
    with adapter.logged(snakemake.log, snakemake.output):  # noqa: F821
        main(snakemake)  # noqa: F821
