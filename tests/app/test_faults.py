"""Every write of every command may fail: the files that were there stay whole, and the same command then succeeds."""

import shutil
from pathlib import Path

import miniatures
import numpy as np
import pytest
from commands import STUDY, main
from copies import tree
from faults import each, failing
from own_data import write_network
from toy_files import META

from sparcl.app.cli import COMMANDS
from sparcl.features import store

ACIL = ["--method", "acil", "--set", "ridge=0.1"]
LOG = "{'model': 'ranpac', 'dataset': 'seq-cub200', 'seed': 7, 'accmean_task1': 90.0}\n"
CALLS = {
    "fit": ["fit", *ACIL, "--features", "x.h5", "--out", "old.npz"],
    "fit in a new folder": ["fit", *ACIL, "--features", "x.h5", "--out", "a/b/new.npz"],
    "append": ["fit", "--append", "x.npz", "--features", "y.h5", "--out", "x.npz"],
    "evaluate": ["evaluate", "x.npz", "--features", "test.h5", "--out", "old.json"],
    "merge": ["merge", "x.npz", "y.npz", "--out", "old.npz"],
    "forget": ["forget", "x.npz", "--features", "x.h5", "--classes", "a", "--out", "x.npz"],
    "sums": ["sums", "--features", "x.h5", "--out", "old.npz"],
    "merge-sums": ["merge-sums", "xs.npz", "ys.npz", "--out", "old.npz"],
    "cut": ["cut", "x.h5", "--shards", "2", "--out", "view.h5"],
    "cut in place": ["cut", "x.h5", "--shards", "1", "--out", "x.h5"],
    "sweep": [
        *("sweep", "xs.npz", "--features", "test.h5", "--method", "acil", "--ridge", "1"),
        *("--orders", "1", "--sessions", "2", "--out", "old.json"),
    ],
    "label": ["label", "seen.npz", "pictures", "--weights", "net.pth", "--csv", "old.csv"],
    "learn": ["learn", "seen.npz", "pictures", "--weights", "net.pth", "--out", "seen.npz"],
    "predict": ["predict", "x.npz", "--features", "test.h5", "--out", "old.csv"],
    "export": ["export", "--to", "pilot", "--features", "x.h5", "test.h5", "--out", "new"],
    "import-log": ["import-log", "logs.pyd", "--from", "mammoth", "--out", "new.csv"],
    "import": ["import", "--features", "f.npy", "--labels", "l.npy", "--out", "new/toy/net"],
}


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with what the commands read and replace."""
    folder = tmp_path_factory.mktemp("before")
    for name, first, split in (("x", 0, "train"), ("y", 100, "train"), ("test", 200, "test")):
        rows = np.random.default_rng(first).standard_normal((12, 4)).astype(np.float32)
        ids = [str(first + i) for i in range(12)]
        path = folder / f"{name}.h5"
        store.write(path, rows, np.arange(12) % 3, ids, ["a", "b", "c"], META | {"split": split})
        for out, command in ((f"{name}.npz", ["fit", *ACIL]), (f"{name}s.npz", ["sums"])):
            assert main([*command, "--features", str(path), "--out", str(folder / out)]) == 0
    seen = {"weights_sha256": write_network(folder / "net.pth"), "timm_id": "test_efficientnet"}
    seen["preprocessing"] = {"size": 32, "crop": 1.0, "interpolation": "bicubic"}
    seen["preprocessing"] |= {"mean": [0.5] * 3, "std": [0.5] * 3}
    record = {"timm_args": {}, "weights": {"source": "file"}}
    seen["extraction"] = {"batch_size": 4, "precision": "float32", "network": record}
    rows = np.random.default_rng(1).standard_normal((12, 256)).astype(np.float32)
    store.write(
        folder / "seen.h5",
        rows,
        np.arange(12) % 3,
        ids,
        ["a", "b", "c"],
        META | seen | {"split": "train"},
    )
    call = ["--features", str(folder / "seen.h5"), "--out", str(folder / "seen.npz")]
    assert main(["fit", *ACIL, *call]) == 0
    miniatures.unpack(folder / "pictures/d", {f"{i}.jpg": miniatures.jpeg(i) for i in range(3)})
    np.save(folder / "f.npy", rows)
    np.save(folder / "l.npy", np.arange(12) % 3)
    (folder / "logs.pyd").write_text(LOG)
    for name in ("old.npz", "old.json", "old.csv"):
        (folder / name).write_text("old")
    return folder


@pytest.fixture
def start(before: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder that `renew` makes, and work in it."""
    folder = tmp_path / "work"
    renew(before, folder)
    monkeypatch.chdir(folder)
    monkeypatch.setattr("os.fsync", lambda descriptor: None)
    return folder


def renew(before: Path, folder: Path) -> None:
    """Put back what was there before, in the same folder."""
    folder.mkdir(exist_ok=True)
    for path in folder.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    shutil.copytree(before, folder, dirs_exist_ok=True)


@pytest.mark.parametrize("name", CALLS)
def test_a_failed_write_costs_nothing(
    name: str, before: Path, start: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = tree(start)
    with failing(start, None) as disk:
        assert main(CALLS[name]) == 0
    expected, steps = tree(start), disk.steps
    made = {path for path, content in expected.items() if content != whole.get(path)}
    sizes = {len(expected[path]) for path in made}
    assert steps >= 4 and sizes
    for fault in each(start, steps, sizes):
        renew(before, start)
        capsys.readouterr()
        with fault:
            code = main(CALLS[name])
        said = capsys.readouterr().err
        left = tree(start)
        assert (code, said.count("\n")) == (2, 1), said
        assert said.startswith("OutputError: ")
        assert CALLS[name][-1] in said or any(Path(path).name in said for path in expected)
        for path, content in whole.items():
            assert left[path] in (content, expected[path]), (path, said)
        assert all(expected[path] == content for path, content in left.items() if path not in whole)
        if left != expected:  # else only the confirmation of the last name failed
            assert main(CALLS[name]) == 0
            assert tree(start) == expected


def test_a_model_in_a_read_only_folder_is_appended_to_elsewhere(start: Path) -> None:
    (start / "given").mkdir()
    shutil.move("x.npz", "given/x.npz")
    command = ["fit", "--append", "given/x.npz", "--features", "y.h5", "--out", "new.npz"]
    with failing(start / "given", 0) as disk:
        assert main(command) == 0
    assert disk.steps == 0 and Path("new.npz").is_file()


def test_no_command_is_left_out() -> None:
    writing = {command.name for command in COMMANDS} - {"inspect"}
    assert {call[0] for call in CALLS.values()} == writing | STUDY.keys()
