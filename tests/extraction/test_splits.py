"""Splits drawn by largest remainder, and their lists."""

import hashlib
import itertools
import os
from fractions import Fraction

import pytest
from copies import tree
from faults import each, failing
from hypothesis import given
from hypothesis import strategies as st

from sparcl.base.errors import DatasetError, OutputError
from sparcl.extraction import splits
from study.images import split_lists


def by_hand(sizes, total):
    """Largest remainder as in a textbook: floors of the quotas, then the largest fractions."""
    quotas = [Fraction(size * total, sum(sizes)) for size in sizes]
    test = [int(quota) for quota in quotas]
    order = sorted(range(len(sizes)), key=lambda c: (test[c] - quotas[c], c))
    for c in order[: total - sum(test)]:
        test[c] += 1
    return test


def test_small_classes():
    for sizes, total, expected in (
        ([1], 0, [0]),
        ([2], 1, [1]),
        ([3], 1, [1]),
        ([1, 2, 3], 2, [0, 1, 1]),
        ([1, 2, 3], 3, [0, 1, 2]),
        ([1, 1, 10], 2, [0, 0, 2]),
        ([2, 2, 100], 21, [1, 1, 19]),  # the quotas of the small ones are 0.4
        ([10, 10, 10], 7, [3, 2, 2]),  # a tie goes to the first
        ([5, 5], 8, [4, 4]),
    ):
        assert splits.allocate(sizes, total) == expected
    for sizes, total, possible in (
        ([1, 1], 1, "0 to 0"),
        ([2, 3], 1, "2 to 3"),
        ([2, 3], 4, "2 to 3"),
    ):
        with pytest.raises(DatasetError, match=f"{possible} are possible"):
            splits.allocate(sizes, total)


@given(st.lists(st.integers(1, 60), min_size=1, max_size=40), st.data())
def test_any_class_counts(sizes, data):
    most = sum(size - 1 for size in sizes)
    least = sum(size > 1 for size in sizes)
    total = data.draw(st.integers(least, most))
    test = splits.allocate(sizes, total)
    assert sum(test) == total
    for size, number in zip(sizes, test, strict=True):
        assert (number == 0) if size == 1 else (1 <= number <= size - 1)


@given(st.lists(st.integers(20, 90), min_size=2, max_size=30))
def test_largest_remainder_where_no_class_is_small(sizes):
    total = round(0.2 * sum(sizes))
    assert splits.allocate(sizes, total) == by_hand(sizes, total)


def test_a_draw_hangs_on_names_alone():
    classes = [[f"ant/{i:03d}.png" for i in range(20)], ["bee/ä.png"], ["cat/a.png", "cat/b.png"]]
    split = splits.draw(classes, 5)
    again = splits.draw([ids[::-1] for ids in classes], 5)
    assert split == again and sorted(split) == sorted(itertools.chain(*classes))
    ordered = sorted(classes[0], key=lambda i: hashlib.sha256(i.encode()).hexdigest())
    assert {i for i in classes[0] if split[i] == "test"} == set(ordered[:4])
    assert split["bee/ä.png"] == "train"
    assert sorted(split[i] for i in classes[2]) == ["test", "train"]
    # Names are often sorted by style: the test images must not be all of one end.
    assert 0 < sum(split[i] == "test" for i in classes[0][:10]) < 4


def test_a_list_goes_to_a_file_and_back(tmp_path):
    split = {"b/2 with space.png": "test", "a/ü.png": "train", "a/1.png": "train"}
    path = tmp_path / "list.txt"
    split_lists.write(path, split)
    assert path.read_text("utf-8") == "train a/1.png\ntrain a/ü.png\ntest b/2 with space.png\n"
    assert split_lists.read(path) == split
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert split_lists.sha256(split) == digest
    path.with_name("notepad.txt").write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert split_lists.read(path.with_name("notepad.txt")) == split
    assert (tmp_path / "list.txt.sha256").read_text() == f"{digest}  list.txt\n"


def test_every_write_of_a_list_may_fail(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    folder, split = tmp_path / "splits", {"b": "test", "a": "train"}
    split_lists.write(folder / "list.txt", split)
    expected = tree(folder)
    with failing(folder, None) as disk:
        split_lists.write(folder / "list.txt", split)
    assert disk.steps >= 4 * len(expected) == 8  # opened, confirmed, renamed, confirmed
    for fault in each(folder, disk.steps, map(len, expected.values())):
        for name in expected:
            (tmp_path / name).write_text("old")
        with fault, pytest.raises(OutputError, match=r"list\.txt"):
            split_lists.write(folder / "list.txt", split)
        left = tree(folder)
        assert left.keys() == expected.keys()
        assert all(left[name] in (content, b"old") for name, content in expected.items())
        split_lists.write(folder / "list.txt", split)
        assert tree(folder) == expected


def test_damaged_lists(tmp_path):
    path = tmp_path / "list.txt"
    with pytest.raises(DatasetError, match=r"cannot read the split list.*Correct `split`"):
        split_lists.read(path)
    for content, message in (
        (b"train a\nval b\n", "line 2: 'val b'"),
        (b"train a\n\ntest b\n", "line 2: ''"),
        (b"train \n", "names no split, no image"),
        (b"train a\ntest a\n", "line 2.*an image named before"),
        (b"train \xff\n", "cannot read the split list"),
    ):
        path.write_bytes(content)
        with pytest.raises(DatasetError, match=message):
            split_lists.read(path)
