"""Choose one method's hyper-parameters on the base session's training samples."""

from sparcl import methods
from sparcl.base.files import read_json, write_json
from sparcl.features import matching, store
from sparcl.pipeline import adapter
from sparcl.protocol import selection, stress


def main(snakemake) -> None:
    spec, rule = snakemake.params.spec, snakemake.params.spec["selection"]
    names, path = dict(snakemake.wildcards), snakemake.input.train
    data = store.read(path, snakemake.input.manifests[0])
    matching.check_path(path, data.meta, names, "train")
    data = data.using(spec.get("features", "last"))
    sessions = read_json(snakemake.input.order)["sessions"]
    hyper = methods.with_seed(spec["learner"], spec["hyper"], int(snakemake.wildcards.seed))
    chosen = selection.select(
        *stress.splits(spec, sessions, data),
        sessions[0],
        spec["learner"],
        hyper,
        **rule,
        seed=int(snakemake.wildcards.seed),
    )
    write_json(snakemake.output[0], chosen)


if __name__ == "__main__":
    with adapter.logged(snakemake.log):  # noqa: F821
        main(snakemake)  # noqa: F821
