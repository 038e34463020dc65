"""Measure, over one class order, what depends on the sums R and C only."""

from sparcl.base.sealed import ORDER, read_sealed, write_sealed
from sparcl.features import matching, store
from sparcl.protocol import diagnostics, given, stress
from study.pipeline import adapter


def main(snakemake) -> None:
    spec, names = snakemake.params.spec, dict(snakemake.wildcards)
    path = snakemake.input.train
    data = store.read(path, snakemake.input.manifests[0])
    matching.check_path(path, data.meta, names, "train")
    order = read_sealed(snakemake.input.order, ORDER)
    (train,) = stress.splits(spec, order["sessions"], data)
    parts = given.parts(train, order["sessions"], order.get("session_of_sample"))
    sessions = [(part.features, part.labels) for part in parts]
    traced = diagnostics.trace(sessions, spec["ridge"], spec["tau"], spec["modes"])
    advice = diagnostics.recommend(traced["sessions"], spec["recommend"])
    names |= {"order": int(names["order"])}
    write_sealed(snakemake.output[0], traced | {"names": names, "recommended": advice})


if __name__ == "__main__":
    with adapter.logged(snakemake.log):  # noqa: F821
        main(snakemake)  # noqa: F821
