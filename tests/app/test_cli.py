"""The command line on feature files: what it fits is what the library fits, and bad input is named."""

import json
import re
import shlex
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import warm
from commands import Refused, Write
from toy_files import META

from sparcl.algebra.tensors import Tensors
from sparcl.app.cli import main
from sparcl.app.model import Model
from sparcl.base.rows import prepared, unit
from sparcl.features import store
from sparcl.features.layout import Stream
from sparcl.learners.learner import Learner
from sparcl.methods import build
from study.sums.__main__ import main as sums

ROOT = Path(__file__).resolve().parents[2]
CUB = ROOT / "data/features/cub-50/efficientnet-lite0"
NAMES = ["ant", "bee", "cat", "dog", "eel", "fox"]
ACIL = ["--method", "acil", "--set", "ridge=0.1"]


def drawn(seed: int, n: int = 90, d: int = 12) -> tuple[np.ndarray, np.ndarray]:
    """Noisy clusters, not of unit norm; every class has samples."""
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.arange(n) % len(NAMES))
    centres = np.random.default_rng(5).standard_normal((len(NAMES), d))
    return (3 * centres[labels] + 2.5 * rng.standard_normal((n, d))).astype(np.float16), labels


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Write a small feature file into the folder that the test runs in, and return its name."""
    monkeypatch.chdir(tmp_path)

    def write(
        name: str,
        seed: int,
        meta: dict[str, Any] | None = None,
        classes: list[int] | None = None,
        **size: int,
    ) -> str:
        features, labels = drawn(seed, **size)
        names = NAMES
        if classes is not None:
            rows = np.isin(labels, classes)
            features, labels = features[rows], np.searchsorted(np.sort(classes), labels[rows])
            names = [NAMES[i] for i in sorted(classes)]
        ids = [f"{seed}/{i}" for i in range(len(labels))]
        store.write(tmp_path / name, features, labels, ids, names, META | (meta or {}))
        return name

    return write


def run(*arguments: str) -> None:
    assert main(arguments) == 0


def learner_of(path: str) -> Learner:
    return Model.load(path).learner


def same(a: Learner, b: Learner) -> None:
    assert np.array_equal(a.classes, b.classes)
    assert np.abs(a.weights - b.weights).max() < 1e-10


@pytest.mark.parametrize("raw", [False, True])
@pytest.mark.parametrize("method", ["acil", "ncm", "linear-relu"])
def test_shards_merged_are_one_fit_and_the_library(
    method: str, raw: bool, written: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "ROWS", 7)
    hyper = {"acil": {"ridge": 0.1}, "ncm": {}, "linear-relu": {"ridge": 0.5, "width": 30}}[method]
    options = ["--method", method, *(["--raw"] if raw else [])]
    options += [o for key, value in hyper.items() for o in ("--set", f"{key}={value}")]
    files = [written("1.h5", 1), written("2.h5", 2)]
    for file in files:
        run("fit", *options, "--features", file, "--out", f"{file}.npz")
    run("merge", *(f"{file}.npz" for file in files), "--out", "merged.npz")
    run("fit", *options, "--features", *files, "--out", "whole.npz")
    merged, whole, library = (
        learner_of("merged.npz"),
        learner_of("whole.npz"),
        build(method, **hyper),
    )
    Phi, y = (np.concatenate(parts) for parts in zip(drawn(1), drawn(2), strict=True))
    library.fit_session(prepared(Phi, not raw), y)
    same(merged, library)
    same(whole, library)
    probe = prepared(drawn(3)[0], not raw)
    assert np.array_equal(merged.predict(probe), library.predict(probe))
    assert np.array_equal(whole.predict(probe), library.predict(probe))
    assert (merged.session, whole.session) == (2, 1)


def test_shards_of_different_classes_are_matched_by_name(
    written: Write, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    """Both files number their classes from 0."""
    written("a.h5", 1, classes=[1, 4, 5])
    written("b.h5", 2, classes=[0, 2, 4])
    written("all.h5", 3, meta={"split": "test"})
    for name in ("a", "b"):
        run("fit", *ACIL, "--features", f"{name}.h5", "--out", f"{name}.npz")
    run("merge", "a.npz", "b.npz", "--out", "c.npz")
    run("fit", *ACIL, "--features", "a.h5", "b.h5", "--out", "whole.npz")
    run("fit", "--append", "a.npz", "--features", "b.h5", "--out", "appended.npz")
    model = Model.load("c.npz")
    assert [model.class_names[label] for label in model.learner.classes] == [
        *("bee", "eel", "fox", "ant", "cat")
    ]
    same(model.learner, learner_of("whole.npz"))
    same(model.learner, learner_of("appended.npz"))
    run("evaluate", "c.npz", "--features", "all.h5", "--out", "c.json")
    assert not caplog.messages
    Phi, y = drawn(3)
    predicted = model.learner.predict(unit(Phi))
    expected = [
        {
            "name": NAMES[c],
            "samples": int(np.sum(y == c)),
            "correct": int(np.sum([model.class_names[p] == NAMES[c] for p in predicted[y == c]])),
        }
        for c in (1, 4, 5, 0, 2)
    ]
    found = json.loads(Path("c.json").read_text())
    assert found["classes"] == expected
    assert found["left_out"] == np.sum(y == 3) == 15
    assert found["samples"] == 75
    assert found["correct"] == sum(row["correct"] for row in expected)
    assert 30 < found["correct"] < 75
    assert found["accuracy"] == pytest.approx(found["correct"] / 75, abs=1e-15)
    mean = np.mean([row["correct"] / row["samples"] for row in expected])
    assert found["class_accuracy"] == pytest.approx(mean, abs=1e-15)
    table = capsys.readouterr().out.splitlines()[-4:]
    assert table[1].split()[-3:] == ["75", f"{100 * found['accuracy']:.2f}", "%"]
    assert table[3].split() == ["of", "classes", "not", "learned", "15"]
    run("evaluate", "c.npz", "--features", "all.h5", "a.h5", "--out", "d.json")
    assert "a.h5: the model was fitted on samples of this file" in caplog.text


def test_every_command_of_the_guide_runs(
    written: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("data/features").mkdir(parents=True)
    Path("data/features/cub-50").symlink_to(ROOT / "data/features/cub-50")
    for seed, name in enumerate(("", "t")):
        for kind, array in zip("Xy", drawn(seed), strict=True):
            np.save(f"{kind}{name}.npy", array)
    np.save(
        "X.npy", np.resize(np.load("X.npy"), (90, 1280))
    )  # as many features as the bundled sets
    np.save("Xt.npy", np.resize(np.load("Xt.npy"), (90, 1280)))
    for seed, name in enumerate(("monday", "tuesday", "shard-1", "shard-2")):
        written(f"{name}.h5", seed)
    text = (ROOT / "docs/command-line.md").read_text(encoding="utf-8")
    commands = [
        line
        for block in re.findall(r"```sh\n(.*?)```", text, flags=re.DOTALL)
        for line in block.splitlines()
    ]
    assert len(commands) == 23
    said = ""
    for command in commands:
        python, *arguments = shlex.split(command)
        assert [python, arguments[0]] == ["python", "-m"]
        assert {"sparcl": main, "study.sums": sums}[arguments[1]](arguments[2:]) == 0
        said += capsys.readouterr().out
    (shown,) = re.findall(r"```\n( +correct.*?)```", text, flags=re.DOTALL)
    assert shown in said
    assert len(re.findall(r"python -m (?:sparcl|study\.sums) ", text)) == len(commands)


def test_a_model_of_another_device_is_the_same_and_goes_on_here(
    written: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = written("first.h5", 1), written("second.h5", 2)
    torch = ["--device", "torch-cpu"]
    assert main(["fit", *ACIL, "--features", first, "--out", "there.npz", *torch]) == 0
    assert main(["fit", *ACIL, "--features", first, "--out", "here.npz"]) == 0
    there, here = Model.load("there.npz"), Model.load("here.npz")
    assert there.terms == here.terms
    np.testing.assert_allclose(there.learner.weights, here.learner.weights, atol=1e-10)
    for name, device in (("there", torch), ("here", [])):
        more = ["--append", f"{name}.npz", "--features", second, "--out", f"{name}.npz"]
        assert main(["fit", *more, *device]) == 0
        capsys.readouterr()
        assert main(["evaluate", f"{name}.npz", "--features", second, *device]) == 0
        shown = capsys.readouterr().out
        if name == "there":
            expected = shown
    assert shown == expected
    for name, device in (("there", torch), ("here", [])):
        parts = ["a.npz", "b.npz"]
        for path, part in zip((first, second), parts, strict=True):
            assert main(["fit", *ACIL, "--features", path, "--out", part, *device]) == 0
        assert main(["merge", *parts, "--out", f"{name}.npz", *device]) == 0
        table = ["--features", second, "--out", f"{name}.csv"]
        assert main(["predict", f"{name}.npz", *table, *device]) == 0
    same(learner_of("there.npz"), learner_of("here.npz"))
    tables = [Path(f"{name}.csv").read_text().splitlines() for name in ("there", "here")]
    labels = [[row.split(",")[2] for row in table] for table in tables]
    assert len(tables[0]) == 91 and labels[0] == labels[1]
    assert main(["fit", "--method", "ncm", "--features", first, "--out", "no.npz", *torch]) == 2
    assert "Method 'ncm': NearestClassMean cannot run on torch-cpu" in capsys.readouterr().err
    assert not Path("no.npz").exists()


def test_a_block_goes_to_the_device_before_the_next_is_read(
    written: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A card takes what it is asked and works while the host reads on: rows travel once, in blocks."""
    monkeypatch.setattr(store, "ROWS", 16)
    path, events = written("train.h5", 1), []
    blocks, array, update = store.blocks, Tensors.array, Tensors.rank_update

    def read(*arguments, **options):
        for Phi, y in blocks(*arguments, **options):
            events.append(("read", len(Phi)))
            yield Phi, y

    def sent(self, values, dtype=None):
        if isinstance(values, np.ndarray) and values.shape[1:] == (12,) and len(values) > 2:
            events.append(("sent", len(values)))
        return array(self, values, dtype)

    def summed(self, R, X, sign):
        events.append(("summed", X.shape[0]))
        update(self, R, X, sign)

    monkeypatch.setattr(store, "blocks", read)
    monkeypatch.setattr(Tensors, "array", sent)
    monkeypatch.setattr(Tensors, "rank_update", summed)
    run("fit", *ACIL, "--features", path, "--out", "m.npz", "--device", "torch-cpu")
    sizes = [16] * 5 + [10]
    assert events == [(what, n) for n in sizes for what in ("read", "sent", "summed")]


def test_as_a_program(written: Write) -> None:
    def program(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [warm.python(), "-m", "sparcl", *arguments]
        environment = {"PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"}
        return subprocess.run(command, capture_output=True, text=True, env=environment)

    written("train.h5", 1)
    done = program("fit", *ACIL, "--features", "train.h5", "--out", "model.npz")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1] == "model.npz: acil, 1 session, 6 classes, 12 features"
    failed = program("evaluate", "model.npz", "--features", "absent.h5")
    assert failed.returncode == 2
    assert (
        failed.stderr.startswith("FeatureFileError: absent.") and "Traceback" not in failed.stderr
    )
    assert failed.stdout == ""
    helped = program("fit", "--help")
    assert helped.returncode == 0 and "linear-relu" in helped.stdout


# --- what is refused ------------------------------------------------------------------------------


def test_features_of_another_source_are_refused(written: Write, refused: Refused) -> None:
    written("1.h5", 1)
    written("2.h5", 2, meta={"backbone": "other-net"})
    for name in ("1", "2"):
        run("fit", *ACIL, "--features", f"{name}.h5", "--out", f"{name}.npz")
    named = "backbone is 'other-net', but 'toy-net'"
    both = ["fit", *ACIL, "--features", "1.h5", "2.h5", "--out", "c.npz"]
    for command in (
        ["fit", "--append", "1.npz", "--features", "2.h5", "--out", "c.npz"],
        ["evaluate", "1.npz", "--features", "2.h5", "--out", "c.json"],
        both,
    ):
        assert f"2.h5: {named}" in refused(*command)
    assert f"2.npz: {named}" in refused("merge", "1.npz", "2.npz", "--out", "c.npz")
    for difference, named in (
        ({"meta": {"weights_sha256": "1" * 64}}, "weights_sha256 is '1111"),
        ({"meta": {"preprocessing": {"size": 256}}}, "preprocessing.size is 256"),
        ({"d": 13}, "features is 13, but 12 in the model"),
    ):
        written("2.h5", 2, **difference)
        assert f"2.h5: {named}" in refused(*both)


def test_models_of_other_settings_are_refused(written: Write, refused: Refused) -> None:
    written("1.h5", 1)
    written("2.h5", 2)
    run("fit", *ACIL, "--features", "1.h5", "--out", "1.npz")
    for options, named in (
        (["--method", "ncm"], "method is 'ncm', but 'acil'"),
        (["--method", "acil", "--set", "ridge=0.2"], "ridge is 0.2, but 0.1"),
        ([*ACIL, "--set", "dtype=float32"], "dtype is 'float32', but 'float64'"),
        ([*ACIL, "--raw"], "normalisation is 'none', but 'unit norm'"),
    ):
        run("fit", *options, "--features", "2.h5", "--out", "2.npz")
        assert f"2.npz: {named}" in refused("merge", "1.npz", "2.npz", "--out", "c.npz")
        append = ["fit", *options, "--append", "1.npz", "--features", "2.h5", "--out", "c.npz"]
        assert f"command line: {named}" in refused(*append)


def test_samples_that_would_count_twice_are_refused(written: Write, refused: Refused) -> None:
    written("1.h5", 1)
    written("copy.h5", 1)
    written("2.h5", 2)
    for name in ("1", "2"):
        run("fit", *ACIL, "--features", f"{name}.h5", "--out", f"{name}.npz")
    run("merge", "1.npz", "2.npz", "--out", "both.npz")
    for command in (
        ["fit", *ACIL, "--features", "1.h5", "copy.h5", "--out", "c.npz"],
        ["fit", "--append", "both.npz", "--features", "1.h5", "--out", "c.npz"],
        ["merge", "1.npz", "1.npz", "--out", "c.npz"],
        ["merge", "2.npz", "both.npz", "--out", "c.npz"],
    ):
        assert "would count twice" in refused(*command)
    # other classes of the same file are other samples
    for number, part in enumerate(([[4, 0]], [[1], [2, 5]])):
        Path(f"order-{number}.json").write_text(json.dumps({"sessions": part}))
    first = ["--features", "1.h5", "--out", "part.npz"]
    run("fit", *ACIL, "--order-file", "order-0.json", *first)
    run("fit", "--append", "part.npz", "--order-file", "order-1.json", *first)
    assert learner_of("part.npz").classes.tolist() == [0, 4, 1, 2, 5]


def test_bad_order_files_are_refused(written: Write, refused: Refused) -> None:
    written("1.h5", 1)
    fit = ["fit", *ACIL, "--order-file", "order.json", "--features", "1.h5", "--out", "c.npz"]
    for content, message in (
        ("[[0, 1]]", "not a class order"),
        ('{"sessions": [[0, 1], []]}', "not a class order"),
        ('{"sessions": [[0, 1], [2]], "sha256": "0"}', "edited by hand.*Take the key sha256 out"),
        ('{"sessions": [[0, 1.5]]}', "not a class order"),
        ('{"sessions": [[0, true]]}', "not a class order"),
        ('{"sessions": [[0, 6]]}', r"session 1.*reach beyond 0\.\.5"),
        ('{"sessions": [[0, 1], [2, 6]]}', r"session 2.*reach beyond 0\.\.5"),
        ('{"sessions": [[0, -1]]}', r"session 1.*reach beyond 0\.\.5"),
        ('{"sessions": [[0, 1], [2, 0]]}', "count twice"),
        ("{", r"missing or damaged .*Expected \{"),
        ("3,1\n0,2\n", r"missing or damaged .*Expected \{"),
    ):
        Path("order.json").write_text(content)
        said = refused(*fit)
        assert re.search(message, said), said
        assert '"ids"' not in said and "csv" not in said, "which this option refuses"


def test_bad_options_are_refused(written: Write, refused: Refused) -> None:
    written("1.h5", 1)
    build("ncm").save("learner.npz")
    for options, message in (
        (["--set", "ridge=0.1"], "--method"),
        (["--method", "best"], "Unknown method 'best'. Methods: acil"),
        (["--method", "sparcl-paper"], "is a block of `methods`: take its `learner`"),
        (["--append", "1.h5"], "1.h5: not a model of `sparcl fit`, but HDF5, as feature files are"),
        (["--method", "acil", "--set", "lambda=1"], "no hyper-parameter 'lambda'. It has: ridge"),
        (["--method", "acil", "--set", "ridge=much"], "ridge = 'much'"),
        (["--method", "acil", "--set", "ridge=[1]"], r"ridge = '\[1\]'"),
        (["--method", "sparcl", "--set", "freeze=no"], "freeze = 'no': it must be true or false"),
        (["--method", "acil", "--order", "1993"], "--sessions"),
        (["--method", "acil", "--sessions", "3"], "--order"),
        (["--method", "acil", "--order", "1993", "--sessions", "7"], "6 classes cannot fill 7"),
        (["--append", "absent.npz"], "absent.npz"),
        (["--append", "1.h5"], "1.h5"),
        (["--append", "learner.npz"], r"learner\.npz: not a model"),
        (["--method", "acil", "--order-file", "absent.json"], "absent.json"),
    ):
        said = refused("fit", *options, "--features", "1.h5", "--out", "c.npz")
        assert re.search(message, said), said


def test_options_that_cannot_be_read(capsys: pytest.CaptureFixture[str]) -> None:
    for option, said in (
        *((["--set", text], f"{text!r} is not NAME=VALUE") for text in ("ridge", "=1")),
        *(
            ([f"--order={text}"], f"{text!r} is not a whole number from 0 to 4294967295")
            for text in ("-1", "x", "4294967296")
        ),
        (["--sessions", "0"], "0 is not a whole number from 1"),
    ):
        with pytest.raises(SystemExit) as ended:
            main(["fit", *ACIL, *option, "--features", "1.h5", "--out", "c.npz"])
        assert ended.value.code == 2
        assert said in capsys.readouterr().err


def test_damaged_files_are_refused_and_nothing_is_written(written: Write, refused: Refused) -> None:
    path = Path(written("1.h5", 1))
    run("fit", *ACIL, "--features", "1.h5", "--out", "model.npz")
    kept, whole = Path("model.npz").read_bytes(), path.read_bytes()
    fit = ["fit", *ACIL, "--features", "1.h5", "--out", "model.npz"]
    path.write_bytes(whole[:-200])
    assert "1.h5" in refused(*fit)
    with h5py.File(path.with_name("1.h5"), "w"):
        pass
    assert "1.h5" in refused(*fit)
    path.write_bytes(whole)
    with h5py.File(path, "r+") as file:  # known after the last row only
        file["features"][80, 3] += 1
    assert "does not match its manifest in array features" in refused(*fit)
    assert "absent.h5" in refused(*fit[:-2], "absent.h5", "--out", "model.npz")
    path.unlink()
    assert "no such feature file" in refused(*fit)
    assert Path("model.npz").read_bytes() == kept
    Path("model.npz").write_bytes(kept[:-300])
    assert "model.npz: not a" in refused("evaluate", "model.npz", "--features", "1.h5")


def test_what_is_no_sum_cannot_be_merged(written: Write, refused: Refused) -> None:
    written("1.h5", 1)
    written("2.h5", 2)
    for method, reason in (
        ("sparcl", "its core holds weights"),
        ("fecam", "this method is not a sum over samples"),
    ):
        for name in ("1", "2"):
            run("fit", "--method", method, "--features", f"{name}.h5", "--out", f"{name}.npz")
        said = refused("merge", "1.npz", "2.npz", "--out", "c.npz")
        assert f"{method} cannot be merged: {reason}" in said
    assert "two models" in refused("merge", "1.npz", "--out", "c.npz")


def test_classes_that_the_model_has_not_learned(written: Write, refused: Refused) -> None:
    written("a.h5", 1, classes=[0, 1])
    written("b.h5", 2, classes=[2, 3])
    run("fit", *ACIL, "--features", "a.h5", "--out", "a.npz")
    assert "no sample of a class" in refused("evaluate", "a.npz", "--features", "b.h5")


# --- scale ----------------------------------------------------------------------------------------


def streamed(path: Path, n: int, d: int, classes: int = 100, rows: int = 4096) -> None:
    """Write n features of d numbers, of which a block is in memory at a time."""
    centres = np.random.default_rng(0).standard_normal((classes, d)).astype(np.float32)
    labels = np.arange(n) % classes

    def blocks() -> Iterator[np.ndarray]:
        rng = np.random.default_rng(1)
        for first in range(0, n, rows):
            label = labels[first : first + rows]
            noise = rng.standard_normal((len(label), d), dtype=np.float32)
            yield (centres[label] + 4 * noise).astype(np.float16)

    ids = np.char.mod("%08d", np.arange(n)).astype("S8")
    names = [f"class {i:03d}" for i in range(classes)]
    features = Stream((n, d), np.dtype(np.float16), blocks)
    store.write(path, features, labels, ids, names, META | {"dataset": "scale"})


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    """20,000 x 256 are 41 MB in float64; a block of 4,096 rows is 8 MB."""
    streamed(tmp_path / "train.h5", 20_000, 256)
    files = ["--features", str(tmp_path / "train.h5")]
    fit = ["fit", *ACIL, *files, "--out", str(tmp_path / "a.npz")]
    run(*fit)
    block = 4096 * 256 * 8
    for command in (fit, ["evaluate", str(tmp_path / "a.npz"), *files]):
        tracemalloc.start()
        try:
            run(*command)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert block < peak < 4.5 * block < 20_000 * 256 * 8


@pytest.mark.slow
def test_a_million_features_within_two_gigabytes(tmp_path: Path) -> None:
    """1.5 GB on disk, 6 GB in float64."""
    streamed(tmp_path / "train.h5", 1_000_000, 768)
    code = (
        "import resource, sys; from sparcl.app.cli import main; code = main(sys.argv[1:]);"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss); sys.exit(code)"
    )
    unit = 1 if sys.platform == "darwin" else 1024
    for command in (
        ["fit", *ACIL, "--features", "train.h5", "--out", "model.npz"],
        ["evaluate", "model.npz", "--features", "train.h5"],
    ):
        done = subprocess.run(
            [sys.executable, "-c", code, *command],
            cwd=tmp_path,
            env={"PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        assert int(done.stdout.split()[-1]) * unit < 2e9
    learner = learner_of(str(tmp_path / "model.npz"))
    assert learner.sums.n == 1_000_000
    assert np.array_equal(learner.sums.counts, np.full(100, 10_000))
