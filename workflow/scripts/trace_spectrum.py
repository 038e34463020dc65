"""Measure how the spectrum of R grows over one class order, and how its old modes dilute."""

from sparcl import adapter, diagnostics
from sparcl.experiment import Split, prepared
from sparcl.features import store
from sparcl.files import read_json, write_json


def main(snakemake) -> None:
    spec, names = snakemake.params.spec, dict(snakemake.wildcards)
    data = store.read(snakemake.input.train)
    train = Split(prepared(data.features, spec["normalize"]), data.labels)
    parts = [train.rows(classes) for classes in read_json(snakemake.input.order)["sessions"]]
    sessions = [(part.features, part.labels) for part in parts]
    rows = list(diagnostics.spectrum_trace(sessions, spec["ridge"], spec["modes"]))
    write_json(snakemake.output[0], {"names": names | {"order": int(names["order"])}, "rows": rows})


if __name__ == "__main__":
    with adapter.logged(snakemake.log):  # noqa: F821
        main(snakemake)  # noqa: F821
