"""The settings: params.yaml and the catalogues in config/, read, merged, validated and completed."""

from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from math import isfinite
from pathlib import Path, PurePath
from typing import Any

import yaml
from jsonschema import Draft202012Validator, FormatChecker, ValidationError
from jsonschema.exceptions import relevance
from referencing import Registry, Resource

from sparcl.base.errors import ConfigError
from study.pipeline import displays, locations, streams
from study.pipeline.checks import contradictions, exponent, unbuildable
from study.report.letters import named, unprintable

Settings = dict[str, Any]

CATALOGUES = ("methods", "datasets", "backbones", "figures", "tables", "timings")
SCHEMAS = "workflow/schemas"
# libyaml reads all settings in a tenth of the time; both loaders give the same values.
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


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


# `format: printable` of the schemas.
FORMATS = FormatChecker([])
FORMATS.checks("printable")(lambda text: not isinstance(text, str) or not unprintable(text))
SHOWN = 10  # lines of an error
WIDE = 120  # characters of a value that an error quotes
# The suite whose protocol runs on somebody's own data set, if `suite` names one.
OWN = "digits"
# What a suite may leave out.
OPTIONAL = {
    "base_classes": 0,
    "order_rule": "random",
    "stress": "none",
    "streams": [],
    "compare": {},
    "training": {},
    "tables": ["main"],
}
# The figures that are drawn where a suite names none, as far as they show one of its methods.
FIGURES = ("dilution", "drift", "sessions")


def load(root: Path, overrides: Mapping[str, Any] | None = None, build: bool = False) -> Settings:
    """Return all settings as one mapping; its catalogues and ``suites`` are keyed by id.

    Parameters
    ----------
    root : folder of the project
    overrides : what Snakemake's ``--config`` and ``--configfile`` say, over the files key by key;
        catalogues under their names, suites under ``suites``
    build : try the hyper-parameters of every method; a second, once for all jobs

    Raises
    ------
    ConfigError
        With everything that is wrong, in ten lines at most: unknown keys, values out of range, ids that do not
        exist.  Each line names the file, the key and the line there.
    """

    def refuse(found: Iterable[str]) -> None:
        if lines := [*dict.fromkeys(found)]:
            lines = [locations.located(line, root, overrides or {}) for line in lines]
            if len(lines) > SHOWN:
                lines[SHOWN - 1 :] = [f"and {len(lines) - SHOWN + 1} more; these first."]
            raise ConfigError("\n".join(lines))

    settings = read_yaml(root / "params.yaml")
    if isinstance(settings, dict):
        for name in CATALOGUES:
            settings[name] = read_yaml(root / f"config/{name}.yaml")
        files = sorted(root.glob("config/suites/*.yaml"))
        settings["suites"] = {file.stem: read_yaml(file) for file in files}
    schemas = read_schemas(root / SCHEMAS)
    refuse(faults(settings, schemas))
    if overrides:
        files, settings = settings, merged(settings, overrides)
        refuse(
            f"{fault} (as --config or --configfile has it)"
            for fault in faults(settings, schemas, files)
        )
    written = {*settings["suites"]}
    _complete(settings)
    own = {*settings["suites"]} - written
    unread = streams.complete(settings, root)
    refuse(_of_nobody(line, own) for line in [*unread, *contradictions(settings, root)])
    if build:
        refuse(unbuildable(settings))
    return settings


def _of_nobody(fault: str, own: Iterable[str]) -> str:
    """Return a fault of a suite that nobody wrote, which a data set's name stands for, with what to write."""
    for suite in own:
        if fault.startswith(f"config/suites/{suite}.yaml: "):
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
    except (yaml.YAMLError, ValueError) as error:
        text = " ".join(str(error).split())
        raise ConfigError(f"{path}: this is not YAML: {text}") from error


def read_schemas(folder: Path) -> Registry:
    """Return the schemas by file name, so that one can refer to another."""
    return Registry().with_resources(
        (file.name, Resource.from_contents(read_yaml(file))) for file in folder.glob("*.yaml")
    )


def faults(settings: Any, schemas: Registry, sound: Any = None) -> Iterator[str]:
    """Yield what the schemas refuse, with file and key; what ``sound`` settings hold too is not read again."""
    if not isinstance(settings, dict):
        yield "params.yaml: it holds no settings by name"
        return
    known = _parts(sound) if sound else {}
    for (file, schema), content in _parts(settings).items():
        # as text: 1, 1.0 and true are equal, and schemas tell them apart
        if (file, schema) in known and repr(known[file, schema]) == repr(content):
            continue
        validator = Draft202012Validator({"$ref": schema}, registry=schemas, format_checker=FORMATS)
        errors = [f"{file}: {_described(error)}" for error in validator.iter_errors(content)]
        # a content that passes has no circle
        yield from errors or (
            f"{file}: {place}: {number} is no finite number" for place, number in _endless(content)
        )


def _parts(settings: Settings) -> dict[tuple[str, str], Any]:
    """Return what each file holds, by file and schema."""
    page = {key: block for key, block in settings.items() if key not in (*CATALOGUES, "suites")}
    parts: dict[tuple[str, str], Any] = {("params.yaml", "params.schema.yaml"): page}
    parts |= {(f"config/{n}.yaml", f"{n}.schema.yaml"): settings[n] for n in CATALOGUES}
    for suite, block in settings["suites"].items():
        file = f"config/suites/{suite}.yaml"
        parts |= {(file, "common.schema.yaml#/$defs/id"): suite, (file, "suite.schema.yaml"): block}
    return parts


def _endless(content: Any, place: str = "") -> Iterator[tuple[str, float]]:
    """Yield the numbers that are not finite, each with its place; a schema's limits let .nan pass."""
    if isinstance(content, float) and not isfinite(content):
        yield place, content
    elif isinstance(content, dict | list):
        pairs = content.items() if isinstance(content, dict) else enumerate(content)
        for key, value in pairs:
            yield from _endless(value, f"{place}.{key}" if place else str(key))


def _described(error: ValidationError) -> str:
    """Return key and message: what is allowed in words, and no more of a schema or a value than a line holds."""
    while error.context:  # several forms are allowed: the one that fits best
        error = min(error.context, key=relevance)
    place = ".".join(map(str, error.absolute_path))
    schema = error.schema if isinstance(error.schema, dict) else {}
    value, message, known = repr(error.instance), error.message, ""
    if error.validator == "additionalProperties" and "properties" in schema:
        known = f"; known are {', '.join(schema['properties'])}"
    elif error.validator == "pattern" and "description" in schema:
        message = f"{value} is not {schema['description']}"
    elif error.validator == "format":
        foreign = ", ".join(map(named, unprintable(error.instance)))
        message = (
            f"{value} holds {foreign}, which tables and figures cannot print; write it in words"
        )
    elif error.validator == "not" and "description" in schema:
        message = f"{value} {schema['description']}"
    if len(value) > WIDE:
        message = message.replace(value, f"{value[:WIDE]} ...")
    if isinstance(error.instance, str):
        known += exponent(error.instance)
    return (f"{place}: " if place else "") + message + known


def _complete(settings: Settings) -> None:
    """Fill in what may be left out, so that nobody else asks whether it is there."""
    suites, datasets, suite = settings["suites"], settings["datasets"], settings["suite"]
    for block in datasets.values():
        if "path" in block:  # imported features name their network, which needs no weights
            settings["backbones"].setdefault(PurePath(block["path"]).name, {})
    if suite in datasets and suite not in suites and OWN in suites:
        suites[suite] = suites[OWN] | {"datasets": [suite]}
        if "path" in datasets[suite]:
            suites[suite]["backbones"] = [PurePath(datasets[suite]["path"]).name]
    drawn = {name: settings["figures"].get(name, {}) for name in FIGURES}
    for block in suites.values():
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
