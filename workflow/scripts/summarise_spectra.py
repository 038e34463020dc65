"""Gather spectrum traces into spectrum.csv and the advice drawn from them."""

from study.pipeline import adapter
from study.report import summary
from study.sealed import listed


@adapter.script(sealed=True)
def main(snakemake) -> None:
    for name, frame in summary.spectra(listed(snakemake.input.traces)).items():
        summary.write_csv(frame, snakemake.output[name])
