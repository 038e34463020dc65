"""Streams that files state: classes by name, samples by id; classes that come back."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from reference import ridge as naive

from sparcl.base.errors import InputError
from sparcl.protocol import stream
from study.loop import experiment, order_file
from study.loop.experiment import Split

NAMES = ["ant", "bee", "cat", "dog"]
IDS = [f"{NAMES[i % 4]}/{i}" for i in range(40)]
LABELS = np.arange(40) % 4


def put(folder: Path, content: Any, name: str = "a.json") -> Path:
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def test_classes_by_name_or_position(tmp_path: Path) -> None:
    for sessions in ([["dog", "ant"], ["bee", "cat"]], [[3, 0], [1, 2]]):
        file = order_file.read(put(tmp_path, {"sessions": sessions}))
        assert file.sessions == 2 and file.positions(NAMES) == [[3, 0], [1, 2]]


def test_samples_by_a_list_or_by_a_column(tmp_path: Path) -> None:
    """Sessions are ordered as numbers, other columns and a byte-order mark do not matter; ant comes back."""
    parts = [[0, 4, 1], [2, 8, 3]]
    listed = put(tmp_path, {"ids": [[IDS[i] for i in part] for part in parts]})
    rows = [
        f"{IDS[i]},x,{number}" for part, number in zip(parts, (9, 10), strict=True) for i in part
    ]
    column = put(tmp_path, "\ufeffid,site,session\n" + "\n".join(rows[::-1]), "a.csv")
    for path in (listed, column):
        new, session = order_file.read(path).arrivals(IDS, LABELS)
        assert new == [[0, 1], [2, 3]]
        expected = np.full(40, -1)
        expected[[0, 4, 1]], expected[[2, 8, 3]] = 0, 1
        assert session == expected.tolist()


def test_classes_and_samples_that_do_not_fit(tmp_path: Path) -> None:
    for kind, parts, words in (
        ("sessions", [["ant", "eel"], ["bee", "cat", "dog"]], "session 1: there is no class 'eel'"),
        ("sessions", [[0, 1], [2, 4]], "session 2: there is no class 4"),
        ("sessions", [[0, 1], [2, -1]], "session 2: there is no class -1"),
        ("sessions", [["ant"], ["bee", "cat"]], "1 of 4 classes come in none or twice: dog"),
        ("sessions", [["ant", "bee"], ["bee", "cat", "dog"]], "none or twice: bee.*ids of its sam"),
        (
            "ids",
            [["ant/0", "bee/1", "cat/2", "dog/3"], ["ant/4"]],
            "session 2: .* no class that is",
        ),
        (
            "ids",
            [["ant/0", "bee/1"], ["cat/2", "x"]],
            "session 2: .*no training sample 'x'.*'ant/0'",
        ),
        ("ids", [["ant/0", "bee/1"], ["ant/0", "cat/2"]], "'ant/0' is there twice"),
        (
            "ids",
            [["ant/0", "bee/1"], ["cat/2"]],
            "1 classes have samples in no session, .* number 3",
        ),
    ):
        file = order_file.read(put(tmp_path, {kind: parts}))
        with pytest.raises(InputError, match=words):
            file.positions(NAMES) if kind == "sessions" else file.arrivals(IDS, LABELS)


def test_files_of_another_form(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.json: missing or damaged"):
        order_file.read(tmp_path / "none.json")
    for name, content in (
        ("a.json", [1]),
        ("a.json", {"sessions": [[0], ["ant"]]}),
        ("a.json", {"sessions": [[0], []]}),
        ("a.json", {"sessions": [[True]]}),
        ("a.json", {"sessions": [[0]], "ids": [["a"]]}),
        ("a.json", "{"),
        ("a.csv", "id,part\na,1\n"),
        ("a.csv", "id,session\n"),
        ("a.csv", "id,session\na,first\n"),
        ("a.txt", "ant"),
    ):
        with pytest.raises(InputError, match=name):
            order_file.read(put(tmp_path, content, name))


def test_a_byte_order_mark_is_no_damage(tmp_path: Path) -> None:
    for name, text in (
        ("a.json", '{"sessions": [["ant"], ["bee"]]}'),
        ("a.csv", "id,session\na,1\n"),
    ):
        plain, marked = tmp_path / name, tmp_path / f"marked-{name}"
        plain.write_text(text, encoding="utf-8")
        marked.write_text(text, encoding="utf-8-sig")
        one, two = order_file.read(plain), order_file.read(marked)
        assert (one.classes, one.ids) == (two.classes, two.ids) != (None, None)


def test_an_edited_order_is_refused(tmp_path: Path) -> None:
    content = {"sessions": [[0, 1], [2, 3]], "sha256": stream.order_hash([[1, 0], [2, 3]])}
    with pytest.raises(InputError, match="not those of its sha256"):
        order_file.read(put(tmp_path, content))


@pytest.fixture
def splits() -> tuple[Split, Split]:
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((4, 6))
    return tuple(
        Split(centres[LABELS] + 0.3 * rng.standard_normal((40, 6)), LABELS) for _ in range(2)
    )


def test_a_stream_by_samples_that_states_the_classes_is_the_stream_by_classes(
    splits: tuple[Split, Split],
) -> None:
    sessions = [np.array([2, 0]), np.array([1, 3])]
    of_sample = np.where(np.isin(LABELS, [0, 2]), 0, 1).tolist()
    expected = experiment.run(*splits, sessions, "sparcl", {"ridge": 0.5, "tau": 0.5})
    found = experiment.run(
        *splits, sessions, "sparcl", {"ridge": 0.5, "tau": 0.5}, session_of_sample=of_sample
    )
    assert found == expected


def test_classes_that_come_back_add_up_to_joint_ridge(splits: tuple[Split, Split]) -> None:
    """Of class 0 half the samples come in the second session; acil ends at the ridge solution of all samples."""
    train, test = splits
    of_sample = np.where(np.isin(LABELS, [0, 2]), 0, 1)
    of_sample[np.flatnonzero(LABELS == 0)[5:]] = 1
    of_sample[np.flatnonzero(LABELS == 3)[7:]] = -1  # left out
    sessions = [np.array([0, 2]), np.array([1, 3])]
    record = experiment.run(
        train, test, sessions, "acil", {"ridge": 0.5}, session_of_sample=of_sample
    )
    used = of_sample >= 0
    R, C = naive.sums([(train.features[used], train.labels[used])], [0, 1, 2, 3])
    W = naive.joint_ridge(R, C, 0.5)
    hits = np.argmax(test.features @ W, axis=1) == test.labels
    order = record["classes"]
    assert record["correct"][-1] == [int(hits[test.labels == c].sum()) for c in order]
    first = experiment.arrivals(train, sessions, of_sample)[0]
    assert np.bincount(first.labels, minlength=4).tolist() == [5, 0, 10, 0]


def test_an_order_of_other_features_is_refused(splits: tuple[Split, Split]) -> None:
    with pytest.raises(InputError, match="39 training samples, and there are 40"):
        experiment.arrivals(splits[0], [np.array([0])], [0] * 39)


def test_given_sizes_cut_a_class_order() -> None:
    order = stream.class_order(1993, 20)
    parts = stream.split_sessions(order, [10, 5, 5])
    assert [len(part) for part in parts] == [10, 5, 5]
    np.testing.assert_array_equal(np.concatenate(parts), order)
    for sizes, base in (([10, 5], 0), ([20, 0], 0), ([10, 10], 10), ([], 0)):
        with pytest.raises(InputError, match="20 classes cannot fill sessions of"):
            stream.split_sessions(order, sizes, base)
