"""Streams that a suite states are compared with classes and files while planning; faults are short and have a place."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from copies import ROOT

from sparcl.base.errors import ConfigError
from study.pipeline import displays, paths, problems, specs, streams
from study.pipeline.configuration import load
from study.pipeline.settings import exponent

Settings = dict[str, Any]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of all that `load` reads, with the toy suite alone."""
    folder = tmp_path_factory.mktemp("project")
    shutil.copytree(ROOT / "config", folder / "config")
    shutil.copy(ROOT / "params.yaml", folder)
    return folder


def with_file(config: Settings, folder: Path, content: Any, **more: Any) -> list[str]:
    """Give the toy suite an order file and return what is wrong with it."""
    (folder / "order.json").write_text(json.dumps(content), encoding="utf-8")
    suite = config["suites"]["toy"]
    suite |= {"order_file": "order.json", "pairs": [[1, 0], [1, 1]]} | more
    return streams.complete(config, folder)


def of_toy(config: Settings) -> list[str]:
    return [text for text in problems.contradictions(config, ROOT) if "suites/toy.yaml" in text]


IMPOSSIBLE: list[tuple[Settings, tuple[str, ...]]] = [
    ({"sessions": [30, 10]}, ("sessions: 'cub-50': 50 classes", "30, 10, which hold 40")),
    ({"sessions": 51}, ("sessions: 'cub-50': 50 classes cannot fill 51 sessions",)),
    ({"sessions": 5, "base_classes": 48}, ("with 48 classes in the first",)),
    ({"sessions": 50}, ("one class in its first session, where acil, sparcl select",)),
    ({"sessions": 1}, ("figures: dilution shows session 2 of 1",)),
    ({"order_rule": "identity"}, ("pairs: 2 numbers", "1993, 1994", "one number in every pair")),
    ({"figures": ["frontier"], "methods": ["acil", "sparcl"]}, ("frontier shows", "none of them")),
    ({"tables": ["increments"]}, ("increments shows what", "`compare`")),
    ({"traces": 0, "figures": ["dilution"]},
     ("figures.dilution reads the spectrum of R", "`traces: 0`", "set `traces: 1`")),
]  # fmt: skip


def test_streams_that_cannot_be(config: Settings) -> None:
    before = config["suites"]["toy"]
    for change, words in IMPOSSIBLE:
        config["suites"]["toy"] = before | change
        found = of_toy(config)
        assert any(all(word in text for word in words) for text in found), (change, found)


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


def test_hyperparameters_that_no_learner_can_be_built_with(config: Settings) -> None:
    config["methods"]["sparcl-paper"]["hyper"]["tau"] = 1.5
    config["timings"]["refresh"]["variants"]["acil"]["hyper"]["ridge"] = 0
    config["methods"]["sparcl"]["select"] = ["ridge"]
    config["selection"]["grid"]["ridge"] = [1.0, -1.0]
    found = [*problems.contradictions(config, ROOT)]
    for start in (
        "config/methods.yaml: sparcl-paper.hyper: tau = 1.5: ",
        "config/timings.yaml: refresh.variants.acil.hyper: ridge = 0: ",
        "config/methods.yaml: sparcl.hyper: ridge = -1.0: ",
    ):
        assert any(line.startswith(start) for line in found), start


def test_numbers_that_yaml_takes_for_text(config: Settings) -> None:
    for text, number in (
        ("1e-3", "1.0e-3"),
        ("2.5E4", "2.5e+4"),
        ("-1.0e6", "-1.0e+6"),
        (".5e1", "0.5e+1"),
    ):
        config["methods"]["acil-paper"]["hyper"]["ridge"] = text
        where = "config/methods.yaml: acil-paper.hyper.ridge: "
        (found,) = [line for line in problems.malformed(config) if line.startswith(where)]
        assert repr(text) in found and f"write {number}" in found
    for text in ("newest", "e5", "1.0", "1e", "all-sessions", "E"):
        assert exponent(text) == ""


@pytest.fixture
def toy(project: Path) -> Iterator[Path]:
    """Return the file of the suite toy, put back afterwards."""
    path = project / "config/suites/toy.yaml"
    before = path.read_text(encoding="utf-8")
    yield path
    path.write_text(before, encoding="utf-8")


def refused(project: Path) -> list[str]:
    with pytest.raises(ConfigError) as error:
        load(project)
    return str(error.value).splitlines()


def test_a_fault_has_file_key_and_line(project: Path, toy: Path) -> None:
    lines = toy.read_text(encoding="utf-8").replace("sessions: 5", "sessions: 0").splitlines()
    toy.write_text("\n".join(lines), encoding="utf-8")
    number = 1 + next(i for i, line in enumerate(lines) if line.startswith("sessions"))
    (said,) = refused(project)
    assert (
        said
        == f"config/suites/toy.yaml: sessions: 0 should be greater than or equal to 1 (line {number})"
    )
    with pytest.raises(ConfigError) as error:
        load(ROOT, {"suites": {"toy": {"sessions": 0}}})
    assert "(line" not in str(error.value), "the file does not say it"


def test_a_message_has_ten_lines_and_no_schema(project: Path, toy: Path) -> None:
    wrong = [f"key-{number}: {{a: [{number}, 2, 3]}}" for number in range(30)]
    toy.write_text("\n".join([*wrong, "datasets: [" + "x, " * 200 + "]"]), encoding="utf-8")
    said = refused(project)
    assert len(said) <= 10 and all(len(line) < 600 for line in said), said


def test_an_order_file_goes_without_sessions(project: Path, toy: Path) -> None:
    toy.write_text(toy.read_text(encoding="utf-8") + "order_file: a.json\n", encoding="utf-8")
    (said,) = refused(project)
    assert said.startswith(
        "config/suites/toy.yaml: sessions: 'sessions' does not go with order_file"
    )
