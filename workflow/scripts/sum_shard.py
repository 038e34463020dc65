"""Sum one shard of the training features, class by class or by the sessions of a class order."""

from sparcl.app.sums_file import SumsFile
from sparcl.base.sealed import ORDER, read_sealed
from sparcl.pipeline import adapter


def main(snakemake) -> None:
    given, normalize = snakemake.input, snakemake.wildcards.scale == "unit"
    sessions = read_sealed(given.order, ORDER)["sessions"] if given.get("order") else None
    summed = SumsFile.of_file(given.features, normalize, sessions, given.manifest)
    summed.save(snakemake.output[0])


if __name__ == "__main__":
    with adapter.logged(snakemake.log):  # noqa: F821
        main(snakemake)  # noqa: F821
