"""Extract the features of one split of one data set, or of a shard of it, from its images."""

from study.images.extract import extract_split
from study.pipeline import adapter
from study.places import named_files


@adapter.script()
@named_files()
def main(snakemake) -> None:
    names, spec = snakemake.wildcards, snakemake.params.spec
    shard = (int(names.shard), int(names.shards)) if "shard" in names.keys() else None
    extract_split(
        snakemake.output.features,
        names.dataset,
        snakemake.config["datasets"][names.dataset] | spec["dataset"],
        names.backbone,
        spec["backbone"],
        names.split,
        snakemake.config["extraction"] | spec["extraction"],
        *snakemake.input.split,
        shard=shard,
    )
