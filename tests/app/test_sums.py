"""Sums of feature files: equal however a set is cut and whoever was first; unlike shards are refused."""

import json
from itertools import permutations
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from commands import Write, main
from toy_files import META

from sparcl.base.errors import FeatureFileError, InputError
from sparcl.base.npz import read_npz, write_npz
from sparcl.base.rows import prepared, unit
from sparcl.features import layout, store
from sparcl.protocol import stream
from study.images import shards
from study.loop import experiment
from study.sums import merging, sweep
from study.sums.class_sums import ClassSums
from study.sums.sums_file import SumsFile

CIFAR = Path(__file__).resolve().parents[2] / "data/features/cifar-100-150/efficientnet-lite0"
NAMES = ["ant", "bee", "cat"]


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Write a small feature file into the folder that the test runs in, and return its name."""
    monkeypatch.chdir(tmp_path)

    def write(
        name: str,
        seed: int,
        n: int = 40,
        d: int = 12,
        names: list[str] = NAMES,
        prefix: str = "",
        **meta: Any,
    ) -> str:
        labels = np.arange(n) % len(names)
        features = np.random.default_rng(seed).standard_normal((n, d)) + 2 * labels[:, None]
        ids = [f"{prefix}{seed}/{i}" for i in range(n)]
        store.write(tmp_path / name, features.astype(np.float16), labels, ids, names, META | meta)
        return name

    return write


def cut(folder: Path, data: layout.FeatureSet, parts: int, d: int) -> list[Path]:
    """Write a feature set's first d features as shards, each with every parts-th row."""
    meta = {key: data.meta[key] for key in layout.REQUIRED_KEYS}
    paths = []
    for i in range(parts):
        paths.append(folder / f"{i}-of-{parts}.h5")
        rows = slice(i, None, parts)
        features = data.features[rows, :d]
        store.write(paths[-1], features, data.labels[rows], data.ids[rows], data.class_names, meta)
    return paths


@pytest.fixture(scope="module")
def cifar() -> tuple[layout.FeatureSet, layout.FeatureSet]:
    return store.read(CIFAR / "train.h5"), store.read(CIFAR / "test.h5")


@pytest.fixture(scope="module")
def records(cifar: tuple[layout.FeatureSet, layout.FeatureSet]) -> dict[tuple[int, str], Any]:
    """One-pass runs of the learners themselves, by features and method."""
    sessions = stream.split_sessions(stream.class_order(1993, 100), 4)
    found = {}
    for d in (200, 320):
        splits = [experiment.Split(unit(data.features[:, :d]), data.labels) for data in cifar]
        found[d, "R"] = splits[0].features.T @ splits[0].features
        for method, hyper in (("acil", {"ridge": 0.1}), ("sparcl", {"ridge": 0.1, "tau": 0.5})):
            found[d, method] = experiment.run(*splits, sessions, method, hyper)["correct"]
    return found


# 150 images a class: triangles of 200 features, rows of 320
@pytest.mark.parametrize(("d", "parts"), [(200, 7), (320, 3)])
def test_shards_of_cifar_have_the_counts_of_one_pass(
    d: int, parts: int, cifar: tuple, records: dict, tmp_path: Path
) -> None:
    train, test = cifar
    files = cut(tmp_path, train, parts, d)
    total = merging.merge_files(files)
    R = total.sums.of(range(100)).R
    assert np.abs(R - records[d, "R"]).max() <= 1e-12 * np.abs(R).max()
    assert np.array_equal(total.ids, np.sort(train.ids))
    probe = unit(test.features[:, :d])
    sessions = stream.split_sessions(stream.class_order(1993, 100), 4)
    for method, tau in (("acil", {}), ("sparcl", {"tau": [0.5]})):
        fitted = sweep.learner(method, {"ridge": [0.1]} | tau)
        found = sweep.correct(total.sums, probe, test.labels, sessions, fitted)
        assert found[0, 0].tolist() == records[d, method]


def test_the_order_of_finishing_is_nothing(written: Write) -> None:
    files = [written(f"{i}.h5", i, n=20) for i in range(3)]
    saved = [file.replace("h5", "npz") for file in files]
    for file, to in zip(files, saved, strict=True):
        SumsFile.of_file(file).save(to)
    written_bytes = set()
    for order in permutations(range(3)):
        merging.merge_saved([saved[i] for i in order]).save("total.npz")
        merging.merge_files([files[i] for i in order]).save("whole.npz")
        written_bytes |= {Path(name).read_bytes() for name in ("total.npz", "whole.npz")}
    assert len(written_bytes) == 1
    merging.merge_saved(saved[:2]).save("two.npz")
    nested = merging.merge_saved(["two.npz", saved[2]]).sums.of([0, 1, 2]).R
    assert np.abs(nested - SumsFile.load("total.npz").sums.of([0, 1, 2]).R).max() < 1e-12


def test_shards_are_held_one_at_a_time() -> None:
    alive = 0

    class Counted(SumsFile):
        def __del__(self) -> None:
            nonlocal alive
            alive -= 1

    def shards() -> Any:
        nonlocal alive
        for i in range(4):
            assert alive == 0
            alive += 1
            part = ClassSums(2, 1)
            part.accumulate(np.ones((1, 2)), np.array([0]))
            yield f"{i}", Counted(part, {}, ["ant"], np.array([f"{i}".encode()]), [])

    total = merging.merge(shards())
    assert total.sums.counts.tolist() == [4] and total.ids.tolist() == [b"0", b"1", b"2", b"3"]


def test_sums_by_session_are_those_of_the_samples(written: Write) -> None:
    files, sessions = [written(f"{i}.h5", i, n=20) for i in range(3)], [[2, 0], [1]]
    total = merging.merge_files(files, True, sessions)
    total.save("sessions.npz")
    total = SumsFile.load("sessions.npz")
    by_class = merging.merge_files(files)
    assert total.sums.nbytes < by_class.sums.nbytes
    for labels in sessions:
        found, wanted = total.sums.of(labels), by_class.sums.of(labels)
        assert np.abs(found.R - wanted.R).max() <= 1e-12 * np.abs(wanted.R).max()
        assert np.array_equal(found.C, wanted.C) and found.counts.tolist() == wanted.counts.tolist()
    with pytest.raises(InputError, match="come without class 2"):
        total.sums.of([0, 1])
    parts = [("classes", by_class), ("more", SumsFile.of_file(written("3.h5", 3), True, sessions))]
    with pytest.raises(
        InputError, match=r"more: Cannot merge sums of other groups: class 2 .* 2 here"
    ):
        merging.merge(parts)
    for others in ([], [[0], [1]], [[0, 1], [1, 2]], [[0, 1, 2, 3]]):
        with pytest.raises(InputError, match=r"3\.h5: the sessions name . classes, .*once"):
            SumsFile.of_file("3.h5", True, others)


def test_a_shard_that_is_missing_or_foreign_is_found_by_its_ids(written: Write) -> None:
    files = [written(f"{i}.h5", i, n=20) for i in range(2)]
    data = [store.read(file) for file in files]
    arrays = [np.concatenate([getattr(d, name) for d in data]) for name in ("features", "labels")]
    ids = np.concatenate([d.ids for d in data])
    store.write("whole.h5", *arrays, ids, NAMES, META)
    merging.merge_files(["whole.h5"]).complete("whole.h5")
    shards.cut("whole.h5", "view.h5", 2)
    parts = [f"view.shards/{k}-of-2.h5" for k in (1, 2)]
    merging.merge_files(parts).complete("view.h5")
    with pytest.raises(InputError, match=r"whole\.h5: its samples were summed, but with other"):
        merging.merge_files(parts).complete("whole.h5")
    part = store.read(parts[1])  # changed after the merge: in labels alone, then in features alone
    meta = META | {"shard": part.meta["shard"]}
    for features, labels in (
        (part.features, part.labels[::-1]),
        (part.features[::-1], part.labels),
    ):
        store.write(parts[1], features, labels, part.ids, NAMES, meta)
        with pytest.raises(InputError, match=r"view\.h5: its samples were summed, but with other"):
            merging.merge_files(parts).complete("view.h5")
    with pytest.raises(InputError, match=r"its 40 samples .* 20 are missing and 0 are others.*1/0"):
        merging.merge_files(files[:1]).complete("whole.h5")
    with pytest.raises(InputError, match=r"0 are missing and 20 are others.*'2/0'"):
        merging.merge_files([*files, written("2.h5", 2, n=20)]).complete("whole.h5")
    store.write("whole.h5", *arrays, ids, NAMES, META | {"backbone": "other"})
    with pytest.raises(InputError, match=r"whole\.h5: backbone is 'other'"):
        merging.merge_files(files).complete("whole.h5")


def test_saved_sums_go_on_to_the_bit(written: Write) -> None:
    for raw, n in ((False, 15), (True, 200)):
        kept = SumsFile.of_file(written("a.h5", 1, n=n), normalize=not raw)
        kept.save("a.npz")
        again = SumsFile.load("a.npz")
        assert (again.terms, again.class_names) == (kept.terms, kept.class_names)
        assert again.terms["normalisation"] == ("none" if raw else "unit norm")
        assert np.array_equal(again.ids, kept.ids)
        assert np.array_equal(again.sums.of([2, 0]).R, kept.sums.of([2, 0]).R)
        data = store.read("a.h5")
        Phi = prepared(data.features, not raw)
        R = again.sums.of([0, 1, 2]).R
        assert np.abs(R - Phi.T @ Phi).max() <= 1e-12 * np.abs(R).max()


def test_blocks_are_as_good_as_the_whole(written: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written("a.h5", 1, n=100)
    whole, blocks = SumsFile.of_file(path), store.blocks
    sizes = []

    def in_sevens(path: str, **more: Any) -> Any:
        for Phi, y in blocks(path, 7, **more):
            sizes.append(len(y))
            yield Phi, y

    monkeypatch.setattr(store, "blocks", in_sevens)
    parts = SumsFile.of_file(path)
    assert sizes == [7] * 14 + [2]
    assert np.abs(parts.sums.of([0, 1, 2]).R - whole.sums.of([0, 1, 2]).R).max() < 1e-12
    assert np.array_equal(parts.ids, whole.ids)


# --- what is refused ------------------------------------------------------------------------------


def test_unlike_shards_are_refused(written: Write) -> None:
    for differing, message in (
        ({"backbone": "other"}, "b.h5: backbone is 'other', but 'toy-net'"),
        ({"weights_sha256": "1" * 64}, "b.h5: weights_sha256 is '1111"),
        ({"dataset": "other"}, "b.h5: dataset is 'other', but 'toy'"),
        ({"split": "test"}, "b.h5: split is 'test', but 'train'"),
        ({"preprocessing": {"size": 256}}, "b.h5: preprocessing.size is 256"),
        ({"d": 13}, "b.h5: features is 13, but 12"),
        ({"names": ["ant", "bee", "cow"]}, "b.h5: class 2 is 'cow', but 'cat'"),
        ({"names": ["bee", "ant", "cat"]}, "b.h5: class 0 is 'bee', but 'ant'"),
        ({"names": [*NAMES, "dog"]}, "b.h5: number of classes is 4, but 3"),
    ):
        parts = [written("a.h5", 1), written("b.h5", 2, **differing)]
        for order in (parts, parts[::-1]):
            with pytest.raises(InputError, match=message):
                merging.merge_files(order)


def test_shards_that_do_not_add_up_are_refused(written: Write) -> None:
    a, b = (SumsFile.of_file(written(f"{i}.h5", i)) for i in (1, 2))
    raw = SumsFile.of_file("2.h5", normalize=False)
    data = store.read("1.h5")
    ids = [f"2/{i}" if i == 39 else f"3/{i}" for i in range(40)]
    store.write("3.h5", data.features, data.labels, ids, NAMES, META)
    for parts, message in (
        ([], "No sums"),
        ([("unit", a), ("raw", raw)], "raw: normalisation is 'none', but 'unit norm'"),
        ([("once", a), ("b", b), ("again", a)], r"again: 40 of its samples .*'1/0'"),
        (
            [("a", a), ("b", b), ("c", SumsFile.of_file("3.h5"))],
            r"c: 1 of its samples .*\(first: '2/39'",
        ),
    ):
        with pytest.raises(InputError, match=message):
            merging.merge(parts)


def test_damaged_files_are_refused(written: Write) -> None:
    path = Path(written("a.h5", 1))
    SumsFile.of_file(path).save("a.npz")
    kept, whole = Path("a.npz").read_bytes(), path.read_bytes()
    for array, index in (("features", (30, 2)), ("ids", 5)):
        with h5py.File(path, "r+") as file:
            file[array][index] = file[array][1 if array == "ids" else (1, 1)]
        with pytest.raises(FeatureFileError, match=f"manifest in array {array}"):
            SumsFile.of_file(path)
        path.write_bytes(whole)
    Path("a.npz").write_bytes(kept[:-300])
    with pytest.raises(InputError, match=r"a\.npz: not an npz file"):
        SumsFile.load("a.npz")


def test_foreign_sums_are_refused(written: Write) -> None:
    SumsFile.of_file(written("a.h5", 1)).save("a.npz")
    whole = read_npz("a.npz")
    for change in (
        {"card": "[]"},
        {"card": json.dumps({"kind": "another"})},
        {"ids": np.array([b"1"])},
        {"counts": np.array([13, 13])},
        {"sums": np.zeros(3)},
        {"moments.1": np.zeros(5)},
        {"moments.1": None},
    ):
        content = {key: value for key, value in (whole | change).items() if value is not None}
        write_npz("a.npz", content)
        with pytest.raises(InputError, match=r"a\.npz: not sums of .study.sums., as written"):
            SumsFile.load("a.npz")


# --- the commands ---------------------------------------------------------------------------------


def test_the_commands_are_the_library(written: Write, capsys: pytest.CaptureFixture[str]) -> None:
    for i in (1, 2):
        assert main(["sums", "--features", written(f"{i}.h5", i), "--out", f"{i}.npz"]) == 0
    assert main(["merge-sums", "2.npz", "1.npz", "--out", "c.npz"]) == 0
    assert main(["sums", "--features", "1.h5", "2.h5", "--out", "whole.npz"]) == 0
    assert Path("c.npz").read_bytes() == Path("whole.npz").read_bytes()
    Path("order.json").write_text('{"sessions": [[1, 0], [2]]}')
    assert main(["sums", "--features", "1.h5", "--order-file", "order.json", "--out", "s.npz"]) == 0
    assert SumsFile.load("s.npz").sums.groups.tolist() == [0, 0, 1]
    assert capsys.readouterr().out.splitlines() == [
        "1.npz: 40 samples of 3 classes, 12 features",
        "2.npz: 40 samples of 3 classes, 12 features",
        "c.npz: 80 samples of 3 classes, 12 features",
        "whole.npz: 80 samples of 3 classes, 12 features",
        "s.npz: 40 samples of 3 classes, 12 features",
    ]
    written("test.h5", 3, split="test")
    grid = ["--method", "sparcl", "--ridge", "0.1", "1", "--tau", "0.5", "--set", "refresh=1"]
    order = ["--orders", "4", "5", "--sessions", "3", "--out", "sweep.json"]
    command = ["sweep", "c.npz", "--features", "test.h5", *grid, *order, "--device", "torch-cpu"]
    assert main(command) == 0
    lines = capsys.readouterr().out.splitlines()
    found = json.loads(Path("sweep.json").read_text())
    assert [(row["order"], row["ridge"], row["tau"]) for row in found] == [
        *((4, 0.1, 0.5), (4, 1.0, 0.5), (5, 0.1, 0.5), (5, 1.0, 0.5))
    ]
    splits = []
    for files in (["1.h5", "2.h5"], ["test.h5"]):
        sets = [store.read(file) for file in files]
        features = np.concatenate([data.features for data in sets])
        labels = np.concatenate([data.labels for data in sets])
        splits.append(experiment.Split(unit(features), labels))
    for row, line in zip(found, lines[1:], strict=True):
        sessions = stream.split_sessions(stream.class_order(row["order"], 3), 3)
        hyper = {"ridge": row["ridge"], "tau": row["tau"], "refresh": 1}
        record = experiment.run(*splits, sessions, "sparcl", hyper)
        correct = np.sum(record["correct"], axis=1)
        assert row["correct"] == correct.tolist()
        A_t = 100 * correct / np.cumsum(record["test_counts"])
        assert row["A_t"] == pytest.approx(A_t.tolist(), abs=1e-12)
        assert line.split()[-2:] == [f"{A_t.mean():.2f}", f"{A_t[-1]:.2f}"]
    assert len({tuple(row["correct"]) for row in found}) > 1


def test_bad_sweeps_are_refused(written: Write, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sums", "--features", written("a.h5", 1), "--out", "a.npz"]) == 0
    written("test.h5", 2, split="test")
    written("raw.h5", 2, split="test", preprocessing={"size": 1})
    written("renamed.h5", 1, prefix="other", split="test")
    written("two.h5", 2, split="test", names=NAMES[:2])
    written("few.h5", 2, split="test", n=2)
    common = ["--features", "test.h5", "--method", "acil", "--ridge", "1", "--orders", "1"]
    for change, message in (
        (["--method", "ncm"], "'ncm' has no hyper-parameter 'ridge'"),
        (["--set", "tau=0.5"], "by --ridge and --tau"),
        (["--ridge", "-1"], "ridge = -1.0"),
        (["--sessions", "9"], "3 classes cannot fill 9 sessions"),
        (["--features", "raw.h5"], "raw.h5: preprocessing.size is 1, but 224"),
        (["--features", "two.h5"], "two.h5: number of classes is 2, but 3"),
        (["--features", "few.h5"], "few.h5: class 'cat' has no sample"),
        (["--features", "absent.h5"], "absent.h5"),
        (["--features", "renamed.h5"], "renamed.h5: its features (sha256 "),
        (["--features", "a.h5"], "a.h5: 40 of its samples are in the sums (first: '1/0')"),
        (["--features", "test.h5", "test.h5"], "given twice"),
    ):
        capsys.readouterr()
        assert main(["sweep", "a.npz", *common, "--sessions", "3", *change]) == 2
        assert message in capsys.readouterr().err
