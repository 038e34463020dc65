"""Where features, shards, splits, orders, selections and sums lie, as the inputs of jobs."""

from collections.abc import Mapping
from typing import Any

from sparcl.base.errors import ConfigError
from study.images.datasets import how_split
from study.order_rules import LOOKING
from study.pipeline.provenance import here
from study.places import where

Settings = Mapping[str, Any]
# Inputs of a rule: a file or several by name.
Inputs = dict[str, str | list[str]]


def is_bundled(config: Settings, dataset: str, backbone: str) -> bool:
    """Tell whether a data set's features of a backbone come with the repository."""
    kept = config["backbones"].get(backbone, {}).get("bundled", True)
    return kept and config["datasets"][dataset].get("features") == "bundle"


def is_imported(config: Settings, dataset: str) -> bool:
    """Tell whether a data set's features were brought in as arrays."""
    return config["datasets"][dataset].get("features") == "file"


def is_sharded(config: Settings, dataset: str) -> bool:
    """Tell whether several jobs extract a split."""
    return config["datasets"][dataset]["shards"] > 1


def feature_file(
    config: Settings, dataset: str, backbone: str, split: str, suffix: str = "h5"
) -> str:
    """Return where features lie (``suffix``: h5, or json for their manifest): imported, bundled or extracted ones."""
    if is_imported(config, dataset):
        return f"{config['datasets'][dataset]['path']}/{split}.{suffix}"
    name = f"features/{dataset}/{backbone}/{split}.{suffix}"
    return here(f"data/{name}") if is_bundled(config, dataset, backbone) else f"results/{name}"


def manifest(config: Settings, dataset: str, backbone: str, split: str) -> str:
    """Return the manifest that exists once the features are there and were checked."""
    if is_bundled(config, dataset, backbone) or is_imported(config, dataset):
        return f"results/verified/{dataset}/{backbone}/{split}.json"
    return feature_file(config, dataset, backbone, split, "json")


def shard_files(
    config: Settings, dataset: str, backbone: str, split: str, suffix: str = "h5"
) -> list[str]:
    """Return the files that the shards of a split lie in (``suffix``: h5, or json for their manifests)."""
    n = config["datasets"][dataset]["shards"]
    folder = feature_file(config, dataset, backbone, split).removesuffix(".h5") + ".shards"
    return [f"{folder}/{k}-of-{n}.{suffix}" for k in range(1, n + 1)]


def shard_inputs(config: Settings, dataset: str, backbone: str, *splits: str) -> Inputs:
    """Return the files that a feature file is a view of, as one more input of its readers; mostly nothing."""
    if not is_sharded(config, dataset):
        return {}
    return {
        "shards": [
            path for split in splits for path in shard_files(config, dataset, backbone, split)
        ]
    }


def feature_inputs(config: Settings, dataset: str, backbone: str, *splits: str) -> Inputs:
    """Return the feature files of a job, named by split, and the manifests that vouch for them."""
    return {
        **{split: feature_file(config, dataset, backbone, split) for split in splits},
        "manifests": [manifest(config, dataset, backbone, split) for split in splits],
        **shard_inputs(config, dataset, backbone, *splits),
    }


def timed_features(config: Settings, timing: str) -> dict[str, str]:
    """Return the training features that a timing needs, by data set."""
    block = config["timings"][timing]
    return {
        dataset: feature_file(config, dataset, block["backbone"], "train")
        for dataset in block["datasets"]
    }


def split_list(config: Settings, dataset: str) -> list[str]:
    """Return the list that splits a data set: drawn here, the user's own, or none (the layout's split)."""
    how = how_split(config["datasets"][dataset])
    return {"own": [], "draw": [f"results/splits/{dataset}.txt"]}.get(how, [how])


def order_inputs(config: Settings, suite: str, dataset: str, order: str) -> Inputs:
    """Return the inputs of a class order: the classes, the features if its rule reads them, and the user's file."""
    block = config["suites"][suite]
    names = dataset, block["backbones"][0], "train"
    inputs: Inputs = {"manifest": manifest(config, *names)}
    if "order_file" in block:
        inputs |= {"given": order_file(block, dataset, order)}
    if "order_file" in block or "shots" in block or block["order_rule"] in LOOKING:
        inputs |= {"train": feature_file(config, *names), **shard_inputs(config, *names)}
    return inputs


def order_file(suite: Settings, dataset: str, order: str | int) -> str:
    """Return the file that states a class order of a suite (its block)."""
    return str(suite["order_file"]).replace("{dataset}", dataset).replace("{order}", str(order))


def selections(config: Settings, **names: str) -> str | list[str]:
    """Return the folder of selections that a job waits for, or nothing (names: the job's wildcards)."""
    if "select" not in config["methods"][names["method"]]:
        return []
    return "results/selection/{suite}/{dataset}/{backbone}/{method}".format(**names)


def sums_files(config: Settings, suite: str, dataset: str, backbone: str, method: str) -> list[str]:
    """Return the totals that a method with the key ``sums`` starts from: of the classes, or one for each class order.

    Raises
    ------
    ConfigError
        Where a run reads other features than the extracted ones, which were summed.
    """
    protocol, block = config["suites"][suite], config["methods"][method]
    if protocol["stress"] != "none" or block.get("features", "last") != "last":
        raise ConfigError(
            f"Suite '{suite}', method '{method}': its key `sums` wants the features as they were extracted, "
            "but the suite's `stress` or the method's `features` changes them. Leave out one of the two."
        )
    scale = "unit" if protocol["normalize"] else "raw"
    orders = dict.fromkeys(order for order, _ in protocol["pairs"])
    by = [f"{suite}-{order}" for order in orders] if block["sums"] == "sessions" else ["classes"]
    return [f"results/sums/{dataset}/{backbone}/{scale}/{name}.npz" for name in by]


def summed_order(dataset: str, by: str) -> Inputs:
    """Return the class order by whose sessions (``by``: <suite>-<order>) is summed, or nothing."""
    suite, _, order = by.rpartition("-")
    return {"order": f"results/orders/{suite}/{dataset}/{order}.json"} if suite else {}


def summed_features(
    config: Settings, dataset: str, backbone: str, shard: str, shards: str
) -> Inputs:
    """Return one shard of the training features, or all of them, and its manifest.

    Raises
    ------
    ConfigError
        For a shard that the data set does not have.
    """
    n, names = config["datasets"][dataset]["shards"], (dataset, backbone, "train")
    if int(shards) != n or not 1 <= int(shard) <= n:
        raise ConfigError(
            f"No shard {shard} of {shards}: data set '{dataset}' has {n} ({where('datasets', dataset, 'shards')})."
        )
    if n == 1:
        return {"features": feature_file(config, *names), "manifest": manifest(config, *names)}
    suffixes = {"features": "h5", "manifest": "json"}
    return {
        name: shard_files(config, *names, suffix)[int(shard) - 1]
        for name, suffix in suffixes.items()
    }


def sums_of_shards(config: Settings, dataset: str, backbone: str, scale: str, by: str) -> list[str]:
    """Return the sums of a data set's shards, which lie in a folder named like their total."""
    n = config["datasets"][dataset]["shards"]
    folder = f"results/sums/{dataset}/{backbone}/{scale}/{by}"
    return [f"{folder}/{k}-of-{n}.npz" for k in range(1, n + 1)]
