"""What the rules share: the suite's lists, where files lie, which code a job rests on."""

from pathlib import PurePosixPath

import yaml

from figures import module_name
from sparcl import methods
from sparcl.report.claims import sources
from sparcl.base.errors import SparclError
from sparcl.extraction.datasets import folder_stamp, how_split
from sparcl.pipeline.provenance import source_files

SUITE = config["suite"]
# What a run leaves, and the frames of paper/<suite>/summary made from it.
RECORDS = ["runs", "sessions", "arrivals", "diagnostics"]
TRACES = ["spectrum", "recommendations"]
SUMMARIES = RECORDS + TRACES
# A suite that names no tables and figures gets these.
TABLES, FIGURES = ["main"], ["dilution", "drift", "sessions"]


def pick(block, name, suite=SUITE):
    """Return the block of params.yaml of one suite, data set, backbone or method, or say what there is."""
    if name not in config[block]:
        known = ", ".join(config[block])
        raise WorkflowError(
            f"Suite '{suite}': no '{name}' under {block}. There are: {known}."
        )
    return config[block][name]


def suite_block(suite):
    """Return a suite's block; a data set without a suite of its own, somebody's images, gets one."""
    if suite in config["suites"]:
        return config["suites"][suite]
    if suite in config["datasets"]:
        return config["suites"]["digits"] | {"datasets": [suite]}
    raise WorkflowError(
        f"params.yaml has no suite '{suite}'. Suites: {', '.join(config['suites'])}; "
        "the name of a data set runs the protocol of suite 'digits' on it."
    )


for suite in (
    SUITE,
    *config["ablations"],
    *config["peers"],
    *config["further"],
):
    for block in ("datasets", "backbones", "methods"):
        for name in suite_block(suite)[block]:
            pick(block, name, suite)


def protocol(suite):
    """Return a suite's block with the optional keys filled in."""
    optional = {"order_rule": "random", "stress": "none", "traces": 0, "compare": {}}
    drawn = {"tables": TABLES, "figures": FIGURES}
    return optional | drawn | suite_block(suite)


def pairs(suite):
    return [f"{order}-{seed}" for order, seed in protocol(suite)["pairs"]]


def members(block, suite):
    """Return the data sets, backbones or methods of a suite: id -> block."""
    return {name: pick(block, name, suite) for name in protocol(suite)[block]}


def readers(backbone, suite):
    """Return the methods of a suite that can be run on a backbone: some read CLS tokens of its blocks."""
    blocks = pick("backbones", backbone, suite).get("blocks")
    return [
        name
        for name, block in members("methods", suite).items()
        if blocks or block.get("features", "last") == "last"
    ]


wildcard_constraints:
    suite="|".join({SUITE: None, **config["suites"]}),
    dataset="|".join(config["datasets"]),
    backbone="|".join(config["backbones"]),
    method="|".join(config["methods"]),
    split="train|test",
    shard=r"\d+",
    shards=r"\d+",
    scale="unit|raw",
    by="classes|(?:" + "|".join({SUITE: None, **config["suites"]}) + r")-\d+",
    order=r"\d+",
    seed=r"\d+",
    timing="|".join(config["timings"]),


def code(script, *modules):
    """Return the files that a script and the modules it uses consist of, as rule inputs."""
    return [
        f"workflow/scripts/{script}.py",
        *source_files(["sparcl.pipeline.adapter", *modules]),
    ]


def method_code(script, module, method):
    """Return the code of one method's jobs: another method's file is not among it."""
    learner = methods.module_name(pick("methods", method)["learner"])
    return code(
        script, module, "sparcl.protocol.stress", "sparcl.features.store", learner
    )


SHARDED = [d for d, block in config["datasets"].items() if block.get("shards", 1) > 1]
WHOLE = [dataset for dataset in config["datasets"] if dataset not in SHARDED]
SUMMED = [m for m, block in config["methods"].items() if "sums" in block]
FITTED = [method for method in config["methods"] if method not in SUMMED]


def one_of(names):
    """Return a pattern of a wildcard; without names one that nothing matches."""
    return "|".join(names) or "(?!)"


def is_bundled(dataset):
    return config["datasets"][dataset].get("features") == "bundle"


def feature_file(dataset, backbone, split):
    """Return where the features lie: in the bundle, or among the results of an extraction."""
    root = "data/features" if is_bundled(dataset) else "results/features"
    return f"{root}/{dataset}/{backbone}/{split}.h5"


def shard_files(dataset, backbone, split, kind="h5"):
    """Return the files that the shards of a split lie in."""
    n = config["datasets"][dataset]["shards"]
    folder = feature_file(dataset, backbone, split).removesuffix(".h5") + ".shards"
    return [f"{folder}/{k}-of-{n}.{kind}" for k in range(1, n + 1)]


def shard_inputs(dataset, backbone, *splits):
    """Return the files that a feature file is a view of, as one more input of its readers; mostly nothing."""
    if dataset not in SHARDED:
        return {}
    return {"shards": sum([shard_files(dataset, backbone, s) for s in splits], [])}


def manifest(dataset, backbone, split):
    """Return the manifest that exists once the features are there and were checked."""
    root = "results/verified" if is_bundled(dataset) else "results/features"
    return f"{root}/{dataset}/{backbone}/{split}.json"


def feature_inputs(wildcards, *splits):
    """Return the feature files of a job, named by split, and the manifests that vouch for them."""
    names = wildcards.dataset, wildcards.backbone
    files = {split: feature_file(*names, split) for split in splits}
    vouchers = {"manifests": [manifest(*names, split) for split in splits]}
    return files | vouchers | shard_inputs(*names, *splits)


def feature_manifests(suite=SUITE):
    return [
        manifest(dataset, backbone, split)
        for dataset in members("datasets", suite)
        for backbone in members("backbones", suite)
        for split in ("train", "test")
    ]


def split_list(dataset):
    """Return the list that splits a data set: drawn here, somebody's own, or none (the layout's split)."""
    how = how_split(config["datasets"][dataset])
    drawn = f"results/splits/{dataset}.txt"
    return {"own": [], "draw": [drawn]}.get(how, [how])


def split_spec(wildcards):
    """Return what determines the list of a split."""
    left_out = ("label", "short", "features", "root", "url", "crop", "on_bad_image")
    left_out += ("shards",)
    block = config["datasets"][wildcards.dataset]
    return {key: value for key, value in block.items() if key not in left_out}


def extraction_spec(wildcards):
    """Return all that determines the features of a data set, as one plain mapping.

    What leaves their bytes alone stays out, so that moving the images extracts nothing again:
    labels, the number of shards (which one is in the path), and where images and weights lie on this
    machine (the script reads those from config).
    """
    left_out = (
        "shards",
        "label",
        "short",
        "image_root",
        "root",
        "url",
        "cache",
        "threads",
        "workers",
    )
    blocks = {
        "dataset": config["datasets"][wildcards.dataset],
        "backbone": config["backbones"][wildcards.backbone],
        "extraction": config["extraction"],
    }
    return {
        name: {key: value for key, value in block.items() if key not in left_out}
        for name, block in blocks.items()
    }


def selection(wildcards):
    """Return the selection that a method waits for, or nothing."""
    if "select" not in pick("methods", wildcards.method):
        return []
    return (
        "results/selection/{suite}/{dataset}/{backbone}/{method}/{order}-{seed}.json"
    ).format(**wildcards)


def sums_file(wildcards):
    """Return the total that a method starts from."""
    from sparcl.protocol import (
        sweep,
    )  # loads scipy, which a plan without sums can do without

    block, suite = pick("methods", wildcards.method), wildcards.suite
    if protocol(suite)["stress"] != "none" or block.get("features", "last") != "last":
        raise WorkflowError(
            f"Suite '{suite}', method '{wildcards.method}': its key `sums` wants the features as they were extracted, "
            "but the suite's `stress` or the method's `features` changes them. Leave out one of the two."
        )
    try:
        sweep.summed(block["learner"], block["hyper"])
    except SparclError as error:
        raise WorkflowError(
            f"Method '{wildcards.method}', key `sums`: {error}"
        ) from error
    scale = "unit" if protocol(suite)["normalize"] else "raw"
    by = {"classes": "classes", "sessions": f"{suite}-{wildcards.order}"}[block["sums"]]
    return f"results/sums/{wildcards.dataset}/{wildcards.backbone}/{scale}/{by}.npz"


def summed_order(wildcards):
    """Return the class order by whose sessions is summed, as an input, or nothing."""
    suite, _, order = wildcards.by.rpartition("-")
    path = f"results/orders/{suite}/{wildcards.dataset}/{order}.json"
    return {"order": path} if suite else {}


def summed_features(wildcards):
    """Return one shard of the training features, or all of them, and its manifest."""
    dataset, k, n = wildcards.dataset, int(wildcards.shard), int(wildcards.shards)
    names = dataset, wildcards.backbone, "train"
    if n != number_of_shards(dataset) or not 1 <= k <= n:
        raise WorkflowError(
            f"No shard {k} of {n}: data set '{dataset}' has {number_of_shards(dataset)} (params.yaml, `shards`)."
        )
    if dataset not in SHARDED:
        return {"features": feature_file(*names), "manifest": manifest(*names)}
    kinds = {"features": "h5", "manifest": "json"}
    return {name: shard_files(*names, kind)[k - 1] for name, kind in kinds.items()}


def number_of_shards(dataset):
    return config["datasets"][dataset].get("shards", 1)


def sums_of_shards(wildcards):
    n = number_of_shards(wildcards.dataset)
    return [
        "results/sums/{dataset}/{backbone}/{scale}/{by}/".format(**wildcards)
        + f"{k}-of-{n}.npz"
        for k in range(1, n + 1)
    ]


def method_spec(method):
    """Return a method's block without what only tables and figures read."""
    block = pick("methods", method)
    read = ("learner", "hyper", "select", "features")
    return {key: block[key] for key in read if key in block}


def selection_spec(method):
    """Return how a method's settings are chosen: of the grid, only what it selects."""
    block = config["selection"]
    grid = {name: block["grid"][name] for name in pick("methods", method)["select"]}
    return block | {"grid": grid}


def data_spec(suite):
    """Return what happens to the features of a suite before a learner sees them."""
    return {key: protocol(suite)[key] for key in ("normalize", "stress")}


def order_features(wildcards):
    """Return the training features that a class order looks at: none, if it is drawn at random."""
    if protocol(wildcards.suite)["order_rule"] == "random":
        return {}
    backbone = next(iter(members("backbones", wildcards.suite)))
    names = wildcards.dataset, backbone
    return {"train": feature_file(*names, "train")} | shard_inputs(*names, "train")


def order_modules(suite):
    """Return the modules that a suite's class orders rest on."""
    modules = ["sparcl.protocol.stream", "sparcl.base.files"]
    if protocol(suite)["order_rule"] != "random":
        modules += [
            "sparcl.protocol.orders",
            "sparcl.protocol.experiment",
            "sparcl.features.store",
        ]
    return modules


def run_records(suite=SUITE):
    return [
        f"results/runs/{suite}/{dataset}/{backbone}/{method}/{pair}.json"
        for dataset in members("datasets", suite)
        for backbone in members("backbones", suite)
        for method in readers(backbone, suite)
        for pair in pairs(suite)
    ]


def spectrum_traces(suite=SUITE):
    """Return the traces of a suite's first class orders, as many as it asks for."""
    orders = dict.fromkeys(order for order, _ in protocol(suite)["pairs"])
    return expand(
        f"results/spectra/{suite}/{{dataset}}/{{backbone}}/{{order}}.json",
        dataset=members("datasets", suite),
        backbone=members("backbones", suite),
        order=list(orders)[: protocol(suite)["traces"]],
    )


def summary_files(suite=SUITE):
    names = RECORDS + (TRACES if protocol(suite)["traces"] else [])
    names += ["comparisons"] if protocol(suite)["compare"] else []
    names = [f"{name}.csv" for name in names] + ["metrics.json"]
    return expand(f"paper/{suite}/summary/{{name}}", name=names)


def table_files(suite=SUITE):
    return expand(
        f"paper/{suite}/tables/{{table}}.{{kind}}",
        table=protocol(suite)["tables"],
        kind=["tex", "md", "csv"],
    )


def figure_files(suite=SUITE):
    return expand(
        f"paper/{suite}/figures/{{figure}}.{{kind}}",
        figure=protocol(suite)["figures"],
        kind=["pdf", "png"],
    )


def paper_files(suite=SUITE):
    return summary_files(suite) + table_files(suite) + figure_files(suite)


def ablation_files():
    return [path for suite in config["ablations"] for path in paper_files(suite)]


def further_files():
    return [path for suite in config["further"] for path in paper_files(suite)]


def peer_files():
    return [path for suite in config["peers"] for path in paper_files(suite)]


def split_frame(frame):
    """Return the folder or suite that a frame names, or an empty text, and its name there."""
    *folder, name = PurePosixPath(frame).parts
    return "".join(folder), name


def frame_file(frame, suite):
    """Return the file of a frame: `<frame>`, a summary of the suite; `<suite>/<frame>`, of another; or a folder's."""
    folder, name = split_frame(frame)
    folders = {"data": "data", "timings": "timings", "claims": "paper/claims"}
    return f"{folders.get(folder, f'paper/{folder or suite}/summary')}/{name}.csv"


def frames(block, name, suite):
    """Return what a figure or table reads; times count however old they are, as for the claims."""
    named = pick(block, name, suite)["frames"]
    for other in {split_frame(frame)[0] for frame in named} & set(config["suites"]):
        # What `make results` and the peers show rests on no other suite's runs.
        if suite not in config["ablations"]:
            raise WorkflowError(
                f"Suite '{suite}': {block}.{name} reads suite '{other}'; only suites under `ablations` may."
            )
    paths = [frame_file(frame, suite) for frame in named]
    return [ancient(p) if p.startswith("timings/") else p for p in paths]


def display(block, name, suite):
    """Return what a figure or table is told: its own block and the labels of what it shows."""
    # A method of another suite is left out; one that exists nowhere is a slip.
    named = pick(block, name, suite)
    lists = [
        [m for entry in named.get("show", []) for m in entry.split(" | ")],
        named.get("underline", []),
        named.get("expanding", []),
        list(named.get("quoted_as", [])),
        *[note["of"] for note in named.get("notes", [])],
    ]
    listed = sum([*lists, *named.get("groups", {}).values()], [])
    blocks = {method: pick("methods", method) for method in listed}
    names = {m: block.get("short", block["label"]) for m, block in blocks.items()}
    labels = {
        kind: {
            key: {
                "label": item.get("label", key),
                "short": item.get("short", item.get("label", key)),
            }
            for key, item in members(kind, suite).items()
        }
        for kind in ("methods", "datasets", "backbones")
    }
    # Where a summary has several backbones, the block names the one that is shown.
    run = readers(named.get("backbone", next(iter(labels["backbones"]))), suite)
    absent = [method for method in labels["methods"] if method not in run]
    about = {
        "id": name,
        "suite": suite,
        "sessions": protocol(suite)["sessions"],
        "orders": len({order for order, _ in protocol(suite)["pairs"]}),
        "names": names,
    }
    return named | labels | about | {"absent": absent}


def timing_files():
    return expand("timings/{timing}.csv", timing=[*config["timings"], "memory"])


LEDGER = "docs/claims.yaml"
with open(LEDGER, encoding="utf-8") as file:
    CLAIMS = yaml.safe_load(file)


def claims_files():
    return multiext("paper/claims/claims", ".tex", ".md", ".csv")


def claims_figure():
    return multiext("paper/claims/claims", ".pdf", ".png")


def claimed_summaries(timings):
    """Return what the ledger reads, as far as suites and summaries of that name exist."""
    known = {path for suite in config["suites"] for path in summary_files(suite)}
    known |= set(timing_files())
    paths = [frame_file(f"{suite}/{frame}", suite) for suite, frame in sources(CLAIMS)]
    return [p for p in paths if p in known and p.startswith("timings/") == timings]
