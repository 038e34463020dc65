"""LAMDA-PILOT: what is exported is read by its rules, and what its trainer writes is read here."""

import ast
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from sparcl.base.errors import FeatureFileError, InputError
from sparcl.features import store
from study.exchange import features, pilot
from study.exchange.__main__ import main
from study.exchange.outcome import Outcome

Write = Callable[..., Path]
CURVE = [98.5, 93.33, 90.0, 88.21]


def stream_there(args: dict, natural: list[int]) -> list[list[int]]:
    """Cut the classes into sessions as its data manager does; `natural` is the data set's own order."""
    if args["shuffle"]:
        np.random.seed(args["seed"][0])
        order = np.random.permutation(len(natural)).tolist()
    else:
        order = natural
    increments = [args["init_cls"]]
    while sum(increments) + args["increment"] < len(order):
        increments.append(args["increment"])
    if len(order) - sum(increments) > 0:
        increments.append(len(order) - sum(increments))
    ends = np.cumsum(increments)
    return [order[end - n : end] for n, end in zip(increments, ends, strict=True)]


def written(record: Path, folder: Path) -> tuple[dict, list[str]]:
    assert main(["export", "--to", "pilot", "--records", str(record), "--out", str(folder)]) == 0
    (exps,), (log,) = folder.rglob("*.json"), folder.rglob("*.log")
    return json.loads(exps.read_text()), log.read_text().splitlines()


@pytest.mark.parametrize("sizes", [(4, 2, 2, 2), (5, 5), (4, 3, 3), (4, 4, 2), (10,)])
def test_its_data_manager_makes_the_same_stream(
    record: Write, tmp_path: Path, sizes: tuple[int, ...]
) -> None:
    path = record(sizes=sizes)
    args, _ = written(path, tmp_path / "out")
    assert args["shuffle"] and "class_order" not in args
    assert stream_there(args, list(range(10))) == Outcome.read(path).sessions


def test_an_order_of_another_rule_is_given(record: Write, tmp_path: Path) -> None:
    path = record(classes=[3, 1, 0, 2, 9, 8, 7, 6, 5, 4])
    args, _ = written(path, tmp_path / "out")
    assert not args["shuffle"]
    assert stream_there(args, args["class_order"]) == Outcome.read(path).sessions


def test_the_log_lies_and_reads_as_its_trainer_writes_it(record: Write, tmp_path: Path) -> None:
    path = record()
    args, lines = written(path, tmp_path / "out")
    place = f"logs/acil/cub-50/4/2/{args['prefix']}_1993_net.log"
    assert (tmp_path / "out" / place).is_file()
    outcome = Outcome.read(path)
    curves = [line.partition("CNN top1 curve: ")[2] for line in lines if "top1 curve" in line]
    for t, curve in enumerate(curves):
        assert ast.literal_eval(curve) == np.around(outcome.total[: t + 1], 2).tolist()
    last = ast.literal_eval([x for x in lines if "=> CNN: {" in x][-1].partition("CNN: ")[2])
    assert list(last) == ["total", "00-03", "04-05", "06-07", "08-09"]
    table = np.zeros((4, 4))
    for t, line in enumerate(x for x in lines if "=> CNN: {" in x):
        grouped = ast.literal_eval(line.partition("CNN: ")[2])
        table[t, : t + 1] = [value for key, value in grouped.items() if "-" in key]
    table = table.T
    forgetting = np.mean((np.max(table, axis=1) - table[:, 3])[:3])
    told = [line for line in lines if "Forgetting (CNN)" in line]
    assert float(told[0].rpartition(" ")[2]) == pytest.approx(forgetting, abs=1e-9)


def test_what_is_exported_is_imported_again(record: Write, tmp_path: Path) -> None:
    path = record()
    _, lines = written(path, tmp_path / "out")
    (run,) = pilot.read(Path("a.log"), "\n".join(lines))
    assert (run.method, run.dataset, run.backbone, run.seed) == ("acil", "cub-50", "net", "1993")
    assert run.accuracies == np.around(Outcome.read(path).total, 2).tolist()
    assert run.averaging == "samples"


def test_sessions_that_it_cannot_have_are_refused(
    record: Write, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = record(sizes=(2, 2, 4, 2))
    out = tmp_path / "out"
    assert main(["export", "--to", "pilot", "--records", str(path), "--out", str(out)]) == 2
    assert "[2, 2, 4, 2]" in capsys.readouterr().err and not out.exists()


def test_features_are_images_of_one_row(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    files, expected = [], []
    for split, n in (("train", 12), ("test", 6)):
        meta = {"dataset": "a", "split": split, "backbone": "net", "timm_id": "none"}
        meta |= {"weights_sha256": "0" * 64, "preprocessing": {}}
        rows, labels = rng.standard_normal((n, 5)).astype(np.float16), np.arange(n) % 3
        files.append(tmp_path / f"{split}.h5")
        ids = [f"{split}-{i}" for i in range(n)]
        store.write(files[-1], rows, labels, ids, ["x", "y", "z"], meta)
        expected.append((rows, labels))
    out = tmp_path / "out"
    arguments = ["export", "--to", "pilot", "--features", *map(str, files), "--out", str(out)]
    assert main(arguments) == 0
    with np.load(out / "features.npz", allow_pickle=False) as arrays:
        for split, (rows, labels) in zip(("train", "test"), expected, strict=True):
            image = Image.fromarray(arrays[f"{split}_data"][1])
            assert image.mode == "F" and image.size == (5, 1)
            assert np.array_equal(np.asarray(image)[0], rows[1].astype(np.float32))
            assert np.array_equal(arrays[f"{split}_targets"], labels)
        assert len(np.unique(arrays["train_targets"])) == len(arrays["class_names"])
    with pytest.raises(FeatureFileError, match="train"):
        features.write(files[1], files[0], tmp_path / "b.npz")


# --- logs of its trainer -------------------------------------------------------------------------


def log(
    curve: list[float] | None = None, seed: int = 1993, nme: bool = False, numpy2: bool = False
) -> str:
    """Write what the trainer logs of a run of ten classes, four first, then two a session."""
    args: dict[str, Any] = {"prefix": "reproduce", "dataset": "cifar224", "shuffle": True}
    args |= {"init_cls": 4}
    args |= {"increment": 2, "model_name": "ranpac", "backbone_type": "vit", "seed": seed}
    said = [("trainer.py", f"{key}: {value}") for key, value in args.items()]
    said.append(("data_manager.py", str(list(range(10)))))
    form = "np.float64({})" if numpy2 else "{}"
    for t in range(len(CURVE if curve is None else curve)):
        shown = ", ".join(form.format(x) for x in (CURVE if curve is None else curve)[: t + 1])
        said += [("trainer.py", "All params: 86"), ("ranpac.py", "Learning on 0-4")]
        said += [("trainer.py", f"CNN top1 curve: [{shown}]")]
        said += [("trainer.py", f"NME top1 curve: [{shown}]")] * nme
        said += [("trainer.py", f"CNN top5 curve: [{shown}]\n")]
    said.append(("trainer.py", f"Forgetting (CNN): {form.format(7.25)}"))
    return "".join(f"2024-05-02 10:11:12,345 [{file}] => {text}\n" for file, text in said)


@pytest.mark.parametrize("numpy2", [False, True])
def test_a_log_of_two_runs(numpy2: bool) -> None:
    runs = list(pilot.read(Path("x.log"), log(numpy2=numpy2) + log(seed=1994, numpy2=numpy2)))
    assert [run.seed for run in runs] == ["1993", "1994"]
    assert [run.line for run in runs] == [1, 1 + len(log().splitlines())]
    assert all(run.accuracies == CURVE and run.forgetting == 7.25 for run in runs)


def test_the_nearest_mean_curve_is_a_method_of_its_own() -> None:
    runs = list(pilot.read(Path("x.log"), log(nme=True)))
    assert [run.method for run in runs] == ["ranpac", "ranpac (NME)"]
    assert runs[1].forgetting is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (log().replace("prefix: ", "begin: "), "no run in it"),
        (log([98.5, 93.33]), "2 of 4 sessions"),
        (log([]), "0 of 4 sessions"),
        (re.sub(".*seed: .*\n", "", log()), "states no seed"),
        (re.sub(r".*data_manager.*\n", "", log()), "states no class order"),
        (log().replace("88.21]", "nan]"), "0 of 4 sessions .* a line is damaged"),
        (log().replace("increment: 2", "increment: two"), "states no increment"),
    ],
)
def test_a_damaged_log_is_refused(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said) as refused:
        list(pilot.read(Path("x.log"), text))
    assert "x.log" in str(refused.value)
