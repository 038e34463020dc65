"""Add up the sums of all shards, which must be those of all training samples."""

from study.pipeline import adapter
from study.sums import merging


@adapter.script()
def main(snakemake) -> None:
    total = merging.merge_saved(snakemake.input.sums)
    total.complete(snakemake.input.train, snakemake.input.manifests[0])
    total.save(snakemake.output[0])
