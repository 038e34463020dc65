"""Run one method over one class order from the sums of the training samples and write the record."""

from sparcl import methods
from sparcl.app.sums_file import SumsFile
from sparcl.base.files import read_json
from sparcl.base.rows import prepared
from sparcl.base.sealed import ORDER, RUN, read_sealed, write_sealed
from sparcl.features import matching, store
from sparcl.protocol import experiment, sweep
from study.pipeline import adapter


def main(snakemake) -> None:
    spec, names = snakemake.params.spec, dict(snakemake.wildcards)
    order, seed = read_sealed(snakemake.input.order, ORDER), int(names["seed"])
    train, summed = read_json(snakemake.input.train), SumsFile.load(snakemake.input.sums)
    matching.check_path(snakemake.input.train, train, names, "train")
    test = snakemake.input.test, snakemake.input.manifests[0]
    data = store.read(*test)
    matching.check_path(test[0], data.meta, names, "test")
    summed.check_test(*test)
    test = experiment.Split(prepared(data.features, spec["normalize"]), data.labels)
    selection = snakemake.input.selection
    chosen = read_sealed(selection, RUN)["chosen"] if selection else {}
    hyper = methods.with_seed(spec["learner"], spec["hyper"] | chosen, seed)
    device = spec.get("device", "cpu")
    record = sweep.run(summed.sums, test, order["sessions"], spec["learner"], hyper, device)
    names |= {"order": order["order"], "seed": seed, "learner": spec["learner"]}
    hashes = {
        "train_sha256": train["arrays"]["features"]["sha256"],
        "test_sha256": data.meta["features_sha256"],
        "order_sha256": order["sha256"],
        "weights_sha256": train["weights_sha256"],
    }
    write_sealed(snakemake.output[0], record | names | hashes)


if __name__ == "__main__":
    with adapter.logged(snakemake.log):  # noqa: F821
        main(snakemake)  # noqa: F821
