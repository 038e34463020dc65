"""Run one method over one class order and write the record."""

from sparcl import methods
from sparcl.base.sealed import ORDER, RUN, read_sealed, write_sealed
from sparcl.features import matching, store
from sparcl.protocol import experiment, given, stress
from study.pipeline import adapter


def main(snakemake) -> None:
    spec, names = snakemake.params.spec, dict(snakemake.wildcards)
    order, seed = read_sealed(snakemake.input.order, ORDER), int(names["seed"])
    paths = {split: snakemake.input[split] for split in ("train", "test")}
    data = {
        split: store.read(path, manifest)
        for (split, path), manifest in zip(paths.items(), snakemake.input.manifests, strict=True)
    }
    for split, path in paths.items():
        matching.check_path(path, data[split].meta, names, split)
    matching.check_pair(paths["train"], data["train"], paths["test"], data["test"])
    data = {split: read.using(spec.get("features", "last")) for split, read in data.items()}
    train, test = stress.splits(spec, order["sessions"], data["train"], data["test"])
    selection = snakemake.input.selection
    chosen = read_sealed(selection, RUN)["chosen"] if selection else {}
    hyper = methods.with_seed(spec["learner"], spec["hyper"] | chosen, seed)
    device = spec.get("device", "cpu")
    if "session_of_sample" in order:
        streamed = order["sessions"], order["session_of_sample"]
        record = given.run(train, test, *streamed, spec["learner"], hyper, device)
    else:
        record = experiment.run(train, test, order["sessions"], spec["learner"], hyper, device)
    names |= {"order": order["order"], "seed": seed, "learner": spec["learner"]}
    hashes = {f"{split}_sha256": d.meta["features_sha256"] for split, d in data.items()}
    hashes |= {
        "order_sha256": order["sha256"],
        "weights_sha256": data["train"].meta["weights_sha256"],
    }
    write_sealed(snakemake.output[0], record | names | hashes)


if __name__ == "__main__":
    with adapter.logged(snakemake.log):  # noqa: F821
        main(snakemake)  # noqa: F821
