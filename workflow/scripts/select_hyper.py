"""Choose one method's hyper-parameters on the base session's training samples."""

from sparcl import methods
from sparcl.base.sealed import ORDER, read_sealed, write_sealed
from sparcl.features import matching, store
from sparcl.protocol import given, selection, stress
from study.pipeline import adapter


def main(snakemake) -> None:
    spec, rule = snakemake.params.spec, snakemake.params.spec["selection"]
    names, path = dict(snakemake.wildcards), snakemake.input.train
    data = store.read(path, snakemake.input.manifests[0])
    matching.check_path(path, data.meta, names, "train")
    data = data.using(spec.get("features", "last"))
    order = read_sealed(snakemake.input.order, ORDER)
    sessions = order["sessions"]
    hyper = methods.with_seed(spec["learner"], spec["hyper"], int(snakemake.wildcards.seed))
    (train,) = stress.splits(spec, sessions, data)
    if "session_of_sample" in order:  # a base class may have samples in later sessions too
        train = given.parts(train, sessions, order["session_of_sample"])[0]
    chosen = selection.select(
        train,
        sessions[0],
        spec["learner"],
        hyper,
        **rule,
        seed=int(snakemake.wildcards.seed),
        device=spec.get("device", "cpu"),
    )
    write_sealed(snakemake.output[0], chosen | dict(snakemake.wildcards))


if __name__ == "__main__":
    with adapter.logged(snakemake.log):  # noqa: F821
        main(snakemake)  # noqa: F821
