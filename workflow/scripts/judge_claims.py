"""Judge every claim of the ledger on the summaries, and write the ledger out."""

from pathlib import Path

from figures import claims_table
from sparcl.base.files import write_text
from study.pipeline import adapter
from study.report import claims
from study.report.reading import read_csv


@adapter.script(sealed=True)
def main(snakemake) -> None:
    # paper/<suite>/summary/<frame>.csv and timings/<frame>.csv
    paths = [Path(path) for path in snakemake.input.csv]
    frames = {(path.parts[1], path.stem): read_csv(path) for path in paths}
    for path in map(Path, snakemake.input.timings):
        frames["timings", path.stem] = read_csv(path)
    judged = claims.judge(snakemake.params.ledger, frames, snakemake.params.known)
    texts = claims_table.texts(claims_table.rows(judged, snakemake.params.labels))
    for path in snakemake.output:
        write_text(path, texts[Path(path).suffix])
