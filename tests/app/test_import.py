"""Import: every kind of file gives the same data set, and what does not fit is refused before anything is written."""

import csv
import io
import json
import math
import shutil
import struct
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from commands import Refused
from hypothesis import given
from hypothesis import strategies as st

from sparcl.app.cli import main
from sparcl.base.errors import InputError, listed
from sparcl.extraction.arrays import Absent, read, stream
from sparcl.features import store
from sparcl.features.layout import FeatureSet

ROOT = Path(__file__).resolve().parents[2]
OUT = "data/features/mine/my-net"
FILES = ["--features", "X.npy", "--labels", "y.npy", "--out", OUT]


def drawn(dtype: str = "float16") -> tuple[np.ndarray, np.ndarray]:
    """Forty rows of five numbers in four classes, which do not begin with 0."""
    features = np.random.default_rng(0).standard_normal((40, 5)).astype(dtype)
    return features, np.arange(40) % 4 + 3


@pytest.fixture
def arrays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[np.ndarray, np.ndarray]:
    """Save `drawn` as npy files in the folder that the test runs in."""
    monkeypatch.chdir(tmp_path)
    features, labels = drawn()
    np.save("X.npy", features)
    np.save("y.npy", labels)
    return features, labels


def imported(*arguments: str) -> tuple[FeatureSet, FeatureSet]:
    """Return what a command makes, and remove it."""
    assert main(["import", *arguments]) == 0
    train, test = (store.read(f"{OUT}/{split}.h5") for split in ("train", "test"))
    shutil.rmtree("data")
    return train, test


def test_rows_keep_their_bits_and_are_split_by_class(arrays: tuple[np.ndarray, ...]) -> None:
    features, labels = arrays
    train, test = imported(*FILES)
    assert train.class_names == test.class_names == ["3", "4", "5", "6"]
    assert np.array_equal(np.bincount(test.labels), [2, 2, 2, 2])
    rows = []
    for part in (train, test):
        found = [int(identifier.decode().split("/")[1]) for identifier in part.ids]
        assert np.array_equal(part.features, features[found]) and found == sorted(found)
        assert np.array_equal(part.labels + 3, labels[found])
        assert part.features.dtype == np.float16
        rows += found
    assert sorted(rows) == list(range(40))
    assert (train.meta["dataset"], train.meta["backbone"]) == ("mine", "my-net")


def test_ids_follow_from_the_file_and_the_row(arrays: tuple[np.ndarray, ...]) -> None:
    first = imported(*FILES)
    Path("X.npy").rename("Z.npy")
    again = imported("--features", "Z.npy", *FILES[2:])
    for one, other in zip(first, again, strict=True):
        assert np.array_equal(one.ids, other.ids) and np.array_equal(one.features, other.features)
    assert len({identifier.split(b"/")[0] for identifier in first[0].ids}) == 1
    np.save("Z.npy", arrays[0] + 1)
    assert not np.isin(imported("--features", "Z.npy", *FILES[2:])[0].ids, first[0].ids).any()


def test_every_kind_of_file_gives_the_same_rows(arrays: tuple[np.ndarray, ...]) -> None:
    torch, library = pytest.importorskip("torch"), pytest.importorskip("safetensors.numpy")
    pytest.importorskip("pyarrow")
    features, labels = arrays
    both = {"features": features, "labels": labels}
    np.savez("all.npz", **both)
    np.save("fortran.npy", np.asfortranarray(features))
    np.save("swapped.npy", features.astype(">f2"))
    library.save_file(both, "all.safetensors")
    torch.save({"features": torch.tensor(features), "other": torch.zeros(1)}, "X.pt")
    torch.save(torch.tensor(labels), "y.pt")
    frame = pd.DataFrame(features.astype("f4"), columns=list("abcde"))
    frame.to_csv("X.csv", index=False)
    frame.to_parquet("X.parquet")
    pd.DataFrame({"labels": labels, "other": 0}).to_csv("y.csv", index=False)
    pd.DataFrame({"labels": labels}).to_parquet("y.parquet")
    for one, other in (
        *(("all.npz", "all.npz"), ("fortran.npy", "y.npy"), ("swapped.npy", "y.npy")),
        *(("all.safetensors", "all.safetensors"), ("X.pt", "y.pt"), ("X.csv", "y.csv")),
        ("X.parquet", "y.parquet"),
    ):
        parts = imported("--features", one, "--labels", other, "--float32", "--out", OUT)
        for part in parts:
            rows = [int(identifier.decode().split("/")[1]) for identifier in part.ids]
            assert np.array_equal(part.features, features[rows]), one
            assert np.array_equal(part.labels + 3, labels[rows]), one
        assert sum(len(part.labels) for part in parts) == 40


def test_text_names_classes_and_samples(arrays: tuple[np.ndarray, ...]) -> None:
    names = np.array(["NA", "bee", "null", "äsche"])[arrays[1] - 3]
    pd.DataFrame({"class": names}).to_csv("y.csv", index=False)
    pd.DataFrame({"file": [f"{i:03d}" for i in range(40)]}).to_csv("ids.csv", index=False)
    chosen = ["--labels", "y.csv", "--ids", "ids.csv", "--out", OUT]
    train, _ = imported("--features", "X.npy", *chosen)
    assert train.class_names == ["NA", "bee", "null", "äsche"]
    for identifier, label in zip(train.ids, train.labels, strict=True):
        assert len(identifier) == 3 and train.class_names[label] == names[int(identifier)]


def test_test_samples_of_their_own_and_blocks_of_a_few_rows(
    arrays: tuple[np.ndarray, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sparcl.extraction.arrays.BLOCK", 70)  # bytes: seven rows
    np.save("Xt.npy", arrays[0][:9] + 1)
    np.save("yt.npy", arrays[1][:9])
    tests = ["--test-features", "Xt.npy", "--test-labels", "yt.npy"]
    train, test = imported(*FILES, *tests)
    assert np.array_equal(train.features, arrays[0]) and np.array_equal(train.labels + 3, arrays[1])
    assert np.array_equal(test.features, arrays[0][:9] + 1)
    assert np.array_equal(test.labels + 3, arrays[1][:9])


def test_float64_becomes_float32_when_asked(arrays: tuple[np.ndarray, ...]) -> None:
    np.save("X.npy", drawn("float64")[0])
    assert main(["import", *FILES]) == 2
    train, _ = imported(*FILES, "--float32")
    assert train.features.dtype == np.float32


X, Y = drawn()
TESTS = ["--test-features", "Xt.npy", "--test-labels", "yt.npy"]


def replaced(array: np.ndarray, row: int, value: object, dtype: str) -> np.ndarray:
    array = array.astype(dtype)
    array[row] = value
    return array


def apart(features: np.ndarray, labels: np.ndarray) -> dict[str, np.ndarray]:
    return {"Xt.npy": features, "yt.npy": labels}


def put(name: str, content: Any) -> None:
    """Write an array, an archive of several, text, bytes, or a folder; one number of a tensor stands for many."""
    path = Path(name)
    if content is None:
        path.mkdir(parents=True)
    elif path.suffix == ".pt":
        torch = pytest.importorskip("torch")
        torch.save(torch.zeros(1).expand(content), name)
    elif isinstance(content, tuple):
        write_claim(path, *content)
    elif isinstance(content, str | bytes):
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    elif isinstance(content, dict):
        np.savez(name, **content)
    else:
        np.save(name, content, allow_pickle=True)


OBJECTS = np.array([{}, 1], dtype=object)
NO_LETTER = np.full(40, 2**31, dtype=np.uint32).view("U1")
NOT_UTF8 = np.array([b"\xff%d" % i for i in range(40)])
GAP = "labels,other\na,1\n,2\n"
NO_TEXT = "y.npy: labels are no UTF-8 text"
# Files that are written anew, further arguments, and what is said.
REFUSED: tuple[tuple[Any, ...], ...] = (
    ({"y.npy": Y[:-1]}, [], "y.npy: 39 labels", "X.npy has 40 rows"),
    ({}, ["--labels", "y.mat"], "y.mat", "'.mat' are unknown", ".npy, .npz"),
    ({}, ["--labels", "no.npy"], "no.npy: no such file of labels"),
    ({"X.npy": OBJECTS}, [], "X.npy: cannot be read as npy", "without pickle"),
    ({"y.npy": Y.astype(object)}, [], "y.npy: cannot be read as npy", "without pickle"),
    ({"X.npy": b"\x93NUMPY damaged"}, [], "X.npy: cannot be read as npy"),
    ({"X.npz": {"a": X, "b": X}}, ["--features", "X.npz"], "X.npz: it holds a, b", "'features'"),
    ({"X.npy": replaced(X, 7, np.nan, "f2")}, [], "X.npy: features of row 7", "NaN"),
    ({"X.npy": X.astype(float)}, [], "X.npy: features are float64", "--float32"),
    ({"X.npy": replaced(X, 7, 1e300, "f8")}, ["--float32"], "row 7", "too large for float32"),
    ({"X.npy": X[0]}, [], "X.npy: features have shape (5,)", "(n, d)"),
    ({"y.npy": np.eye(4)[Y - 3]}, [], "y.npy: labels have shape (40, 4)"),
    ({"X.npy": X[:0]}, [], "X.npy: features have shape (0, 5), and so no numbers"),
    ({"y.npy": Y + 0.5}, [], "y.npy: labels are float64", "whole numbers"),
    ({"y.npy": replaced(Y, 0, 9, "i8")}, [], "y.npy: 1 classes have one sample", "9"),
    ({"i.npy": np.arange(40) % 39}, ["--ids", "i.npy"], "i.npy: id '0' occurs 2 times"),
    ({"y.npy": np.array([b"\xff", b"a"] * 20)}, [], NO_TEXT),
    ({"y.npy": np.array(["\udcff", "a"] * 20)}, [], NO_TEXT),
    ({"y.npy": np.array(["a\0b", "a"] * 20)}, [], f"{NO_TEXT} (a zero byte)"),
    ({"y.npy": NO_LETTER}, [], "y.npy: cannot be read as npy", "no letter"),
    ({"i.npy": NOT_UTF8}, ["--ids", "i.npy"], "i.npy: ids are no UTF-8 text"),
    ({"X.npz": ([10**9, 3], 480)}, ["--features", "X.npz"], "claims another number of bytes than"),
    ({"X.pt": (40, 10**9)}, ["--features", "X.pt"], "it claims 40000000000 numbers"),
    ({"i.npy": np.arange(9)}, ["--ids", "i.npy"], "i.npy: 9 ids, but X.npy has 40 rows"),
    (apart(X, Y), TESTS, "X.npy, Xt.npy: id", "/0' occurs 2 times", "no test sample is a training"),
    (apart(X[:, :3], Y), TESTS, "Xt.npy has rows of 3 float16, X.npy rows of 5 float16"),
    (apart(X + 1, Y + 1), TESTS, "yt.npy: 1 classes", "7", "X.npy"),
    (apart(X + 1, Y.astype(str)), TESTS, "yt.npy has labels of text, y.npy labels of numbers"),
    ({}, TESTS[:2], "--test-features", "--test-labels"),
    (apart(X + 1, Y), [*TESTS, "--test-share", "0.5"], "Leave out one"),
    ({"X.csv": "1,2\n3,4\n"}, ["--features", "X.csv"], "X.csv: the first line holds numbers"),
    ({"y.csv": "class,other\na,1\n"}, ["--labels", "y.csv"], "y.csv: it holds class, other"),
    ({"y.csv": GAP}, ["--labels", "y.csv"], "y.csv: row 1 (the first is 0) has a gap in 'labels'"),
    ({}, ["--out", "data/My Set/net"], "'My Set' is no name of a data set"),
    ({OUT: None}, [], f"--out {OUT} exists", "name another"),
    ({"data": ""}, [], f"--out {OUT}: cannot be written", "rename it"),
)


def test_what_does_not_fit_is_refused_before_anything_is_written(
    arrays: tuple[np.ndarray, ...], refused: Refused
) -> None:
    for files, arguments, *words in REFUSED:
        for name, content in ({"X.npy": X, "y.npy": Y} | files).items():
            put(name, content)
        said = refused("import", *FILES, *arguments)
        assert all(word in said for word in words), said
        for path in Path().iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def test_no_pickle_is_executed(arrays: tuple[np.ndarray, ...], refused: Refused) -> None:
    torch = pytest.importorskip("torch")

    class Trap:
        def __reduce__(self) -> tuple[object, ...]:
            return Path.touch, (Path("sprung"),)

    torch.save({"features": Trap()}, "X.pt")
    np.savez("X.npz", features=np.array([Trap()], dtype=object))
    for file in ("X.pt", "X.npz"):
        assert f"{file}: cannot be read" in refused("import", *FILES, "--features", file)
    assert not Path("sprung").exists()


def sorted_rows(*parts: FeatureSet) -> np.ndarray:
    """Return features in the order of the rows of their file."""
    rows = [int(identifier.split(b"/")[-1]) for part in parts for identifier in part.ids]
    return np.concatenate([part.features for part in parts])[np.argsort(rows)]


def test_columns_with_another_use_are_never_features(arrays: tuple[np.ndarray, ...]) -> None:
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame(arrays[0].astype("f4"))
    frame.columns = frame.columns.astype(str)  # 0 ... 4, as of a plain data frame
    for number, name in enumerate(("labels", "label", "kind")):
        path = f"t{number}.parquet"
        frame.assign(**{name: arrays[1], "ids": np.arange(40) + 100}).to_parquet(path)
        own = ["--label-column", "kind"] if name == "kind" else []
        files = ["--features", path, "--labels", path, *own, "--float32", "--out", OUT]
        parts = imported(*files)
        assert parts[0].class_names == ["3", "4", "5", "6"]
        assert np.array_equal(sorted_rows(*parts), arrays[0].astype("f4"))
    frame.assign(label=0, labels=1).to_csv("both.csv", index=False)
    with pytest.raises(Absent, match=r"both\.csv: it holds .* Name one of them 'labels'"):
        read(Path("both.csv"), "labels")


TEXT = st.one_of(
    st.sampled_from(["007", "7", "-1", "10", "+1", " 1", "1.0", f"{2**63}", "NA", "null", "True"]),
    st.text('01+-. ea,"é\n', min_size=1, max_size=4).filter(lambda text: text.strip("\n")),
)


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[list[str]], np.ndarray, list[str], str, bool]:
    """Draw the lines of a table, its features and labels, the name of these, and whether a row is shifted."""
    n, d = draw(st.integers(2, 5)), draw(st.integers(1, 4))
    features = np.random.default_rng(n + 10 * d).integers(-8, 8, (n, d)) / 4
    texts = draw(st.sampled_from([TEXT, TEXT, st.integers(-20, 20).map(str)]))
    labels = draw(st.lists(texts, min_size=n, max_size=n))
    named = draw(st.sampled_from(["labels", "Label", "kind"]))
    own = draw(st.sampled_from([list("abcd"), list("0123")]))  # the last: a plain data frame
    columns = {name: [str(value) for value in features[:, i]] for i, name in enumerate(own[:d])}
    others = draw(st.sets(st.sampled_from(["ids", "ID", "split", " SPLIT"])))
    for name in [named, *sorted(others)]:
        items = [*columns.items()]
        place = draw(st.integers(0, len(items)))
        items.insert(place, (name, labels if name == named else [str(i) for i in range(n)]))
        columns = dict(items)
    if draw(st.booleans()):
        index = draw(st.sampled_from(["", "Unnamed: 0"]))  # of to_csv, once or twice
        columns = {index: [str(i) for i in range(n)]} | columns
    rows = [list(columns), *map(list, zip(*columns.values(), strict=True))]
    if draw(st.booleans()):
        rows = [row + [""] * (i > 0 or draw(st.booleans())) for i, row in enumerate(rows)]
    shifted = draw(st.sampled_from(["", "", "one more", "one less", "all more"]))
    for row in (
        rows[1:] if shifted == "all more" else [rows[draw(st.integers(1, n))]] * bool(shifted)
    ):
        row[:] = row[:-1] if shifted == "one less" else [*row, "1"]
    return rows, features, labels, named, bool(shifted)


@given(tables(), st.sampled_from(["utf-8", "utf-8-sig"]))
def test_a_table_is_read_as_it_was_written_or_refused(
    tmp_path: Path, table: tuple[list[list[str]], np.ndarray, list[str], str, bool], encoding: str
) -> None:
    """Features are what has no other use, labels keep their text, and no row is read under other names."""
    rows, features, labels, named, shifted = table
    path, columns = tmp_path / "t.csv", {"labels": "kind"} if named == "kind" else {}
    with path.open("w", encoding=encoding, newline="") as file:
        csv.writer(file).writerows(rows)
    if shifted:
        for role in ("features", "labels"):
            with pytest.raises(
                InputError, match=r"t\.csv, line \d+: \d+ fields, and the first line"
            ):
                read(path, role, columns)
        return
    assert np.array_equal(read(path, "features", columns), features)
    found = read(path, "labels", columns)
    assert found.astype(str).tolist() == labels
    numbers = [text for text in labels if text.removeprefix("-").isdecimal()]
    assert (found.dtype.kind == "i") == (
        [str(np.int64(text)) for text in numbers if int(text) < 2**63] == labels
    ), "numbers, and so in their order, unless a text would be lost"


def test_a_table_without_columns_or_numbers_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    for name, text, word in (
        ("labels", "labels;fold\ncat;0\ndog;1\n", "names no columns.*not by ';'"),
        ("features", "f0;f1\n1,5;2,5\n3,5;4,5\n", "names no columns.*decimals with a point"),
        ("features", ",a,b\n7,1,2\n3,4,5\n", "line 2: column 1 has no name"),
        ("features", "a,,b\n7,1,2\n3,4,5\n", "names no columns"),
        (
            "features",
            "a,b\n1,2\n3,x\n",
            "line 3: could not convert string to float: 'x'.*Leave columns of text out",
        ),
        ("features", "0,1,3\n1,2,3\n3,4,5\n", "the first line holds numbers"),
        ("features", "ids,labels\n1,2\n3,4\n", "holds ids, labels, and no features"),
        ("labels", 'labels\n"a"b\n', "cannot be read as csv"),
        ("features", "", "names no columns"),
    ):
        path.write_text(text)
        with pytest.raises(InputError, match=word):
            read(path, name)


def test_labels_are_joined_exactly_or_refused(
    arrays: tuple[np.ndarray, ...], caplog: pytest.LogCaptureFixture, refused: Refused
) -> None:
    """2^63 + 1 and its neighbour are one float; so are 2^53 and its neighbour."""
    features, _ = arrays
    np.save("Xt.npy", features[:2] + 1)
    np.save("y.npy", np.array([2**63 + 1, 2**63, 2**53, 2**53 + 1], dtype=np.uint64)[Y - 3])
    np.save("yt.npy", np.array([2**53 + 1, 2**53]))
    train, test = imported(*FILES, *TESTS)
    names = [f"{2**53}", f"{2**53 + 1}", f"{2**63}", f"{2**63 + 1}"]
    assert train.class_names == test.class_names == names
    assert test.labels.tolist() == [1, 0] and train.labels.tolist() == [3, 2, 0, 1] * 10
    assert f"yt.npy: no test sample of these classes: {2**63}, {2**63 + 1}." in caplog.text
    np.save("y.npy", Y - 4)
    imported(*FILES)
    assert "y.npy: -1 is a class" in caplog.text
    for pair in (("cat", "cat "), ("\u00e9", "e\u0301")):
        np.save("y.npy", np.array(pair)[Y % 2])
        assert "differ by spaces at their ends" in refused("import", *FILES)


def test_small_classes_are_told_by_name(
    arrays: tuple[np.ndarray, ...], caplog: pytest.LogCaptureFixture
) -> None:
    features, labels = arrays
    names = np.array(["ant", "bird, small", "cat", "dog"])[labels - 3]
    names[0] = "eel"
    np.save("y.npy", names)
    np.save("Xt.npy", features[1:3] + 1)
    np.save("yt.npy", names[1:3])
    train, _ = imported(*FILES, *TESTS)
    one, none = (record.getMessage() for record in caplog.records)
    assert one.startswith("y.npy: one training sample in each of these classes: eel. ")
    assert none == "yt.npy: no test sample of these classes: ant, dog, eel."
    assert listed(train.class_names) == "ant, 'bird, small', cat, dog, eel"


def test_a_column_states_the_split(arrays: tuple[np.ndarray, ...], refused: Refused) -> None:
    features, labels = arrays
    place = np.where(np.arange(40) < 30, "train", "Test ")
    pd.DataFrame({"label": labels, "split": place}).to_csv("y.csv", index=False)
    files = ["--features", "X.npy", "--labels", "y.csv", "--out", OUT]
    train, test = imported(*files)
    assert np.array_equal(train.features, features[:30])
    assert np.array_equal(test.features, features[30:])
    train, _ = imported(*files, "--test-share", "0.5")
    assert len(train.labels) == 20, "what is stated on the command line comes first"
    pd.DataFrame({"label": labels, "fold": place, "split": "?"}).to_csv("y.csv", index=False)
    assert "y.csv: the split is ?. It must be train or test" in refused("import", *files)
    assert "X.npy: it holds one array without a name, and no 'part'" in refused(
        "import", *files, "--split-column", "part"
    )
    assert len(imported(*files, "--split-column", "fold")[1].labels) == 10


def test_parts_are_one_array_in_their_order(
    arrays: tuple[np.ndarray, ...], refused: Refused
) -> None:
    features, labels = arrays
    for part, rows in (("a", slice(0, 25)), ("b", slice(25, 40))):
        np.save(f"{part}.npy", features[rows])
        Path(f"{part}.npy").rename(f"{part}.NPY")
        np.save(f"y{part}.npy", labels[rows].astype("u2" if part == "a" else "i8"))
    np.save("ids.npy", np.arange(40))
    files = ["--features", "a.NPY", "b.NPY", "--labels", "ya.npy", "yb.npy", "--out", OUT]
    parts = imported(*files, "--ids", "ids.npy")
    assert np.array_equal(sorted_rows(*parts), features)
    found = np.concatenate([part.labels + 3 for part in parts])
    assert np.array_equal(
        found[np.argsort(np.concatenate([p.ids for p in parts]).astype(int))], labels
    )
    assert parts[0].meta["extraction"]["imported"]["features"] == ["a.NPY", "b.NPY"]
    starts = {identifier.split(b"/")[0] for part in imported(*files) for identifier in part.ids}
    assert len(starts) == 2, "an id has the hash of its part"
    np.save("c.npy", features[25:, :4])
    for other, said in (
        ("a.NPY", "40 labels, but a.NPY, a.NPY has 50 rows"),
        ("c.npy", "c.npy has rows of 4 float16, a.NPY rows of 5"),
    ):
        assert said in refused("import", *files, "--features", "a.NPY", other)


def test_a_parquet_column_of_lists_holds_the_features(
    arrays: tuple[np.ndarray, ...], caplog: pytest.LogCaptureFixture
) -> None:
    """As Hugging Face writes embeddings."""
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    features = arrays[0].astype("f4")
    columns = {"text": ["x"] * 40, "label": arrays[1], "embedding": features.tolist()}
    for kind in (arrow.list_(arrow.float32()), arrow.list_(arrow.float32(), 5)):
        table = arrow.table(columns | {"embedding": arrow.array(features.tolist(), kind)})
        parquet.write_table(table, "t.parquet")
        parts = imported("--features", "t.parquet", "--labels", "t.parquet", "--out", OUT)
        assert np.array_equal(sorted_rows(*parts), features)
        assert "t.parquet: 1 columns of features; left out: text, label" in caplog.text
    parquet.write_table(arrow.table({"a": [[1.0], [1.0, 2.0]], "label": [0, 1]}), "t.parquet")
    with pytest.raises(InputError, match=r"t\.parquet: cannot be read as parquet"):
        read(Path("t.parquet"), "features")
    columns = {"a": ["x", "y"], "b": [1.0, 2.0], "label": ["one", None]}
    parquet.write_table(arrow.table(columns), "t.parquet")
    for name, said in (("features", "column 'a' holds no numbers"), ("labels", "row 1 .* a gap")):
        with pytest.raises(InputError, match=rf"t\.parquet: {said}"):
            read(Path("t.parquet"), name)


def test_numbers_that_numpy_lacks(tmp_path: Path) -> None:
    """Those of bfloat16 are float32 with sixteen bits less; those of eight bits are refused."""
    pytest.importorskip("safetensors")
    values = np.array([[1.0, -2.5, 3e38], [1e-38, 0.0, 0.15625]], dtype=np.float32)
    halves = (values.view(np.uint32) >> 16).astype("<u2")
    path = tmp_path / "X.safetensors"
    write_safetensors(path, "BF16", [2, 3], halves.tobytes())
    expected = (halves.astype(np.uint32) << 16).view(np.float32)
    assert np.array_equal(read(path, "features"), expected)
    assert expected[0, 1] == -2.5 and abs(expected[0, 2] / 3e38 - 1) < 0.01
    write_safetensors(path, "F8_E4M3", [2, 3], bytes(6))
    with pytest.raises(InputError, match=r"X\.safetensors: cannot.*F8_E4M3"):
        read(path, "features")


def test_bfloat16_of_torch_and_a_damaged_file(tmp_path: Path) -> None:
    """One bit of the first byte: torch takes the file for another format, whose reader ends in an IndexError."""
    torch = pytest.importorskip("torch")
    path = tmp_path / "X.pth"
    torch.save(torch.tensor([[1.0, -2.5]], dtype=torch.bfloat16), path)
    found = read(path, "features")
    assert found.dtype == np.float32 and found.tolist() == [[1.0, -2.5]]
    content = bytearray(path.read_bytes())
    content[0] ^= 1
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"X\.pth: cannot be read as pth"):
        read(path, "features")


LENGTHS = [*range(1, 7), 0, -1, -2, 2**31, 2**62, 2**63, 2**64, 10**400]


def write_safetensors(path: Path, dtype: str, shape: list[int], content: bytes) -> None:
    about = {"dtype": dtype, "shape": shape, "data_offsets": [0, len(content)]}
    header = json.dumps({"features": about}).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header + content)


def write_claim(path: Path, shape: list[int], size: int) -> None:
    """Write so many bytes of zeros under a header that claims a shape of float32."""
    if path.suffix == ".safetensors":
        write_safetensors(path, "F32", shape, bytes(size))
        return
    header = io.BytesIO()
    about = {"descr": "<f4", "fortran_order": False, "shape": tuple(shape)}
    np.lib.format.write_array_header_1_0(header, about)
    content = header.getvalue() + bytes(size)
    if path.suffix == ".npy":
        path.write_bytes(content)
        return
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("features.npy", content)


@given(
    st.sampled_from([".npy", ".npz", ".safetensors"]),
    st.lists(st.sampled_from(LENGTHS), min_size=1, max_size=3),
    st.sampled_from([24, 24, 20]),
)
def test_a_header_that_claims_another_shape_than_the_file_has(
    tmp_path: Path, suffix: str, shape: list[int], size: int
) -> None:
    path = tmp_path / f"X{suffix}"
    write_claim(path, shape, size)
    with np.errstate(all="raise"):
        if math.prod(shape) == size / 4 and min(shape) > 0 and len(shape) == 2:
            assert read(path, "features").shape == tuple(shape)
            return
        with pytest.raises(InputError, match=rf"X\{suffix}: (cannot be read|features have shape)"):
            read(path, "features")


def test_what_float32_would_keep_as_zeros_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "X.npy"
    for where, place in ((np.s_[:, 1], "column 1"), (np.s_[2], "row 2")):
        features = np.random.default_rng(0).uniform(1, 2, (9, 4))
        features[where] *= 1e-60
        np.save(path, features)
        with pytest.raises(InputError, match=f"features of {place} .*e-60, too small for float32"):
            stream(path, float32=True)
    features = np.random.default_rng(0).uniform(1, 2, (9, 4))
    features[:, 1], features[3, 2] = (
        0,
        1e-60,
    )  # a column of zeros, and a number beside which others are large
    np.save(path, features)
    (block,) = stream(path, float32=True).blocks()
    assert np.array_equal(block, features.astype(np.float32))


def test_a_missing_library_is_named(
    arrays: tuple[np.ndarray, ...], monkeypatch: pytest.MonkeyPatch, refused: Refused
) -> None:
    for package, file in (("pyarrow", "X.parquet"), ("torch", "X.pt")):
        monkeypatch.setitem(sys.modules, package, None)
        Path(file).touch()
        assert f"pip install {package}" in refused("import", *FILES, "--features", file)


MEASURED = """
import re, sys
from pathlib import Path
from sparcl.app.cli import main
code = main(sys.argv[1:])
loaded = {"torch", "pandas", "safetensors", "PIL"} & set(sys.modules)
print(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
sys.exit(code or bool(loaded))
"""


def peak_of_import(folder: Path, name: str, shape: tuple[int, int], labels: np.ndarray) -> int:
    """Import float16 features of a shape, in a process of its own; return its peak of memory in bytes."""
    features = np.lib.format.open_memmap(folder / f"{name}.npy", "w+", np.float16, shape)
    features[:: max(1, shape[0] // 100)] = np.arange(shape[1])  # the rest is zero, and a hole
    features.flush()
    del features
    np.save(folder / f"{name}-labels.npy", labels)
    files = ["--features", f"{name}.npy", "--labels", f"{name}-labels.npy", "--out", f"set/{name}"]
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, "import", *files],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return 1024 * int(done.stdout.split()[-1])


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
def test_memory_does_not_grow_with_the_rows(tmp_path: Path) -> None:
    """The features of the second import are 154 MB, those of the first a fifth."""
    peaks = [
        peak_of_import(tmp_path, f"n-{n}", (n, 768), np.arange(n) % 100) for n in (20_000, 100_000)
    ]
    assert peaks[1] - peaks[0] < 60e6 and peaks[1] < 200e6, peaks


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
def test_a_million_rows_within_500_megabytes(tmp_path: Path) -> None:
    """1.5 GB of features, and labels that are names."""
    names = np.array([f"n{number:08d}" for number in range(1000)])
    peak = peak_of_import(tmp_path, "million", (1_000_000, 768), names[np.arange(1_000_000) % 1000])
    assert peak < 500e6, peak
