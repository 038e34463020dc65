"""The settings of a job: of all settings, all that determines its outputs and nothing else.

Snakemake reruns a job when these change; what leaves the bytes of an output alone stays out.
"""

from collections.abc import Collection, Mapping
from numbers import Real
from typing import Any

from sparcl.base.errors import ConfigError
from study.methods import host_only
from study.pipeline.provenance import hyperparameters, row
from study.places import where

Settings = Mapping[str, Any]
Spec = dict[str, Any]

# Settings of which one learner solves several values at once.
POINTS = ("ridge", "ridge_relative", "tau")

# How a data set or backbone is called, and how its extraction is shared out.
NAMES = ("label", "short", "shards")
# Where images and weights lie on this machine, how many processes work, and whether an image that cannot be read stops
# them, which changes no finished features; scripts read these from config.
PLACES = ("image_root", "root", "url", "cache", "threads", "workers", "on_bad_image")


def without(block: Settings, keys: Collection[str]) -> Spec:
    """Return a block without some keys."""
    return {key: value for key, value in block.items() if key not in keys}


def is_number(value: object) -> bool:
    """Tell a number from the name of a rule, from null and from a switch."""
    return isinstance(value, Real) and not isinstance(value, bool)


def resolved(config: Settings, hyper: Settings) -> Spec:
    """Return a method's settings with the list in place of the name that ``ridges`` have, in parts too.

    Raises
    ------
    ConfigError
        For a name that is not under ``ridges``.
    """
    result: Spec = {}
    for key, value in hyper.items():
        if isinstance(value, Mapping):
            value = resolved(config, value)
        elif key == "ridges" and isinstance(value, str):
            if value not in config["ridges"]:
                known = ", ".join(config["ridges"])
                raise ConfigError(
                    f"there is no '{value}' under `ridges` ({where('ridges')}). There are: {known}."
                )
            value = config["ridges"][value]
        result[key] = value
    return result


def composition(config: Settings, block: Settings) -> Spec:
    """Return learner and settings of a method or of a variant that is timed."""
    hyper = resolved(config, block["hyper"])
    if "validation_share" in hyperparameters(block):
        hyper = {"validation_share": config["validation"]["share"]} | hyper
    composed = row(block)  # so that a changed row reruns its own jobs
    return {"learner": block["learner"], "hyper": hyper} | ({"row": composed} if composed else {})


def method(config: Settings, name: str) -> Spec:
    """Return a method's block without what only tables and figures read."""
    block = config["methods"][name]
    more = {key: block[key] for key in ("select", "features") if key in block}
    return composition(config, block) | more


def candidates(config: Settings) -> dict[str, list[Any]]:
    """Return the values of each setting that a method may select; a name stands for a list of ``ridges``."""
    grid = config["selection"]["grid"]
    return {k: config["ridges"][v] if isinstance(v, str) else v for k, v in grid.items()}


def selection(config: Settings, name: str) -> Spec:
    """Return what a selection is told: the method, and the candidates of each setting in the grid.

    A selected setting has the candidates of `selection.grid`; a fixed one is the one candidate.
    """
    rule, spec = config["selection"], method(config, name)
    values = candidates(config)
    fixed = {
        key: [value] for key, value in spec["hyper"].items() if key in POINTS and is_number(value)
    }
    selected = {key: values[key] for key in spec["select"]}
    grid = {key: (selected | fixed)[key] for key in values if key in selected | fixed}
    return spec | {"hyper": without(spec["hyper"], fixed), "selection": rule | {"grid": grid}}


def solver(config: Settings, name: str) -> Spec:
    """Return where a method computes, if that is not the CPU: bytes are those of the CPU unless this says otherwise.

    A method that computes on the CPU alone does so whatever the settings say.
    """
    device = config["solver"]["device"]
    learner = config["methods"][name]["learner"]
    return {} if device == "cpu" or host_only(learner) else {"device": device}


def gpus(config: Settings, name: str) -> int | None:
    """Return how many GPUs a method's job asks for: one where it may compute on a card, else nothing is asked."""
    return 1 if solver(config, name).get("device") in ("cuda", "auto") else None


def data(config: Settings, suite: str) -> Spec:
    """Return what happens to the features of a suite before a learner sees them."""
    block = config["suites"][suite]
    kind = block["stress"]
    stress = {} if kind == "none" else {kind: config["stress"][kind]}
    return {"normalize": block["normalize"], "stress": stress}


def streams(config: Settings, suite: str) -> Spec:
    """Return on which streams that go wrong a suite runs: rates, and the further settings of their kinds."""
    rates = config["suites"][suite]["streams"]
    kinds = {kind for stream in rates for kind in stream}
    settings = {kind: config["stress"][kind] for kind in config["stress"] if kind in kinds}
    return data(config, suite) | {"streams": rates, "rated": settings}


def comparison(config: Settings, suite: str) -> Spec:
    """Return whether a suite shows differences between its methods after each session."""
    block, kinds = config["suites"][suite], ("tables", "figures")
    modules = [config[kind][name].get("module", name) for kind in kinds for name in block[kind]]
    return {"steps": "sessions" in modules}


def order(config: Settings, suite: str) -> Spec:
    """Return how the class orders of a suite are made and cut into sessions."""
    keys = ("sessions", "base_classes", "order_rule", "normalize", "order_file", "shots")
    block = config["suites"][suite]
    return {key: block[key] for key in keys if key in block}


def split(config: Settings, dataset: str) -> Spec:
    """Return what determines which images are for training and which for testing."""
    left_out = (*NAMES, "features", "root", "url", "crop", "on_bad_image")
    return without(config["datasets"][dataset], left_out)


def extraction(config: Settings, dataset: str, backbone: str) -> Spec:
    """Return all that determines the features of a data set; moving the images extracts nothing again."""
    blocks = {
        "dataset": config["datasets"][dataset],
        "backbone": config["backbones"][backbone],
        "extraction": config["extraction"],
    }
    return {name: without(block, (*NAMES, *PLACES)) for name, block in blocks.items()}


def training(config: Settings, suite: str, dataset: str, backbone: str, method: str) -> Spec:
    """Return what a method that trains the network is told: images, network, views, budget."""
    block, budget = config["methods"][method], config["suites"][suite]["training"]
    blocks = {"dataset": config["datasets"][dataset], "backbone": config["backbones"][backbone]}
    return {
        **{name: without(blocks[name], (*NAMES, *PLACES, "features")) for name in blocks},
        "learner": block["learner"],
        "hyper": block["hyper"]
        | budget.get("methods", {}).get(method, {})
        | budget.get("datasets", {}).get(dataset, {}).get(method, {}),
        **without(budget, ("methods", "datasets")),
    }


def training_gpus(config: Settings, suite: str) -> int | None:
    """Return how many GPUs such a job asks for: one where it may train on a card."""
    device = config["suites"][suite]["training"].get("device", "auto")
    return None if device == "cpu" else 1


def timing(config: Settings, name: str) -> Spec:
    """Return what is timed, and on which stream."""
    block = config["timings"][name]
    variants = {key: composition(config, variant) for key, variant in block["variants"].items()}
    return block | {"variants": variants}
