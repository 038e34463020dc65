"""Add up the sums of all shards, which must be those of all training samples."""

from study.pipeline import adapter
from study.sums import merging


def main(snakemake) -> None:
    total = merging.merge_saved(snakemake.input.sums)
    total.complete(snakemake.input.train, snakemake.input.manifests[0])
    total.save(snakemake.output[0])


if __name__ == "__main__":
    with adapter.logged(snakemake.log):  # noqa: F821
        main(snakemake)  # noqa: F821
