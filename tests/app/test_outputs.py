"""What may stand behind --out, appending by several processes, and samples that come in two files."""

import logging
import os
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from commands import Refused, Write, main
from toy_files import META

import sparcl
from sparcl import methods
from sparcl.app.model import Model
from sparcl.base import locks
from sparcl.base.errors import SparclError
from sparcl.features import store

ROOT = Path(__file__).resolve().parents[2]
ACIL = ["--method", "acil", "--set", "ridge=0.1"]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    monkeypatch.chdir(tmp_path)

    def written(name: str, first: int = 0, n: int = 12, split: str = "train") -> str:
        rng = np.random.default_rng(first)
        features = rng.standard_normal((n, 4)).astype(np.float32)
        ids = [str(first + i) for i in range(n)]
        store.write(name, features, np.arange(n) % 3, ids, ["a", "b", "ü"], META | {"split": split})
        return name

    return written


COMMANDS = (
    ["fit", *ACIL, "--features", "x.h5", "--order-file", "order.json", "--out", "{}"],
    ["evaluate", "x.npz", "--features", "x.h5", "--out", "{}"],
    ["merge", "x.npz", "y.npz", "--out", "{}"],
    ["sums", "--features", "x.h5", "--out", "{}"],
    ["merge-sums", "xs.npz", "ys.npz", "--out", "{}"],
    ["cut", "x.h5", "--shards", "2", "--out", "{}"],
    [
        *("sweep", "xs.npz", "--features", "test.h5", "--method", "acil", "--ridge", "1"),
        *("--orders", "1", "--sessions", "2", "--out", "{}"),
    ],
)


def test_out_that_would_cost_something_is_refused_before_any_work(
    write: Write, refused: Refused
) -> None:
    for name, first in (("x", 0), ("y", 100)):
        write(f"{name}.h5", first)
        assert main(["fit", *ACIL, "--features", f"{name}.h5", "--out", f"{name}.npz"]) == 0
        assert main(["sums", "--features", f"{name}.h5", "--out", f"{name}s.npz"]) == 0
    write("test.h5", 200, split="test")
    Path("order.json").write_text('{"sessions": [[0, 1, 2]]}')
    Path("link").symlink_to("elsewhere")
    Path("folder").mkdir()
    os.mkfifo("pipe")
    Path("hard").hardlink_to("x.h5")
    for command in COMMANDS:
        inputs = [word for word in command if Path(word).is_file()]
        manifests = [str(Path(word).with_suffix(".json")) for word in inputs if ".h5" in word]
        taken = [*inputs, *manifests, *(f"./{word}" for word in inputs)]
        taken += ["hard"] if "x.h5" in inputs else []
        for out, reason in (
            *((name, "is read by this command") for name in taken if command[0] != "cut"),
            ("link", "is a link"),
            *((name, "folder or a device") for name in ("folder", ".", "pipe", "/dev/null")),
            ("x.h5/out", "not a folder"),
        ):
            assert reason in refused(*(word.format(out) for word in command)), out


def test_no_part_of_a_view_is_replaced(write: Write, refused: Refused) -> None:
    """A view reads its shards: they and their manifests are inputs of every command that reads the view."""
    write("x.h5")
    assert main(["fit", *ACIL, "--features", "x.h5", "--out", "m.npz"]) == 0
    assert main(["sums", "--features", "x.h5", "--out", "s.npz"]) == 0
    assert main(["cut", "x.h5", "--shards", "3", "--out", "x.h5"]) == 0
    shards = [f"x.shards/{k}-of-3{suffix}" for k in (1, 2, 3) for suffix in (".h5", ".json")]
    assert sorted(shards) == sorted(str(path) for path in Path("x.shards").iterdir())
    Path("hard").hardlink_to("x.shards/2-of-3.h5")
    for command in (
        ["fit", *ACIL, "--features", "x.h5"],
        ["fit", "--append", "m.npz", "--features", "x.h5"],
        ["evaluate", "m.npz", "--features", "x.h5"],
        ["predict", "m.npz", "--features", "x.h5"],
        ["sums", "--features", "x.h5"],
        [
            *("sweep", "s.npz", "--features", "x.h5", "--method", "acil", "--ridge", "1"),
            *("--orders", "1", "--sessions", "2"),
        ],
        ["cut", "x.h5", "--shards", "2"],
    ):
        for out in ("x.json", *shards, "./x.shards/1-of-3.h5", "x.shards/../x.json", "hard"):
            refused(*command, "--out", out)
        said = refused(*command, "--out", shards[0])
        assert "1-of-3.h5 is read by this command too, as part of x.h5" in said
    # a view's manifest lies beside it, whatever the suffix of the view
    assert "3-of-3.json is read" in refused(
        "cut", "x.h5", "--shards", "2", "--out", "x.shards/3-of-3.hdf5"
    )
    assert "is the name of a manifest" in refused(
        "cut", "x.h5", "--shards", "2", "--out", "other.json"
    )
    assert main(["fit", *ACIL, "--features", "x.h5", "--out", "again.npz"]) == 0
    assert Path("again.npz").read_bytes() == Path("m.npz").read_bytes()


def test_a_view_whose_name_its_shards_cannot_take_is_refused_first(
    write: Write, refused: Refused
) -> None:
    """HDF5 would take %b in the name of a shard for a number."""
    write("t %b.h5")
    for out in ("t %b.h5", "new %b.h5", "ü.h5", os.fsdecode(b"\xff.h5")):
        said = refused("cut", "t %b.h5", "--shards", "2", "--out", out)
        assert "the name of a view is letters without accents, digits" in said
    assert main(["cut", "t %b.h5", "--shards", "2", "--out", "t.h5"]) == 0
    assert store.read("t.h5").ids.tolist() == store.read("t %b.h5").ids.tolist()


def test_a_part_of_a_file_that_was_fitted_is_refused(write: Write, refused: Refused) -> None:
    """Neither its features nor its hash are those of the whole; its ids are."""
    write("whole.h5")
    assert main(["fit", *ACIL, "--features", "whole.h5", "--out", "whole.npz"]) == 0
    assert main(["cut", "whole.h5", "--shards", "2", "--out", "view.h5"]) == 0
    part = "view.shards/2-of-2.h5"
    assert main(["fit", *ACIL, "--features", part, "--out", "part.npz"]) == 0
    for command in (
        ["fit", "--append", "whole.npz", "--features", part, "--out", "c.npz"],
        ["fit", "--append", "part.npz", "--features", "whole.h5", "--out", "c.npz"],
        ["fit", *ACIL, "--features", "whole.h5", part, "--out", "c.npz"],
        ["merge", "whole.npz", "part.npz", "--out", "c.npz"],
        ["evaluate", "whole.npz", "--features", "whole.h5", part, "--out", "c.json"],
    ):
        said = refused(*command)
        assert "6 of its samples would count twice (first: '10' of toy, train)" in said, command


def append(name: str, out: str = "model.npz") -> list[str]:
    return ["fit", "--append", "model.npz", "--features", name, "--out", out]


def test_two_processes_that_append_to_one_model_lose_nothing(write: Write) -> None:
    """Both start while the model's lock is held, so that neither is done before the other begins."""
    write("0.h5")
    assert main(["fit", *ACIL, "--features", "0.h5", "--out", "model.npz"]) == 0
    files = [write(f"{i}.h5", 100 * i) for i in (1, 2)]
    environment = {"PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"}
    with locks.locked(Path(".model.npz.lock")):
        started = [
            subprocess.Popen(
                [sys.executable, "-m", "sparcl", *append(name)],
                env=environment,
                stderr=subprocess.PIPE,
                text=True,
            )
            for name in files
        ]
        for process in started:
            assert process.stderr is not None
            assert "waiting" in process.stderr.readline()
    assert [process.wait() for process in started] == [0, 0]
    for process in started:
        assert process.stderr is not None
        process.stderr.close()
    model = Model.load("model.npz")
    assert model.learner.session == 3 and len(model.counted.names) == 36
    assert not Path(".model.npz.lock").exists()


def test_what_the_machine_cannot_do_is_a_message(write: Write, refused: Refused) -> None:
    write("1.h5")
    wide = ["--method", "linear-relu", "--set", "width=1000000000", "--set", "ridge=1"]
    said = refused("fit", *wide, "--features", "1.h5", "--out", "c.npz")
    assert "GiB of memory, and this machine has" in said
    Path("order.json").write_text("[" * 200_000)
    order = ["--order-file", "order.json", "--features", "1.h5", "--out", "c.npz"]
    assert "order.json" in refused("fit", *ACIL, *order)
    deep = ["--set", f"ridge={'[' * 100_000}", "--features", "1.h5", "--out", "c.npz"]
    assert "ridge = '[[[" in refused("fit", "--method", "acil", *deep)


def test_integers_that_no_array_holds_are_a_message(write: Write, refused: Refused) -> None:
    write("1.h5")
    features = ["--features", "1.h5", "--out", "c.npz"]
    for digits in (30, 400, 5000):
        for method, name, bound in (
            ("ranpac", "seed", "it must be an integer of at least 0 and below 2^63"),
            ("ranpac", "width", "it must be an integer of at least 1 and below 2^63"),
            ("sparcl", "ridges", "it must be a list"),
            ("gacl", "ridge", "it must be a finite number above 0"),
        ):
            if (digits, name) != (30, "ridge"):  # 10^30 is a large number, and one
                value = f"{name}={'1' * digits}"
                said = refused("fit", "--method", method, "--set", value, *features)
                assert f"{name} = " in said and (bound in said or digits == 5000)
        Path("order.json").write_text(f'{{"sessions": [[{"1" * digits}]]}}')
        for command in (["fit", *ACIL], ["sums"]):
            said = refused(*command, "--order-file", "order.json", *features)
            assert "order.json: not a class order" in said or digits == 5000
    for method in methods.names():
        for name in methods.hyperparameters(method):
            for value in (10**400, -(10**400), 2**64):
                with suppress(SparclError):
                    sparcl.build(method, **{name: value})


def test_a_path_that_is_no_utf8(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    name = os.fsdecode(b"x\xff")
    write(f"{name}.h5")
    np.save(f"{name}.npy", np.eye(6, 4, dtype=np.float32))
    np.save("y.npy", np.arange(6) % 2)
    assert main(["fit", *ACIL, "--features", f"{name}.h5", "--out", f"{name}.npz"]) == 0
    files = ["--features", f"{name}.h5", f"{name}.npy"]
    assert main(["predict", f"{name}.npz", *files, "--out", "p.csv"]) == 0
    table = Path("p.csv").read_text(encoding="utf-8").splitlines()
    assert [row.split(",")[0] for row in table[1:]] == ['"x\\udcff.h5"'] * 12 + [
        '"x\\udcff.npy"'
    ] * 6
    arrays = ["--features", f"{name}.npy", "--labels", "y.npy", "--out", "own/net"]
    assert main(["import", *arrays]) == 0
    source = store.header("own/net/train.h5").meta["extraction"]["imported"]
    assert source["features"] == [f"{name}.npy"]
    said = capsys.readouterr()
    assert said.err == "" and "x\\udcff.npz: acil, 1 session" in said.out


NASTY = "\x1b]0;gone\x07\x1b[2Ka\nInputError: forged\r\u202e"


def test_no_name_steers_the_terminal(
    write: Write, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Class names, data sets, members, headers and paths hold an escape sequence and a line break."""
    rows = np.eye(12, 4, dtype=np.float32) + 1
    names = ["a", NASTY, "c"]
    meta = META | {"dataset": NASTY}
    store.write("x.h5", rows, np.arange(12) % 3, [str(i) for i in range(12)], names, meta)
    store.write(
        *("test.h5", rows[:6] * 2, np.arange(6) % 2, [str(i) for i in range(6)], names),
        meta | {"split": "test"},
    )
    np.savez("members.npz", **{NASTY.replace("\r", ""): rows})
    np.save("f.npy", rows)
    np.save("l.npy", np.array([NASTY, *"bcdefghijkl"]))
    Path("h.csv").write_text(f'"{NASTY}",b\n1,2\n', encoding="utf-8")
    shutil.copy("x.h5", NASTY)
    fit = ["fit", *ACIL, "--features", "x.h5"]
    assert main([*fit, "--out", "m.npz"]) == 0
    assert main(["sums", "--features", "x.h5", "--out", "s.npz"]) == 0
    sweep = ["sweep", "s.npz", "--method", "acil", "--ridge", "1", "--orders", "1"]
    for command in (
        [*fit, "--out", f"{NASTY}.npz"],
        ["fit", *ACIL, "--features", NASTY, "--out", "c.npz"],
        ["fit", "--append", "m.npz", "--features", "x.h5", "--out", "c.npz"],
        ["inspect", "m.npz"],
        ["inspect", "members.npz"],
        ["predict", "m.npz", "--features", "members.npz", "--out", "c.csv"],
        [*sweep, "--sessions", "2", "--features", "test.h5"],
        ["import", "--features", "f.npy", "--labels", "l.npy", "--out", "own/net"],
        ["import", "--features", "h.csv", "--labels", "l.npy", "--out", "own/net"],
        ["fit", "--method", NASTY, "--features", "x.h5", "--out", "c.npz"],
        ["merge", NASTY, "m.npz", "--out", "c.npz"],
        ["cut", "x.h5", "--shards", "2", "--out", f"{NASTY}.h5"],
        ["evaluate", "m.npz", "--features", "test.h5", NASTY],
        [f"--{NASTY}"],
        ["cut", "x.h5", "--shards", NASTY, "--out", "v.h5"],
    ):
        capsys.readouterr()
        with suppress(SystemExit):
            main(command)
        said = "".join(capsys.readouterr())
        assert said and not {*said} & {*"\x1b\x07\r\u202e"}, command
        assert not any(line.startswith("InputError: forged") for line in said.splitlines()), command
    # a warning, such as that another process works on a file of this name
    made = logging.LogRecord("sparcl", logging.WARNING, "", 0, "%s is locked", (NASTY,), None)
    assert logging.lastResort is not None
    assert logging.lastResort.format(made).startswith(r"\x1b]0;gone\x07\x1b[2Ka\nInputError")
