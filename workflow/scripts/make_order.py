"""Write one class order, cut into sessions: drawn by a number, the class list's, or as a file states it."""

import numpy as np

from sparcl.base.files import read_json
from sparcl.base.rows import prepared
from sparcl.features import store
from sparcl.protocol import stream
from study import pairs
from study.loop import order_file
from study.order_rules import LOOKING, few_after_first, first_classes
from study.pipeline import adapter
from study.sealed import write_sealed


@adapter.script()
def main(snakemake) -> None:
    stated, names = read_json(snakemake.input.manifest), dict(snakemake.wildcards)
    pairs.check_path(snakemake.input.manifest, stated, names, "train")
    number, spec = int(names["order"]), snakemake.params.spec
    of_sample: list[int] = []  # its session, where samples of a class are divided
    if "order_file" in spec:
        file = order_file.read(snakemake.input.given)
        if file.ids is None:
            sessions = file.positions(stated["class_names"])
        else:
            data = store.read(snakemake.input.train, snakemake.input.manifest)
            ids = [identifier.decode() for identifier in data.ids.tolist()]
            sessions, of_sample = file.arrivals(ids, data.labels)
    else:
        rule, base = spec["order_rule"], first_classes(spec["base_classes"], stated["classes"])
        drawn = stream.class_order(number, stated["classes"])
        order = np.sort(drawn) if rule == "identity" else drawn
        parts = stream.split_sessions(order, spec["sessions"], base)
        if rule in LOOKING or "shots" in spec:
            data = store.read(snakemake.input.train, snakemake.input.manifest)
        if rule in LOOKING:
            from study.streams import orders  # and scipy, which takes half a second

            features = prepared(data.features, spec["normalize"])
            if rule in ("mild", "hard"):
                parts = orders.greedy(features, data.labels, parts, hard=rule == "hard")
            else:
                alike = orders.similarities(features, data.labels, stated["classes"])
                names["similarity_drawn"] = orders.adjacent_similarity(alike, parts)
                parts = orders.by_similarity(alike, parts, most=rule == "adjacent-most")
                names["similarity"] = orders.adjacent_similarity(alike, parts)
        if "shots" in spec:
            of_sample = few_after_first(data.labels, parts, spec["shots"], number)
        sessions = [part.tolist() for part in parts]
    divided = {"session_of_sample": of_sample} if of_sample else {}
    digest = stream.order_hash([*sessions, *divided.values()])
    names |= {"order": number, "sessions": sessions, "sha256": digest, **divided}
    write_sealed(snakemake.output[0], names)
