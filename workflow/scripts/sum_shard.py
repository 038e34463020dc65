"""Sum one shard of the training features, class by class or by the sessions of a class order."""

from sparcl.features import store
from study import pairs
from study.pipeline import adapter
from study.sealed import ORDER, read_sealed
from study.sums.sums_file import SumsFile


@adapter.script()
def main(snakemake) -> None:
    given, names = snakemake.input, dict(snakemake.wildcards)
    stated = store.header(given.features, given.manifest).meta
    pairs.check_path(given.features, stated, names, "train")
    sessions = read_sealed(given.order, ORDER)["sessions"] if given.get("order") else None
    summed = SumsFile.of_file(given.features, names["scale"] == "unit", sessions, given.manifest)
    summed.save(snakemake.output[0])
