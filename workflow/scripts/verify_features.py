"""Check a bundled feature file against its manifest, and vouch for it with a copy of the manifest."""

import shutil

from sparcl.features import store
from sparcl.pipeline import adapter


def main(snakemake) -> None:
    store.verify(snakemake.input.features, snakemake.input.manifest)
    shutil.copyfile(snakemake.input.manifest, snakemake.output[0])


if __name__ == "__main__":
    with adapter.logged(snakemake.log):  # noqa: F821
        main(snakemake)  # noqa: F821
