"""Extract the features of one split of one data set from its images."""

from sparcl import adapter
from sparcl.features.extract import extract_split


def main(snakemake) -> None:
    names, spec = snakemake.wildcards, snakemake.params.spec
    extract_split(
        snakemake.output.features,
        names.dataset,
        snakemake.config["datasets"][names.dataset] | spec["dataset"],
        names.backbone,
        spec["backbone"],
        names.split,
        snakemake.config["extraction"] | spec["extraction"],
        *snakemake.input.split,
    )


if __name__ == "__main__":
    with adapter.logged(snakemake.log):  # noqa: F821
        main(snakemake)  # noqa: F821
