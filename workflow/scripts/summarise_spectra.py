"""Gather spectrum traces into spectrum.csv and the advice drawn from them."""

from study.pipeline import adapter
from study.report import summary
from study.sealed import listed


@adapter.script(sealed=True)
def main(snakemake) -> None:
    traces = listed(snakemake.input.traces)
    summary.write_csv(summary.spectra(traces), snakemake.output.spectrum)
    summary.write_csv(summary.recommendations(traces), snakemake.output.recommendations)
