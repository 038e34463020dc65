"""Check a bundled feature file against its manifest and its path, and vouch for it with a copy of the manifest."""

import shutil

from sparcl.base.files import replacing
from sparcl.features import store
from study import pairs
from study.pipeline import adapter


@adapter.script()
def main(snakemake) -> None:
    path, names = snakemake.input.features, dict(snakemake.wildcards)
    data = store.read(path, snakemake.input.manifest)
    pairs.check_path(path, data.meta, names, names["split"])
    pairs.check_counts(path, data)
    with replacing(snakemake.output[0]) as temporary:
        shutil.copyfile(snakemake.input.manifest, temporary)
