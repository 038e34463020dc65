"""mammoth: what is exported is read by its rules, and what its logger writes is read here."""

import ast
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from sparcl.base.errors import InputError
from study.exchange import mammoth
from study.exchange.__main__ import main
from study.exchange.outcome import Outcome

Write = Callable[..., Path]
PATH = Path("data/results/class-il/seq-cub200/ranpac/logs.pyd")


def exported(record: Path, folder: Path) -> tuple[dict, dict]:
    """Export a run; return its line as a dict, and its stream."""
    arguments = ["export", "--to", "mammoth", "--records", str(record)]
    assert main([*arguments, "--dataset", "seq-cub200", "--out", str(folder)]) == 0
    log = folder / "results/class-il/seq-cub200/acil/logs.pyd"
    (line,) = log.read_text(encoding="utf-8").splitlines()
    (stream,) = (folder / "orders").glob("*.json")
    return ast.literal_eval(line), json.loads(stream.read_text(encoding="utf-8"))


def test_its_loaders_make_the_same_stream(record: Write, tmp_path: Path) -> None:
    """Targets become `class_order[targets]`, and a task takes those between its offsets."""
    path = record(sizes=(4, 1, 3, 2))
    _, stream = exported(path, tmp_path / "out")
    targets = np.repeat(np.arange(10), 3)
    renamed, sizes = np.array(stream["class_order"])[targets], stream["n_classes_per_task"]
    tasks = []
    for task in range(len(sizes)):
        first, stop = sum(sizes[:task]), sum(sizes[: task + 1])
        rows = np.flatnonzero((renamed >= first) & (renamed < stop))
        tasks.append({*targets[rows].tolist()})
    assert tasks == [{*part} for part in Outcome.read(path).sessions]


def test_its_numbers_follow_its_rules(record: Write, tmp_path: Path) -> None:
    path = record()
    args, _ = exported(path, tmp_path / "out")
    results = [[args[f"accuracy_{j + 1}_task{t + 1}"] for j in range(t + 1)] for t in range(4)]
    for t, accuracies in enumerate(results):
        assert accuracies == Outcome.read(path).matrix[t, : t + 1].tolist()
        assert args[f"accmean_task{t + 1}"] == pytest.approx(np.mean(accuracies), abs=1e-12)
    backward = np.mean([results[-1][i] - results[i][i] for i in range(3)])
    filled = np.array([row + [0.0] * (4 - len(row)) for row in results])
    forgetting = np.mean([np.max(filled, axis=0)[i] - results[-1][i] for i in range(3)])
    assert args["backward_transfer"] == pytest.approx(backward, abs=1e-12)
    assert args["forgetting"] == pytest.approx(forgetting, abs=1e-12)


def test_what_is_exported_is_imported_again(record: Write, tmp_path: Path) -> None:
    args, _ = exported(record(), tmp_path / "out")
    (run,) = mammoth.read(PATH, f"{args}\n")
    assert (run.method, run.dataset, run.seed) == ("acil", "seq-cub200", "1993")
    assert run.accuracies == [args[f"accmean_task{t}"] for t in range(1, 5)]
    assert run.averaging == "tasks" and run.forgetting == args["forgetting"]


def line(**changes: object) -> str:
    """Write a line as its logger does, with an argument that is no literal."""
    args = {"seed": 7, "class_order": "ORDER", "device": "DEVICE", "stop_after": None}
    args |= {"accmean_task1": 91.25, "accmean_task2": 80.5, "forgetting": 3.5} | changes
    text = str({key: value for key, value in args.items() if value != "absent"})
    return text.replace("'ORDER'", "array([1, 0])").replace("'DEVICE'", "device(type='cuda')")


def test_arguments_of_any_kind_are_no_hindrance_and_never_run() -> None:
    text = line().replace("80.5", "np.float64(80.5)").replace("7,", "__import__('os').abort(),")
    (run,) = mammoth.read(PATH, text + "\n\n")
    assert run.accuracies == [91.25, 80.5]
    assert (run.method, run.dataset) == ("ranpac", "seq-cub200")  # its folders, in older versions
    assert run.seed == "__import__('os').abort()"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "empty"),
        ("not a dict", "not the dict of a run"),
        ("[1, 2]", "not the dict of a run"),
        (line(accmean_task1="absent"), "one for each task"),
        (line(accmean_task2=180.5), "no number from 0 to 100"),
        (line(accmean_task2=None), "no number"),
        (line(stop_after=2), "stopped on purpose"),
        (line(forgetting="nan"), "no number"),
    ],
)
def test_a_damaged_file_is_refused(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said) as refused:
        list(mammoth.read(PATH, text))
    assert "logs.pyd" in str(refused.value)


def test_results_with_known_tasks_are_refused() -> None:
    with pytest.raises(InputError, match="task-il"):
        list(mammoth.read(Path("results/task-il/a/b/logs.pyd"), line()))
