"""Make one feature file of the shards of a split: a view, which copies no features."""

from study.images import shards
from study.pipeline import adapter


@adapter.script()
def main(snakemake) -> None:
    shards.merge(snakemake.output.features, snakemake.input.shards)
