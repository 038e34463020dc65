"""Write one class order, cut into sessions."""

from sparcl.base.files import read_json
from sparcl.base.rows import prepared
from sparcl.base.sealed import write_sealed
from sparcl.features import matching, store
from sparcl.pipeline import adapter
from sparcl.protocol import orders, stream


def main(snakemake) -> None:
    stated, names = read_json(snakemake.input.manifest), dict(snakemake.wildcards)
    matching.check_path(snakemake.input.manifest, stated, names, "train")
    number, spec = int(names["order"]), snakemake.params.spec
    cut = {key: spec[key] for key in ("sessions", "base_classes")}
    parts = stream.split_sessions(stream.class_order(number, stated["classes"]), **cut)
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
