"""Run one method over one class order on every stream of a suite that goes wrong, and write the record."""

from sparcl import methods
from sparcl.base.rows import prepared
from sparcl.base.sealed import ORDER, read_sealed, write_sealed
from sparcl.features import matching, store
from sparcl.protocol import stressed
from sparcl.protocol.experiment import Split
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
    train, test = (Split(prepared(d.features, spec["normalize"]), d.labels) for d in data.values())
    hyper = methods.with_seed(spec["learner"], spec["hyper"], seed)
    streams, number = (spec["streams"], spec["stress"]), order["order"]
    record = stressed.run(train, test, order["sessions"], *streams, number, spec["learner"], hyper)
    names |= {"order": number, "seed": seed, "learner": spec["learner"]}
    hashes = {f"{split}_sha256": d.meta["features_sha256"] for split, d in data.items()}
    hashes |= {
        "order_sha256": order["sha256"],
        "weights_sha256": data["train"].meta["weights_sha256"],
    }
    write_sealed(snakemake.output[0], record | names | hashes)


if __name__ == "__main__":
    with adapter.logged(snakemake.log):  # noqa: F821
        main(snakemake)  # noqa: F821
