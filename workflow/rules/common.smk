"""What the rules share: the suite's lists, where files lie, which code a job rests on."""

from sparcl import methods
from sparcl.features.datasets import folder_stamp, how_split
from sparcl.provenance import source_files

SUITE = config["suite"]
if SUITE in config["suites"]:
    PROTOCOL = config["suites"][SUITE]
elif SUITE in config["datasets"]:
    # A data set without a suite of its own, somebody's images: one block is enough.
    PROTOCOL = config["suites"]["digits"] | {"datasets": [SUITE]}
else:
    raise WorkflowError(
        f"params.yaml has no suite '{SUITE}'. Suites: {', '.join(config['suites'])}; "
        "the name of a data set runs the protocol of suite 'digits' on it."
    )
SUMMARIES = ["runs", "sessions", "spectrum"]


def pick(block, name):
    """Return the block of params.yaml of one data set, backbone or method, or say what there is."""
    if name not in config[block]:
        known = ", ".join(config[block])
        raise WorkflowError(
            f"Suite '{SUITE}': no '{name}' under {block}. There are: {known}."
        )
    return config[block][name]


DATASETS = {name: pick("datasets", name) for name in PROTOCOL["datasets"]}
BACKBONES = {name: pick("backbones", name) for name in PROTOCOL["backbones"]}
METHODS = {name: pick("methods", name) for name in PROTOCOL["methods"]}
PAIRS = [f"{order}-{seed}" for order, seed in PROTOCOL["pairs"]]


wildcard_constraints:
    suite=SUITE,
    dataset="|".join(config["datasets"]),
    backbone="|".join(config["backbones"]),
    method="|".join(METHODS),
    split="train|test",
    order=r"\d+",
    seed=r"\d+",


def code(script, *modules):
    """Return the files that a script and the modules it uses consist of, as rule inputs."""
    return [
        f"workflow/scripts/{script}.py",
        *source_files(["sparcl.adapter", *modules]),
    ]


def method_code(script, module, method):
    """Return the code of one method's jobs: another method's file is not among it."""
    learner = methods.module_name(METHODS[method]["learner"])
    return code(script, module, "sparcl.features.store", learner)


def is_bundled(dataset):
    return config["datasets"][dataset].get("features") == "bundle"


def feature_file(dataset, backbone, split):
    """Return where the features lie: in the bundle, or among the results of an extraction."""
    root = "data/features" if is_bundled(dataset) else "results/features"
    return f"{root}/{dataset}/{backbone}/{split}.h5"


def manifest(dataset, backbone, split):
    """Return the manifest that exists once the features are there and were checked."""
    root = "results/verified" if is_bundled(dataset) else "results/features"
    return f"{root}/{dataset}/{backbone}/{split}.json"


def feature_inputs(wildcards, *splits):
    """Return the feature files of a job, named by split, and the manifests that vouch for them."""
    names = wildcards.dataset, wildcards.backbone
    files = {split: feature_file(*names, split) for split in splits}
    return files | {"manifests": [manifest(*names, split) for split in splits]}


def feature_manifests():
    return [
        manifest(dataset, backbone, split)
        for dataset in DATASETS
        for backbone in BACKBONES
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
    block = config["datasets"][wildcards.dataset]
    return {key: value for key, value in block.items() if key not in left_out}


def extraction_spec(wildcards):
    """Return all that determines the features of a data set, as one plain mapping.

    What leaves their bytes alone stays out, so that moving the images extracts nothing again:
    labels, and where images and weights lie on this machine (the script reads those from config).
    """
    left_out = (
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
    if "select" not in METHODS[wildcards.method]:
        return []
    pattern = (
        "results/selection/{suite}/{dataset}/{backbone}/{method}/{order}-{seed}.json"
    )
    return pattern.format(**wildcards)


def method_spec(method):
    """Return a method's block without what only tables and figures read."""
    block = METHODS[method]
    return {key: block[key] for key in ("learner", "hyper", "select") if key in block}


def selection_spec(method):
    """Return how a method's settings are chosen: of the grid, only what it selects."""
    block = config["selection"]
    grid = {name: block["grid"][name] for name in METHODS[method]["select"]}
    return block | {"grid": grid}


def run_records():
    return expand(
        f"results/runs/{SUITE}/{{dataset}}/{{backbone}}/{{method}}/{{pair}}.json",
        dataset=DATASETS,
        backbone=BACKBONES,
        method=METHODS,
        pair=PAIRS,
    )


def spectrum_traces():
    """One class order is enough to show a spectrum: the suite's first."""
    return expand(
        f"results/spectra/{SUITE}/{{dataset}}/{{backbone}}/{PROTOCOL['pairs'][0][0]}.json",
        dataset=DATASETS,
        backbone=BACKBONES,
    )


def summary_files():
    return expand(f"paper/{SUITE}/summary/{{name}}.csv", name=SUMMARIES)


def table_files():
    return expand(
        f"paper/{SUITE}/tables/{{table}}.{{kind}}",
        table=config["tables"],
        kind=["tex", "md", "csv"],
    )


def figure_files():
    return expand(
        f"paper/{SUITE}/figures/{{figure}}.{{kind}}",
        figure=config["figures"],
        kind=["pdf", "png"],
    )


def paper_files():
    return summary_files() + table_files() + figure_files()


def frames(block, name):
    """Return the summaries that a figure or table reads."""
    return expand(
        f"paper/{SUITE}/summary/{{name}}.csv", name=config[block][name]["frames"]
    )


def display(block, name):
    """Return what a figure or table is told: its own block and the labels of what it shows."""
    # A method of another suite is left out; one that exists nowhere is a slip.
    for method in config[block][name].get("show", []):
        pick("methods", method)
    for group in config[block][name].get("groups", {}).values():
        for method in group:
            pick("methods", method)
    labelled = {"methods": METHODS, "datasets": DATASETS, "backbones": BACKBONES}
    labels = {
        kind: {
            key: {
                "label": item.get("label", key),
                "short": item.get("short", item.get("label", key)),
            }
            for key, item in items.items()
        }
        for kind, items in labelled.items()
    }
    suite = {"suite": SUITE, "sessions": PROTOCOL["sessions"]}
    return config[block][name] | labels | suite
