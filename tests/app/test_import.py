"""Import: every kind of file gives the same data set, and what does not fit is refused before anything is written."""

import io
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sparcl.app.cli import main
from sparcl.base.errors import InputError
from sparcl.extraction.arrays import read
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
    assert main(["import", *arguments]) == 0
    return store.read(f"{OUT}/train.h5"), store.read(f"{OUT}/test.h5")


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
    Path("data").rename("before")
    Path("X.npy").rename("Z.npy")
    again = imported("--features", "Z.npy", *FILES[2:])
    for one, other in zip(first, again, strict=True):
        assert np.array_equal(one.ids, other.ids) and np.array_equal(one.features, other.features)
    assert len({identifier.split(b"/")[0] for identifier in first[0].ids}) == 1
    Path("data").rename("again")
    np.save("Z.npy", arrays[0] + 1)
    assert not np.isin(imported("--features", "Z.npy", *FILES[2:])[0].ids, first[0].ids).any()


def save_npz(features: np.ndarray, labels: np.ndarray) -> list[str]:
    np.savez("all.npz", features=features, labels=labels)
    return ["--features", "all.npz", "--labels", "all.npz"]


def save_fortran(features: np.ndarray, labels: np.ndarray) -> list[str]:
    np.save("X.npy", np.asfortranarray(features))
    return ["--features", "X.npy", "--labels", "y.npy"]


def save_swapped(features: np.ndarray, labels: np.ndarray) -> list[str]:
    np.save("X.npy", features.astype(">f2"))
    return ["--features", "X.npy", "--labels", "y.npy"]


def save_safetensors(features: np.ndarray, labels: np.ndarray) -> list[str]:
    library = pytest.importorskip("safetensors.numpy")
    library.save_file({"features": features, "labels": labels}, "all.safetensors")
    return ["--features", "all.safetensors", "--labels", "all.safetensors"]


def save_pt(features: np.ndarray, labels: np.ndarray) -> list[str]:
    torch = pytest.importorskip("torch")
    torch.save({"features": torch.tensor(features), "other": torch.zeros(1)}, "X.pt")
    torch.save(torch.tensor(labels), "y.pt")
    return ["--features", "X.pt", "--labels", "y.pt"]


def save_csv(features: np.ndarray, labels: np.ndarray) -> list[str]:
    pd.DataFrame(features.astype("f4"), columns=list("abcde")).to_csv("X.csv", index=False)
    pd.DataFrame({"labels": labels, "other": 0}).to_csv("y.csv", index=False)
    return ["--features", "X.csv", "--labels", "y.csv", "--float32"]


def save_parquet(features: np.ndarray, labels: np.ndarray) -> list[str]:
    pytest.importorskip("pyarrow")
    pd.DataFrame(features.astype("f4"), columns=list("abcde")).to_parquet("X.parquet")
    pd.DataFrame({"labels": labels}).to_parquet("y.parquet")
    return ["--features", "X.parquet", "--labels", "y.parquet"]


@pytest.mark.parametrize(
    "save",
    [save_npz, save_fortran, save_swapped, save_safetensors, save_pt, save_csv, save_parquet],
)
def test_every_kind_of_file_gives_the_same_rows(
    arrays: tuple[np.ndarray, ...], save: Callable[..., list[str]]
) -> None:
    parts = imported(*save(*arrays), "--out", OUT)
    for part in parts:
        rows = [int(identifier.decode().split("/")[1]) for identifier in part.ids]
        assert np.array_equal(part.features, arrays[0][rows])
        assert np.array_equal(part.labels + 3, arrays[1][rows])
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


def change(name: str, where: int, value: object, dtype: str = "float16") -> Callable[[], None]:
    def make() -> None:
        array = np.load(name).astype(dtype)
        array[where] = value
        np.save(name, array)

    return make


def save(name: str, array: object) -> Callable[[], None]:
    return lambda: np.save(name, np.asarray(array))


TESTS = ["--test-features", "Xt.npy", "--test-labels", "yt.npy"]


def save_tests(features: np.ndarray, labels: np.ndarray) -> Callable[[], None]:
    def make() -> None:
        np.save("Xt.npy", features)
        np.save("yt.npy", labels)

    return make


def headless() -> None:
    pd.DataFrame(drawn()[0]).to_csv("X.csv", index=False, header=False)


X, Y = drawn()


def claim() -> None:
    header = io.BytesIO()
    shape = {"descr": "<f4", "fortran_order": False, "shape": (10**9, 3)}
    np.lib.format.write_array_header_1_0(header, shape)
    with zipfile.ZipFile("X.npz", "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("features.npy", header.getvalue() + bytes(480))


def one_for_many() -> None:
    torch = pytest.importorskip("torch")
    torch.save(torch.zeros(1).expand(40, 10**9), "X.pt")


REFUSED: dict[str, tuple[Callable[[], object], list[str], list[str]]] = {
    "lengths": (save("y.npy", Y[:-1]), [], ["y.npy: 39 labels", "X.npy has 40 rows"]),
    "suffix": (lambda: None, ["--labels", "y.mat"], ["y.mat", "'.mat' are unknown", ".npy, .npz"]),
    "missing": (lambda: None, ["--labels", "no.npy"], ["no.npy: no such file of labels"]),
    "objects": (
        lambda: np.save("X.npy", np.array([{}, 1], dtype=object), allow_pickle=True),
        [],
        ["X.npy: cannot be read as npy", "without pickle"],
    ),
    "object labels": (
        lambda: np.save("y.npy", Y.astype(object), allow_pickle=True),
        [],
        ["y.npy: cannot be read as npy", "without pickle"],
    ),
    "damage": (
        lambda: Path("X.npy").write_bytes(Path("X.npy").read_bytes()[:200]),
        [],
        ["X.npy: cannot be read as npy"],
    ),
    "several": (
        lambda: np.savez("X.npz", a=X, b=X),
        ["--features", "X.npz"],
        ["X.npz: it holds a, b", "'features'"],
    ),
    "NaN": (change("X.npy", 7, np.nan), [], ["X.npy: features of row 7", "NaN"]),
    "float64": (save("X.npy", X.astype(float)), [], ["X.npy: features are float64", "--float32"]),
    "too large": (
        change("X.npy", 7, 1e300, "float64"),
        ["--float32"],
        ["X.npy: features of row 7", "too large for float32"],
    ),
    "one dimension": (save("X.npy", X[0]), [], ["X.npy: features have shape (5,)", "(n, d)"]),
    "one-hot labels": (save("y.npy", np.eye(4)[Y - 3]), [], ["y.npy: labels have shape (40, 4)"]),
    "no rows": (save("X.npy", X[:0]), [], ["y.npy: 40 labels, but X.npy has 0 rows"]),
    "real labels": (save("y.npy", Y + 0.5), [], ["y.npy: labels are float64", "whole numbers"]),
    "a class of one": (
        change("y.npy", 0, 9, "int64"),
        [],
        ["y.npy: 1 classes have one sample", "9"],
    ),
    "ids twice": (
        save("ids.npy", np.arange(40) % 39),
        ["--ids", "ids.npy"],
        ["ids.npy: id '0' occurs 2 times"],
    ),
    "labels of another encoding": (
        save("y.npy", np.array([b"\xff", b"a"] * 20)),
        [],
        ["y.npy: labels are no UTF-8 text"],
    ),
    "labels that are half a letter": (
        save("y.npy", np.array(["\udcff", "a"] * 20)),
        [],
        ["y.npy: labels are no UTF-8 text"],
    ),
    "labels of numbers that no letter has": (
        save("y.npy", np.full(40, 2**31, dtype=np.uint32).view("U1")),
        [],
        ["y.npy: cannot be read as npy", "no letter"],
    ),
    "labels with a zero byte": (
        save("y.npy", np.array(["a\0b", "a"] * 20)),
        [],
        ["y.npy: labels are no UTF-8 text (a zero byte)"],
    ),
    "ids of another encoding": (
        save("ids.npy", np.array([b"\xff%d" % i for i in range(40)])),
        ["--ids", "ids.npy"],
        ["ids.npy: ids are no UTF-8 text"],
    ),
    "more than the archive has": (
        claim,
        ["--features", "X.npz"],
        ["X.npz: cannot be read as npz", "claims 12000000128 bytes"],
    ),
    "one number for many": (
        one_for_many,
        ["--features", "X.pt"],
        ["X.pt: cannot be read as pt", "it claims 40000000000 numbers"],
    ),
    "ids of another file": (
        save("ids.npy", np.arange(9)),
        ["--ids", "ids.npy"],
        ["ids.npy: 9 ids, but X.npy has 40 rows"],
    ),
    "the same file twice": (
        save_tests(X, Y),
        TESTS,
        ["Xt.npy: 40 test samples are training samples of X.npy too"],
    ),
    "another width": (save_tests(X[:, :3], Y), TESTS, ["Xt.npy has rows of 3", "X.npy of 5"]),
    "unknown classes": (save_tests(X + 1, Y + 1), TESTS, ["yt.npy: 1 classes", "7", "X.npy"]),
    "text and numbers": (
        save_tests(X + 1, Y.astype(str)),
        TESTS,
        ["yt.npy holds", "y.npy int64", "numbers here, text there"],
    ),
    "half a test": (lambda: None, TESTS[:2], ["--test-features", "--test-labels"]),
    "share and tests": (
        save_tests(X + 1, Y),
        [*TESTS, "--test-share", "0.5"],
        ["Leave out one"],
    ),
    "no header": (headless, ["--features", "X.csv"], ["X.csv: the first line holds numbers"]),
    "gap": (
        lambda: Path("y.csv").write_text("class,other\na,1\n,2\n"),
        ["--labels", "y.csv"],
        ["y.csv: it holds class, other"],
    ),
    "gap in labels": (
        lambda: Path("y.csv").write_text("labels,other\na,1\n,2\n"),
        ["--labels", "y.csv"],
        ["y.csv: row 1", "has no label"],
    ),
    "name": (lambda: None, ["--out", "data/My Set/net"], ["'My Set' is no name of a data set"]),
    "exists": (
        lambda: Path(OUT).mkdir(parents=True),
        [],
        [f"--out {OUT} exists", "name another"],
    ),
    "file for a folder": (
        lambda: Path("data").write_text(""),
        [],
        [f"--out {OUT}: cannot be written", "rename it"],
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_fit_is_refused_before_anything_is_written(
    case: str, arrays: tuple[np.ndarray, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    make, arguments, words = REFUSED[case]
    make()
    before = sorted(Path().rglob("*"))
    assert main(["import", *FILES, *arguments]) == 2
    said = capsys.readouterr().err
    assert all(word in said for word in words), said
    assert said.count("\n") == 1 and "Traceback" not in said
    assert sorted(Path().rglob("*")) == before


def test_no_pickle_is_executed(
    arrays: tuple[np.ndarray, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    torch = pytest.importorskip("torch")

    class Trap:
        def __reduce__(self) -> tuple[object, ...]:
            return Path.touch, (Path("sprung"),)

    torch.save({"features": Trap()}, "X.pt")
    np.savez("X.npz", features=np.array([Trap()], dtype=object))
    for file in ("X.pt", "X.npz"):
        assert main(["import", *FILES, "--features", file]) == 2
        assert f"{file}: cannot be read" in capsys.readouterr().err
    assert not Path("sprung").exists()


@pytest.mark.parametrize(("package", "file"), [("pyarrow", "X.parquet"), ("torch", "X.pt")])
def test_a_missing_library_is_named(
    package: str,
    file: str,
    arrays: tuple[np.ndarray, ...],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    Path(file).touch()
    assert main(["import", *FILES, "--features", file]) == 2
    assert f"pip install {package}" in capsys.readouterr().err


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
    """The features of the second import are 307 MB, those of the first a tenth."""
    peaks = [
        peak_of_import(tmp_path, f"n-{n}", (n, 768), np.arange(n) % 100) for n in (20_000, 200_000)
    ]
    assert peaks[1] - peaks[0] < 60e6 and peaks[1] < 200e6, peaks


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
def test_a_million_rows_within_500_megabytes(tmp_path: Path) -> None:
    """1.5 GB of features, and labels that are names."""
    names = np.array([f"n{number:08d}" for number in range(1000)])
    peak = peak_of_import(tmp_path, "million", (1_000_000, 768), names[np.arange(1_000_000) % 1000])
    assert peak < 500e6, peak


def test_a_damaged_pt_file_is_no_traceback(tmp_path: Path) -> None:
    """One bit of its first byte: torch takes it for another format, whose reader ends in an IndexError."""
    torch = pytest.importorskip("torch")
    path = tmp_path / "X.pt"
    torch.save(torch.ones(4, 2), path)
    content = bytearray(path.read_bytes())
    content[0] ^= 1
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"X\.pt: cannot be read as pt"):
        read(path, "features")
