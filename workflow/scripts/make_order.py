"""Write one class order, cut into sessions."""

from sparcl.base.files import read_json
from sparcl.base.rows import prepared
from sparcl.base.sealed import write_sealed
from sparcl.features import store
from sparcl.pipeline import adapter
from sparcl.protocol import orders, stream


def main(snakemake) -> None:
    classes = read_json(snakemake.input.manifest)["classes"]
    names, spec = dict(snakemake.wildcards), snakemake.params.spec
    number = int(names["order"])
    cut = {key: spec[key] for key in ("sessions", "base_classes")}
    parts = stream.split_sessions(stream.class_order(number, classes), **cut)
    if spec["order_rule"] != "random":
        data = store.read(snakemake.input.train, snakemake.input.manifest)
        features = prepared(data.features, spec["normalize"])
        parts = orders.greedy(features, data.labels, parts, hard=spec["order_rule"] == "hard")
    sessions = [part.tolist() for part in parts]
    names |= {"order": number, "sessions": sessions, "sha256": stream.order_hash(sessions)}
    write_sealed(snakemake.output[0], names)


if __name__ == "__main__":
    with adapter.logged(snakemake.log):  # noqa: F821
        main(snakemake)  # noqa: F821
