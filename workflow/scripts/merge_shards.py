"""Make one feature file of the shards of a split: a view, which copies no features."""

from study.images import shards
from study.pipeline import adapter


def main(snakemake) -> None:
    shards.merge(snakemake.output.features, snakemake.input.shards)


if __name__ == "__main__":
    with adapter.logged(snakemake.log):  # noqa: F821
        main(snakemake)  # noqa: F821
