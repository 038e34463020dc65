"""Streams of a suite, checked against the classes of its data sets and the files that it names."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sparcl.base.errors import InputError
from sparcl.protocol.stream import split_sessions
from study.loop import order_file
from study.order_rules import first_classes
from study.pipeline import paths
from study.places import where

Settings = Mapping[str, Any]


def complete(config: Settings, root: Path) -> Iterator[str]:
    """Set ``sessions`` of the suites whose streams a file states; yield a sentence for each fault of such a file.

    A missing file counts one session here, so that the rest of the settings can be checked.
    """
    for name, suite in config["suites"].items():
        if "order_file" in suite:
            for words in dict.fromkeys(_read(config, suite, root)):
                yield f"{where('suites', name, 'order_file')}: {words}"


def _read(config: Settings, suite: dict[str, Any], root: Path) -> Iterator[str]:
    """Take the number of sessions of a suite from the files of its streams; yield what is wrong with them."""
    numbers: dict[int, str] = {}
    for dataset in suite["datasets"]:
        for order in dict.fromkeys(order for order, _ in suite["pairs"]):
            path = paths.order_file(suite, dataset, order)
            try:
                file = order_file.read(root / Path(path).expanduser())
            except InputError as error:
                yield str(error)
                continue
            numbers.setdefault(file.sessions, path)
            classes = known_classes(config, dataset, root)
            listed = sum(map(len, file.classes or []))
            if file.classes and classes and listed != classes:
                yield f"{path} names {listed} classes, and '{dataset}' has {classes}."
            if file.ids:
                yield from _of_samples(config, suite, path)
    suite["sessions"] = next(iter(numbers), 1)
    if len(numbers) > 1:
        stated = ", ".join(f"{number} in {path}" for number, path in numbers.items())
        yield f"the streams of a suite have as many sessions each; here they have {stated}."


def _of_samples(config: Settings, suite: Settings, given: str) -> Iterator[str]:
    """Yield what of a suite does not go with a stream that is ``given`` by samples."""
    if suite["stress"] == "long-tail":
        yield f"`stress: long-tail` leaves out samples that {given} gives to a session."
    for method in suite["methods"]:
        if config["methods"].get(method, {}).get("trained"):
            yield f"{given} gives samples to sessions, and '{method}' trains on whole classes. Take it out."
        if "sums" in config["methods"].get(method, {}):
            yield (
                f"{given} gives samples to sessions, and '{method}' starts from sums of classes. Take its key "
                "`sums` out, or the method."
            )


def contradictions(config: Settings, name: str, root: Path) -> Iterator[str]:
    """Yield a sentence for each stream of a suite that the classes of its data set cannot fill."""
    suite, place = config["suites"][name], where("suites", name)
    orders = dict.fromkeys(order for order, _ in suite["pairs"])
    one = suite["order_rule"] == "identity" or "{order}" not in suite.get("order_file", "{order}")
    if one and len(orders) > 1:
        yield (
            f"{place}: pairs: {len(orders)} numbers of class orders, {', '.join(map(str, orders))}, stand for one "
            "and the same stream, whose runs would count as repetitions. Write one number in every pair."
        )
    if "order_file" in suite:
        return
    if "shots" in suite:
        yield from (f"{place}: shots: {text}" for text in _of_samples(config, suite, "`shots`"))
    selecting = [m for m in suite["methods"] if "select" in config["methods"].get(m, {})]
    for dataset in suite["datasets"]:
        classes = known_classes(config, dataset, root)
        if classes is None:
            continue
        try:
            base = first_classes(suite["base_classes"], classes)
            sizes = split_sessions(np.arange(classes), suite["sessions"], base)
        except InputError as error:
            yield f"{place}: sessions: '{dataset}': {error}"
            continue
        if selecting and len(sizes[0]) < 2:
            yield (
                f"{place}: sessions: '{dataset}' has one class in its first session, where {', '.join(selecting)} "
                "select hyper-parameters on two or more. Lower `sessions`, set `base_classes`, or give numbers."
            )


def known_classes(config: Settings, dataset: str, root: Path) -> int | None:
    """Return how many classes a data set has, as its block or the manifest of imported features states."""
    block = config["datasets"].get(dataset, {})
    if "classes" in block:
        return int(block["classes"])
    if "path" in block:
        try:
            manifest = root / Path(block["path"]).expanduser() / "train.json"
            return int(json.loads(manifest.read_text(encoding="utf-8"))["classes"])
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None  # the job that verifies the features says why
    return None
