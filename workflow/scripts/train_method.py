"""Train one method over one class order, from images to the record."""

from pathlib import Path

from study.pipeline import adapter
from study.places import named_files
from study.sealed import ORDER, read_sealed, write_sealed
from study.trained import job


@adapter.script()
@named_files()
def main(snakemake) -> None:
    names = dict(snakemake.wildcards)
    order, seed = read_sealed(snakemake.input.order, ORDER), int(names["seed"])
    record = job.train(
        names["dataset"],
        snakemake.params.spec,
        snakemake.config["datasets"][names["dataset"]],
        snakemake.config["extraction"],
        order["sessions"],
        seed,
        *snakemake.input.split,
        checkpoint=Path(snakemake.output[0]).with_suffix(".npz"),
        threads=snakemake.threads,
    )
    names |= {"order": order["order"], "seed": seed, "order_sha256": order["sha256"]}
    write_sealed(snakemake.output[0], record | names)
