"""Faults of settings: values that no form allows, ids that do not exist, settings that no code reads."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from pathlib import Path, PurePath
from typing import Any

from sparcl.base.errors import SparclError
from study import methods
from study.pipeline import displays, specs, streams, variants
from study.pipeline.plan import COMPARED, RATED, TRACES, session_count
from study.pipeline.provenance import hyperparameters, learners
from study.pipeline.settings import FORMS, faults, unusable
from study.places import where

Settings = Mapping[str, Any]


def unreadable(config: Settings) -> Iterator[str]:
    """Yield a sentence for what nothing that reads settings can take: no end of levels or values, 10^400, nan."""
    for at, words in unusable(config):
        yield f"{where(*at)}: {words}"


def malformed(config: Settings) -> Iterator[str]:
    """Yield a sentence for each value that its form does not allow."""
    page = {key: value for key, value in config.items() if key not in FORMS}
    for kind, form in FORMS.items():
        for at, words in faults(form, page if kind == "params" else config[kind]):
            yield f"{where(kind, *at)}: {words}"


def contradictions(config: Settings, root: Path = Path()) -> Iterator[str]:
    """Yield a sentence for each contradiction in settings whose values are allowed (``root``: of the project).

    Builds every method, which loads scipy.
    """
    if config["suite"] not in config["suites"]:
        yield (
            f"{where('suite')}: there is no suite '{config['suite']}'. There are: {', '.join(config['suites'])}; "
            "the name of a data set runs the protocol of suite 'digits' on it."
        )
    for name, suite in config["suites"].items():
        place = where("suites", name)
        for kind in ("datasets", "backbones", "methods", "tables", "figures"):
            yield from _unknown(f"{place}: {kind}", suite[kind], kind, config[kind])
        yield from _features(config, place, suite["datasets"], suite["backbones"])
        yield from _records(config, place, suite)
        yield from _training(config, place, suite)
        yield from _shown(config, place, suite)
        if compare := suite["compare"]:
            compared = [compare["of"], *compare["against"]]
            yield from _unknown(f"{place}: compare", compared, "suite's methods", suite["methods"])
        yield from streams.contradictions(config, name, root)
    for name, block in config["timings"].items():
        place = where("timings", name)
        yield from _unknown(f"{place}.datasets", block["datasets"], "datasets", config["datasets"])
        yield from _unknown(place, [block["backbone"]], "backbones", config["backbones"])
        yield from _features(config, place, block["datasets"], [block["backbone"]])
        for variant, made in block["variants"].items():
            yield from _composition(config, where("timings", name, "variants", variant), made)
    varied = variants.places(config)
    for name, block in config["methods"].items():
        if name in varied:
            for at, words in faults(FORMS["methods"], {name: block}):
                yield f"{varied[name]}: {'.'.join(map(str, at))}: {words}"
        yield from _composition(config, varied.get(name) or where("methods", name), block)
    yield from _displays(config)


def _unknown(place: str, names: Iterable[str], kind: str, known: Iterable[str]) -> Iterator[str]:
    """Yield a sentence for each name that is not among the known ones."""
    known = list(known)
    for name in names:
        if name not in known:
            yield f"{place}: there is no '{name}' among the {kind}. There are: {', '.join(known) or 'none'}."


def _shown(config: Settings, place: str, suite: Settings) -> Iterator[str]:
    """Refuse figures and tables that this suite has nothing for."""
    for kind in ("tables", "figures"):
        for name in suite[kind]:
            if block := config[kind].get(name):
                module = block.get("module", name)
                for words in _unfit(config, suite, block, module, where(kind)):
                    yield f"{place}: {kind}: {name} {words}"


def _unfit(
    config: Settings, suite: Settings, block: Settings, module: str, blocks: str
) -> Iterator[str]:
    """Yield what of a suite a figure or table (its block, among ``blocks`` of its kind) cannot show."""
    out, frames, backbones = "Take it from the list", {*block["frames"]}, suite["backbones"]
    if len(backbones) > 1 and "backbone" not in block:
        yield (
            f"shows one backbone, and the suite has {len(backbones)}: {', '.join(backbones)}. Write a suite for each, "
            f"or a block in {blocks} for each (`module: {module}`) that names its `backbone`."
        )
    if not suite["traces"] and frames & {*TRACES}:
        yield f"reads the spectrum of R, which `traces: 0` leaves out. {out}, or set `traces: 1`."
    if module == "increments" and not suite["compare"]:
        yield "shows what the key `compare` names. Add it."
    if not displays.drawable(block, suite["methods"]):
        named = ", ".join(displays.entries(block["show"]))
        yield f"shows {named}, and the suite has none of them. {out}, or add a method."
    if (sessions := session_count(suite)) < block.get("session", 1):
        yield f"shows session {block['session']} of {sessions}. Take it out."
    others = {frame.rpartition("/")[0] for frame in frames} & config["suites"].keys()
    if others and suite.get("group") != "ablations":  # else `make results` would wait for its runs
        named = ", ".join(sorted(others))
        yield f"reads {named}, other suites, which takes `group: ablations`. {out}, or set the group."
    rated = bool(suite["streams"])
    own = sorted(frame for frame in frames if "/" not in frame and frame != COMPARED)
    if wrong := ", ".join(frame for frame in own if (frame in RATED) != rated):
        has = "with" if rated else "without"
        yield f"reads {wrong}, which a suite {has} `streams` does not make. {out}."


def _records(config: Settings, place: str, suite: Settings) -> Iterator[str]:
    """Refuse, for streams that go wrong, what is made from other records."""
    if not suite["streams"]:
        return
    for key, nothing in (("stress", "none"), ("traces", 0), ("compare", {}), ("shots", 0)):
        if suite.get(key, nothing) != nothing:
            yield f"{place}: {key} goes without `streams`, whose runs have other records. Leave out one of the two."
    for method, key in product(suite["methods"], ("select", "sums")):
        if key in config["methods"].get(method, {}):
            yield (
                f"{place}: method '{method}' has `{key}`, and `streams` runs methods with settings that are "
                "given. Take it from the list, or give it numbers in a block of its own."
            )


def _training(config: Settings, place: str, suite: Settings) -> Iterator[str]:
    """Refuse, for methods that train on images, what images cannot give, and budgets that no method reads."""
    blocks = config["methods"]
    trained = [m for m in suite["methods"] if blocks.get(m, {}).get("trained")]
    own = suite["training"].get("datasets", {})
    yield from _unknown(f"{place}: training.datasets", own, "suite's data sets", suite["datasets"])
    places = {"training.methods": suite["training"].get("methods", {})}
    places |= {f"training.datasets.{name}": budgets for name, budgets in own.items()}
    for key, budgets in places.items():
        yield from _unknown(f"{place}: {key}", budgets, "suite's trained methods", trained)
        for name in set(budgets) & set(trained):
            yield from _settings(f"{place}: {key}.{name}", blocks[name], budgets[name])
    if not trained:
        if suite["training"]:
            yield f"{place}: training is for methods with `trained: true`, and the suite has none. Leave it out."
        return
    named = ", ".join(trained)
    for key, nothing in (("stress", "none"), ("streams", [])):
        if suite[key] != nothing:
            yield f"{place}: {key} changes features, and {named} train on images. Leave out one of the two."
    for dataset in suite["datasets"]:
        if "reader" not in config["datasets"].get(dataset, {"reader": ""}):
            yield (
                f"{place}: datasets: '{dataset}' has no images, and {named} train on them. Give the set's `reader`, "
                f"`folder` and `archive` in {where('datasets')}, or take one of the two out."
            )


def _features(
    config: Settings, place: str, datasets: Iterable[str], backbones: Iterable[str]
) -> Iterator[str]:
    """Refuse imported features of another network, and images for a network that has no `timm_id` to make it from."""
    for dataset, backbone in product(datasets, backbones):
        block, network = config["datasets"].get(dataset), config["backbones"].get(backbone)
        if block is None or network is None:
            continue
        if "path" in block and PurePath(block["path"]).name != backbone:
            yield (
                f"{place}: the features of '{dataset}' are those of '{PurePath(block['path']).name}' "
                f"({where('datasets', dataset, 'path')}), not of '{backbone}'. Name that one in "
                "`backbones`, or import a data set for each network."
            )
        if block.get("features", "images") == "images" and "timm_id" not in network:
            yield (
                f"{place}: '{backbone}' comes with imported features and cannot extract those of '{dataset}'. Add a "
                f"block with its `timm_id` to {where('backbones')}, or take one of the two out."
            )


def _settings(place: str, block: Settings, settings: Iterable[str]) -> Iterator[str]:
    """Refuse settings that the learner of a method's block does not take."""
    if block["learner"] in learners(bool(block.get("trained"))):
        kind = f"settings of learner '{block['learner']}'"
        yield from _unknown(place, settings, kind, hyperparameters(block))


def _composition(config: Settings, place: str, block: Settings) -> Iterator[str]:
    """Refuse a learner that is not there, and settings with which it cannot be built."""
    hyper, select, grid = block["hyper"], block.get("select", []), specs.candidates(config)
    found = [
        *_unknown(
            f"{place}.learner", [block["learner"]], "learners", learners(bool(block.get("trained")))
        ),
        *_settings(f"{place}.hyper", block, hyper),
        *_settings(f"{place}.select", block, select),
        *_unknown(f"{place}.select", select, f"candidates ({where('selection', 'grid')})", grid),
        *(
            f"{place}: '{key}' is both selected and fixed in `hyper`. Leave out one of the two."
            for key in set(select) & set(hyper)
        ),
    ]
    yield from found
    if found:
        return
    ridges = {"ridge", "ridge_relative"} & set(hyperparameters(block))
    if select and ridges and not ridges & set(select) and not specs.is_number(hyper.get("ridge")):
        yield (
            f"{place}.select: a selection fits with numbers for the ridge. Name `ridge` in `select`, "
            "or give a number in `hyper`."
        )
        return
    try:
        made = specs.composition(config, block)
        if "sums" in block:
            from study.sums import sweep  # loads scipy

            sweep.learner(block["learner"], hyper)
        if block.get("trained"):  # what it is built with is a network and images
            return
        given = methods.with_seed(made["learner"], made["hyper"], 0)
        first = {key: grid[key][0] for key in select}
        for trial in [first, *(first | {key: v} for key in select for v in grid[key][1:])]:
            methods.build(made["learner"], **given | trial)
    except SparclError as error:
        yield f"{place}.hyper: {error}"


def _displays(config: Settings) -> Iterator[str]:
    for kind in ("figures", "tables"):
        for name, block in config[kind].items():
            place = where(kind, name)
            yield from _unknown(place, displays.listed(block), "methods", config["methods"])
            if "backbone" in block:
                named = [block["backbone"]]
                yield from _unknown(f"{place}.backbone", named, "backbones", config["backbones"])
            folders = {frame.rpartition("/")[0] for frame in block["frames"]}
            others = sorted(folders - {"", *displays.FOLDERS})
            yield from _unknown(f"{place}.frames", others, "suites", config["suites"])
