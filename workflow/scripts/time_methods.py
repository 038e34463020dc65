"""Time methods on one stream: in one process, one after the other, several times."""

import pandas as pd

from sparcl.base.rows import prepared
from sparcl.features import store
from sparcl.protocol import stream
from study import pairs
from study.loop.experiment import Split
from study.pipeline import adapter
from study.report import summary, timing


@adapter.script()
def main(snakemake) -> None:
    spec, rows = snakemake.params.spec, []
    for dataset in spec["datasets"]:
        path = snakemake.input[dataset]
        data = store.read(path)
        pairs.check_path(path, data.meta, spec | {"dataset": dataset}, "train")
        order = stream.class_order(spec["order"], len(data.class_names))
        sessions = stream.split_sessions(order, spec["sessions"])
        train = Split(prepared(data.features, True), data.labels)
        parts = [train.rows(classes) for classes in sessions]
        for row in timing.relative(parts, spec["variants"], spec["repeats"]):
            rows.append({"dataset": dataset, "order": spec["order"], **row} | timing.machine())
    summary.write_csv(pd.DataFrame(rows), snakemake.output[0])
