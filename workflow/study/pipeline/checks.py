"""What settings say against each other: ids that do not exist, settings that nobody reads."""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from pathlib import Path, PurePath
from typing import Any

from sparcl import methods
from sparcl.base.errors import SparclError
from study.pipeline import displays, specs, streams
from study.pipeline.plan import RATED
from study.pipeline.provenance import hyperparameters, learners, package

Settings = Mapping[str, Any]

# A number that YAML 1.1 takes for text: it wants a point in it, and a sign before the power.
EXPONENT = re.compile(r"([+-]?)(?=\.?\d)(\d*)\.?(\d*)[eE]([+-]?\d+)", re.ASCII)


def contradictions(config: Settings, root: Path = Path()) -> list[str]:
    """Return one sentence for each contradiction in settings that the schemas allow (``root``: of the project)."""
    parts = _suite, _suites, _compositions, _displays
    return [
        *(text for part in parts for text in part(config)),
        *streams.contradictions(config, root),
    ]


def unbuildable(config: Settings) -> list[str]:
    """Return one sentence for each method or timed variant whose hyper-parameters its ``build`` refuses.

    Builds each of them, which loads scipy.
    """
    found = []
    values = specs.candidates(config)
    for where, block in _blocks(config):
        if block.get("trained"):  # what it is built with is a network and images
            continue
        grid = {key: values[key] for key in block.get("select", [])}
        first = {key: listed[0] for key, listed in grid.items()}
        trials = [first, *(first | {key: value} for key in grid for value in grid[key][1:])]
        try:
            made = specs.composition(config, block)
            hyper = methods.with_seed(made["learner"], made["hyper"], 0)
            for trial in trials:
                methods.build(made["learner"], **hyper | trial)
        except SparclError as error:
            found.append(f"{where}.hyper: {error}")
    return found


def _unknown(where: str, names: Iterable[str], kind: str, known: Iterable[str]) -> Iterator[str]:
    """Yield a sentence for each name that is not among the known ones."""
    known = list(known)
    for name in names:
        if name not in known:
            yield f"{where}: there is no '{name}' among the {kind}. There are: {', '.join(known) or 'none'}."


def _suite(config: Settings) -> Iterator[str]:
    if config["suite"] not in config["suites"]:
        yield (
            f"suite: there is no suite '{config['suite']}'. There are: {', '.join(config['suites'])}; "
            "the name of a data set runs the protocol of suite 'digits' on it."
        )


def _suites(config: Settings) -> Iterator[str]:
    for name, suite in config["suites"].items():
        file = f"config/suites/{name}.yaml"
        for kind in ("datasets", "backbones", "methods", "tables", "figures"):
            yield from _unknown(f"{file}: {kind}", suite[kind], kind, config[kind])
        yield from _features(config, file, suite["datasets"], suite["backbones"])
        yield from _streams(config, file, suite)
        yield from _training(config, file, suite)
        if suite["compare"]:
            compared = [suite["compare"]["of"], *suite["compare"]["against"]]
            yield from _unknown(f"{file}: compare", compared, "suite's methods", suite["methods"])
        for shown in [] if suite["traces"] else displays.traced(config, suite):
            yield (
                f"{file}: {shown} reads the spectrum of R, which `traces: 0` leaves out. Take it from the "
                "list, or set `traces: 1`."
            )
        for kind in ("tables", "figures"):
            for shown in set(suite[kind]) & set(config[kind]):
                if "comparisons" in config[kind][shown]["frames"] and not suite["compare"]:
                    yield f"{file}: {kind}: {shown} reads comparisons, which the key `compare` makes. Add it."
                if not displays.drawable(config[kind][shown], suite["methods"]):
                    named = ", ".join(displays.entries(config[kind][shown]["show"]))
                    yield (
                        f"{file}: {kind}: {shown} shows {named}, and the suite has none of them. "
                        "Take it from the list, or add a method."
                    )
                yield from _other_suites(config, file, suite, kind, shown)
    for name, block in config["timings"].items():
        where = f"config/timings.yaml: {name}"
        yield from _unknown(f"{where}.datasets", block["datasets"], "datasets", config["datasets"])
        yield from _unknown(where, [block["backbone"]], "backbones", config["backbones"])
        yield from _features(config, where, block["datasets"], [block["backbone"]])


def _streams(config: Settings, file: str, suite: Settings) -> Iterator[str]:
    """Refuse, for streams that go wrong, what is made from other records, and the other way round."""
    rated = bool(suite["streams"])
    if rated:
        for key, nothing in (("stress", "none"), ("traces", 0), ("compare", {})):
            if suite[key] != nothing:
                yield f"{file}: {key} goes without `streams`, whose runs have other records. Leave out one of the two."
        for method in suite["methods"]:
            for key in ("select", "sums"):
                if key in config["methods"].get(method, {}):
                    yield (
                        f"{file}: method '{method}' has `{key}`, and `streams` runs methods with settings that are "
                        "given. Take it from the list, or give it numbers in a block of its own."
                    )
    for kind in ("tables", "figures"):
        for shown in suite[kind]:
            own = [f for f in config[kind].get(shown, {}).get("frames", []) if "/" not in f]
            wrong = [frame for frame in own if (frame in RATED) != rated]
            if wrong:
                yield (
                    f"{file}: {kind}.{shown} reads {', '.join(wrong)}, which a suite "
                    f"{'with' if rated else 'without'} `streams` does not make. Take it from the list."
                )


def _training(config: Settings, file: str, suite: Settings) -> Iterator[str]:
    """Refuse, for methods that train on images, what images cannot give, and budgets that nobody reads."""
    blocks = config["methods"]
    trained = [m for m in suite["methods"] if blocks.get(m, {}).get("trained")]
    own = suite["training"].get("datasets", {})
    yield from _unknown(f"{file}: training.datasets", own, "suite's data sets", suite["datasets"])
    places = {"training.methods": suite["training"].get("methods", {})}
    places |= {f"training.datasets.{name}": budgets for name, budgets in own.items()}
    for place, budgets in places.items():
        yield from _unknown(f"{file}: {place}", budgets, "suite's trained methods", trained)
        for name in set(budgets) & set(trained):
            where = f"{file}: {place}.{name}"
            takes = hyperparameters(blocks[name])
            kind = f"settings of learner '{blocks[name]['learner']}'"
            yield from _unknown(where, budgets[name], kind, takes)
            yield from _exponents(where, budgets[name])
    if not trained:
        if suite["training"]:
            yield f"{file}: training is for methods with `trained: true`, and the suite has none. Leave it out."
        return
    named = ", ".join(trained)
    for key, nothing in (("stress", "none"), ("streams", [])):
        if suite[key] != nothing:
            yield f"{file}: {key} changes features, and {named} train on images. Leave out one of the two."
    for dataset in suite["datasets"]:
        if "reader" not in config["datasets"].get(dataset, {"reader": ""}):
            yield (
                f"{file}: datasets: '{dataset}' has no images, and {named} train on them. Give the set's `reader`, "
                "`folder` and `archive` in config/datasets.yaml, or take one of the two out."
            )


def _features(
    config: Settings, where: str, datasets: Iterable[str], backbones: Iterable[str]
) -> Iterator[str]:
    """Refuse imported features of another network, and images for a network that has no `timm_id` to make it from."""
    for dataset, backbone in product(datasets, backbones):
        block, network = config["datasets"].get(dataset), config["backbones"].get(backbone)
        if block is None or network is None:
            continue
        if "path" in block and PurePath(block["path"]).name != backbone:
            yield (
                f"{where}: the features of '{dataset}' are those of '{PurePath(block['path']).name}' (`path` in "
                f"config/datasets.yaml), not of '{backbone}'. Name that one in "
                "`backbones`, or import a data set for each network."
            )
        if block.get("features", "images") == "images" and "timm_id" not in network:
            yield (
                f"{where}: '{backbone}' comes with imported features and cannot extract those of '{dataset}'. Add a "
                "block with its `timm_id` to config/backbones.yaml, or take one of the two out."
            )


def _other_suites(
    config: Settings, file: str, suite: Settings, kind: str, shown: str
) -> Iterator[str]:
    """Refuse what would make `make results` or the peers wait for another suite's runs."""
    for frame in config[kind][shown]["frames"]:
        other = displays.split_frame(frame)[0]
        if other in config["suites"] and suite.get("group") != "ablations":
            yield (
                f"{file}: {kind}.{shown} reads suite '{other}'; only suites of the group "
                "`ablations` may. Take it from the list, or set `group: ablations`."
            )


def _compositions(config: Settings) -> Iterator[str]:
    """Learners and their settings, of methods and of what is timed."""
    for where, block in _blocks(config):
        yield from _composition(config, where, block)


def _blocks(config: Settings) -> Iterator[tuple[str, Settings]]:
    """Yield every learner with its settings, and where it is written."""
    for name, block in config["methods"].items():
        yield f"config/methods.yaml: {name}", block
    for timing, block in config["timings"].items():
        for name, variant in block["variants"].items():
            yield f"config/timings.yaml: {timing}.{name}", variant


def _composition(config: Settings, where: str, block: Settings) -> Iterator[str]:
    known = learners(package(block))
    unknown = [*_unknown(f"{where}.learner", [block["learner"]], "learners", known)]
    if unknown:
        yield from unknown
        return
    yield from _exponents(f"{where}.hyper", block["hyper"])
    takes, hyper, select = (
        hyperparameters(block),
        block["hyper"],
        block.get("select", []),
    )
    kind = f"settings of learner '{block['learner']}'"
    yield from _unknown(f"{where}.hyper", hyper, kind, takes)
    yield from _unknown(f"{where}.select", select, kind, takes)
    for key in set(select) & set(hyper):
        yield f"{where}: '{key}' is both selected and fixed in `hyper`. Leave out one of the two."
    yield from _unknown(
        f"{where}.select",
        select,
        "candidates in params.yaml, `selection.grid`",
        config["selection"]["grid"],
    )
    ridges = {"ridge", "ridge_relative"} & set(takes)
    if select and ridges and not ridges & set(select) and not specs.is_number(hyper.get("ridge")):
        yield (
            f"{where}.select: a selection fits with numbers for the ridge. Name `ridge` in `select`, "
            "or give a number in `hyper`."
        )
    try:
        specs.resolved(config, hyper)
        if "sums" in block:
            # loads scipy, which a plan without sums does without
            from sparcl.protocol import sweep

            sweep.learner(block["learner"], hyper)
    except SparclError as error:
        yield f"{where}: {error}"


def _exponents(where: str, settings: Settings) -> Iterator[str]:
    """Yield a sentence for each number of a method's settings that YAML takes for text."""
    for key, value in settings.items():
        if isinstance(value, Mapping):
            yield from _exponents(f"{where}.{key}", value)
        elif isinstance(value, str) and (hint := exponent(value)):
            yield f"{where}.{key}: {value!r} is no number{hint}."


def exponent(text: str) -> str:
    """Return how to write a number such as 1e-3, which YAML takes for text; empty for other text."""
    found = EXPONENT.fullmatch(text)
    if found is None:
        return ""
    sign, whole, part, power = found.groups()
    power = power if power[0] in "+-" else f"+{power}"
    return f"; to YAML it is text: write {sign}{whole or 0}.{part or 0}e{power}"


def _displays(config: Settings) -> Iterator[str]:
    for kind in ("figures", "tables"):
        for name, block in config[kind].items():
            where = f"config/{kind}.yaml: {name}"
            yield from _unknown(where, displays.listed(block), "methods", config["methods"])
            if "backbone" in block:
                named = [block["backbone"]]
                yield from _unknown(f"{where}.backbone", named, "backbones", config["backbones"])
            folders = {displays.split_frame(frame)[0] for frame in block["frames"]}
            others = sorted(folders - {"", *displays.FOLDERS})
            yield from _unknown(f"{where}.frames", others, "suites", config["suites"])
