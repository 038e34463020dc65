"""Take the differences between all pairs of a suite's methods from its records."""

from study.pipeline import adapter
from study.report import comparison, summary
from study.sealed import listed


@adapter.script(sealed=True)
def main(snakemake) -> None:
    given = snakemake.input
    table = comparison.compare(listed(given.records), given.manifests, **snakemake.params.spec)
    summary.write_csv(table, snakemake.output[0])
