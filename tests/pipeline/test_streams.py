"""Streams that a suite states are compared with classes and files while planning."""

import json
from pathlib import Path
from typing import Any

from copies import ROOT

from study.pipeline import displays, paths, problems, specs, streams

Settings = dict[str, Any]


def with_file(config: Settings, folder: Path, content: Any, **more: Any) -> list[str]:
    """Give the toy suite an order file and return what is wrong with it."""
    (folder / "order.json").write_text(json.dumps(content), encoding="utf-8")
    suite = config["suites"]["toy"]
    suite |= {"order_file": "order.json", "pairs": [[1, 0], [1, 1]]} | more
    return [*streams.complete(config, folder)]


def of_toy(config: Settings) -> list[str]:
    return [text for text in problems.contradictions(config, ROOT) if "suites/toy.yaml" in text]


def test_streams_that_can_be(config: Settings) -> None:
    config["suites"]["toy"] |= {
        "sessions": [25, 5, 20],
        "order_rule": "identity",
        "pairs": [[0, 0], [0, 1]],
    }
    assert of_toy(config) == []
    assert displays.display(config, "tables", "main", "toy")["sessions"] == 3
    assert specs.order(config, "toy")["sessions"] == [25, 5, 20]


def test_a_file_states_the_sessions(config: Settings, tmp_path: Path) -> None:
    names = [str(number) for number in range(50)]
    assert with_file(config, tmp_path, {"sessions": [names[:30], names[30:]]}) == []
    assert config["suites"]["toy"]["sessions"] == 2 and of_toy(config) == []
    inputs = paths.order_inputs(config, "toy", "cub-50", "1")
    assert inputs["given"] == "order.json" and inputs["train"].endswith("train.h5")
    assert specs.order(config, "toy")["order_file"] == "order.json"


def test_placeholders_of_an_order_file(config: Settings) -> None:
    suite = {"order_file": "orders/{dataset}-{order}.json"}
    assert paths.order_file(suite, "cub-50", 7) == "orders/cub-50-7.json"


def test_files_that_do_not_fit(config: Settings, tmp_path: Path) -> None:
    config["methods"]["acil-sums"] = config["methods"]["acil-paper"] | {"sums": "classes"}
    before, ids = config["suites"]["toy"], {"ids": [["a"]]}
    cases: list[tuple[Any, Settings, str]] = [
        ({"sessions": [["a"], ["b"]]}, {}, "names 2 classes, and 'cub-50' has 50"),
        ({"sessions": [[]]}, {}, "not a class order"),
        (ids, {"stress": "long-tail"}, "`stress: long-tail` leaves out samples"),
        (ids, {"methods": ["acil-sums"]}, "'acil-sums' starts from sums of classes"),
        ({}, {"order_file": "none.json"}, "none.json: missing or damaged"),
    ]
    for content, more, words in cases:
        config["suites"]["toy"] = dict(before)
        (found,) = with_file(config, tmp_path, content, **more)
        assert found.startswith("config/suites/toy.yaml: order_file: ") and words in found


def test_classes_of_imported_features_are_counted(config: Settings, tmp_path: Path) -> None:
    config["datasets"]["mine"] = {"features": "file", "path": "mine/net"}
    assert streams.known_classes(config, "mine", tmp_path) is None
    (tmp_path / "mine/net").mkdir(parents=True)
    (tmp_path / "mine/net/train.json").write_text('{"classes": 7}')
    assert streams.known_classes(config, "mine", tmp_path) == 7
    (tmp_path / "mine/net/train.json").write_text("[" * 200_000)
    assert streams.known_classes(config, "mine", tmp_path) is None
