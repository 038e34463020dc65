"""Measure what each method keeps and needs on one stream: each in a process of its own."""

import pandas as pd

from sparcl.features import store
from study import pairs
from study.pipeline import adapter
from study.report import memory, summary


@adapter.script()
def main(snakemake) -> None:
    spec, rows = snakemake.params.spec, []
    for dataset in spec["datasets"]:
        path = snakemake.input[dataset]
        pairs.check_path(path, store.header(path).meta, spec | {"dataset": dataset}, "train")
        stream = {key: spec[key] for key in ("order", "sessions")}
        for name, variant in spec["variants"].items():
            sizes = memory.apart(features=path, variant=variant, **stream)
            rows.append({"dataset": dataset, "order": spec["order"], "method": name, **sizes})
    summary.write_csv(pd.DataFrame(rows), snakemake.output[0])
