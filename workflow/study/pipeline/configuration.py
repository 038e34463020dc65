"""The settings: params.yaml and the catalogues in config/, read, merged, checked and completed."""

from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from pathlib import Path, PurePath
from typing import Any

import yaml

from sparcl.base.errors import ConfigError
from study.pipeline import displays, streams, variants
from study.places import CATALOGUES, LOADER, located, where

Settings = dict[str, Any]


class Loader(LOADER):  # type: ignore[misc, valid-type]
    """Reads plain values. A key that is there twice is an error: of the two, YAML would keep the second."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Return the mapping; ConstructorError for a key that is there twice."""
        seen = set()
        for key, _ in node.value:
            if (key.tag, repr(key.value)) in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key.value!r} is there twice", key.start_mark
                )
            seen.add((key.tag, repr(key.value)))
        return super().construct_mapping(node, deep)


SHOWN = 10  # lines of an error
# The suite whose protocol runs on the user's own data set, if `suite` names one.
OWN = "digits"
# What a suite may leave out.
OPTIONAL = {
    "base_classes": 0,
    "order_rule": "random",
    "stress": "none",
    "streams": [],
    "vary": [],
    "compare": {},
    "training": {},
    "tables": ["main"],
}
# The figures that are drawn where a suite names none, as far as they show one of its methods.
FIGURES = ("dilution", "drift", "sessions")


def load(root: Path, overrides: Mapping[str, Any] | None = None, check: bool = True) -> Settings:
    """Return all settings as one mapping; its catalogues and ``suites`` are keyed by id.

    Parameters
    ----------
    root : folder of the project
    overrides : what Snakemake's ``--config`` and ``--configfile`` say, over the files key by key;
        catalogues under their names, suites under ``suites``
    check : False for the jobs of a run, whose start has checked the same settings

    Raises
    ------
    ConfigError
        With everything that is wrong, in ten lines at most: unknown keys, values out of range, ids that do not
        exist, settings with which no method can be built.  Each line names the file, the key and the line there.
    """
    overrides = overrides or {}

    def refuse(found: Iterable[str]) -> None:
        if lines := [located(line, root, overrides) for line in dict.fromkeys(found)]:
            if len(lines) > SHOWN:
                lines[SHOWN - 1 :] = [f"and {len(lines) - SHOWN + 1} more; these first."]
            raise ConfigError("\n".join(lines))

    files = read(root)
    if check:
        from study.pipeline import problems  # loads pydantic and scipy, which jobs do without

        for given in (files, overrides):
            refuse(problems.unreadable(given))
    settings = merged(files, overrides)
    if check:
        refuse(problems.malformed(settings))
    written = {*settings["suites"]}
    found = [*variants.expand(settings), *_complete(settings, root)]
    if check:
        found += problems.contradictions(settings, root)
        own = {*settings["suites"]} - written
        refuse(_of_nobody(line, own) for line in found)
    return settings


def read(root: Path) -> Settings:
    """Return what the files of a project hold, unchecked."""
    pages = [root / "params.yaml", root / "config/config.yaml"]  # the second: snakedeploy's copy
    settings = read_yaml(next((page for page in pages if page.is_file()), pages[0]))
    if not isinstance(settings, dict):
        raise ConfigError("params.yaml: it holds no settings by name")
    for name in CATALOGUES:
        settings[name] = read_yaml(root / f"config/{name}.yaml")
    suites = sorted(root.glob("config/suites/*.yaml"))
    return settings | {"suites": {file.stem: read_yaml(file) for file in suites}}


def _of_nobody(fault: str, own: Iterable[str]) -> str:
    """Return a fault of a suite that has no file, which a data set's name stands for, with what to write."""
    for suite in own:
        if fault.startswith(f"{where('suites', suite)}: "):
            return f"{fault} '{suite}' runs the protocol of suite '{OWN}'; for another, write this file."
    return fault


def merged(settings: Mapping[str, Any], overrides: Mapping[str, Any]) -> Settings:
    """Return the settings with other values; mappings are merged, anything else is replaced."""
    result = deepcopy(dict(settings))
    for key, value in overrides.items():
        if isinstance(value, Mapping):
            below = result.get(key)
            result[key] = merged(below if isinstance(below, Mapping) else {}, value)
        else:
            result[key] = deepcopy(value)
    return result


def read_yaml(path: Path) -> Any:
    """Return what a YAML file holds; ConfigError where it cannot be read."""
    try:
        return yaml.load(path.read_text(encoding="utf-8"), Loader=Loader)
    except OSError as error:
        raise ConfigError(
            f"{path}: cannot be read ({error.strerror}); `git checkout` brings it back."
        ) from error
    except RecursionError as error:
        raise ConfigError(f"{path}: too many levels of settings within settings") from error
    except (yaml.YAMLError, ValueError) as error:
        text = " ".join(str(error).split())
        raise ConfigError(f"{path}: this is not YAML: {text}") from error


def _complete(settings: Settings, root: Path) -> Iterator[str]:
    """Fill in what may be left out, so that no other code asks whether it is there.

    Yields a sentence for each fault of a file that states a stream.
    """
    suites, datasets, suite = settings["suites"], settings["datasets"], settings["suite"]
    for block in datasets.values():
        if "path" in block:  # imported features name their network, which needs no weights
            settings["backbones"].setdefault(PurePath(block["path"]).name, {})
    if suite in datasets and suite not in suites and OWN in suites:
        suites[suite] = suites[OWN] | {"datasets": [suite], "title": suite}
        if "path" in datasets[suite]:
            suites[suite]["backbones"] = [PurePath(datasets[suite]["path"]).name]
    drawn = {name: settings["figures"].get(name, {}) for name in FIGURES}
    for name, block in suites.items():
        block.setdefault("title", name)
        could = [n for n, figure in drawn.items() if displays.drawable(figure, block["methods"])]
        block.setdefault("figures", could)
    settings["suites"] = {name: OPTIONAL | block for name, block in suites.items()}
    for block in settings["suites"].values():
        # what draws the spectrum of R needs one class order traced
        block.setdefault("traces", int(bool(displays.traced(settings, block))))
    for kind in ("methods", "datasets", "backbones"):
        for name, block in settings[kind].items():
            block.setdefault("label", name)
            block.setdefault("short", block["label"])
    for block in datasets.values():
        block.setdefault("shards", 1)
    yield from streams.complete(settings, root)
