"""A saved model or sums that somebody has changed is refused, not believed."""

import contextlib
from pathlib import Path
from typing import Any

import headers
import numpy as np
import pytest
from commands import main
from toy_files import META

from sparcl.app.model import Model
from sparcl.base.errors import InputError
from sparcl.base.npz import SEAL, read_npz, write_npz
from sparcl.features import store
from study.sums.sums_file import SumsFile

State = dict[str, Any]


def first(state: State, kind: str) -> str:
    return next(name for name, array in state.items() if array.dtype.kind == kind and array.size)


def not_finite(state: State) -> None:
    for name, array in state.items():
        if array.dtype.kind == "f" and array.size:
            state[name] = np.full_like(array, np.nan)


def one_more(state: State) -> None:
    state["more"] = np.zeros(10)


def one_less(state: State) -> None:
    del state[first(state, "f")]


def samples_out_of_order(state: State) -> None:
    name = first(state, "S")
    state[name] = state[name][::-1]


def samples_twice(state: State) -> None:
    name = first(state, "S")
    state[name] = np.full_like(state[name], b"x")


def card_that_is_nested_too_deep(state: State) -> None:
    state["card"] = np.array("[" * 100_000)


def names_too_few(state: State) -> None:
    state["card"] = np.array(str(state["card"]).replace('["a", "b"]', '["a"]'))


CHANGES = [
    *(not_finite, one_more, one_less, samples_out_of_order, samples_twice),
    *(card_that_is_nested_too_deep, names_too_few),
]


@pytest.fixture(params=["model", "sums"])
def use(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> list[str]:
    """Return the command that reads the file saved.npz, which is made."""
    kind = request.param
    monkeypatch.chdir(tmp_path)
    for seed, split in enumerate(("train", "test")):
        Phi = np.random.default_rng(seed).standard_normal((40, 3)).astype(np.float32)
        ids = [f"{split} {i}" for i in range(len(Phi))]
        store.write(f"{split}.h5", Phi, np.arange(40) % 2, ids, ["a", "b"], META | {"split": split})
    make = {
        "model": ["fit", "--method", "acil", "--set", "ridge=0.1"],
        "sums": ["sums"],
    }[kind]
    command = {
        "model": ["evaluate", "saved.npz", "--features", "test.h5"],
        "sums": [
            *("sweep", "saved.npz", "--features", "test.h5", "--method", "acil", "--ridge", "1"),
            *("--orders", "1", "--sessions", "2"),
        ],
    }[kind]
    assert main([*make, "--features", "train.h5", "--out", "saved.npz"]) == 0
    write_npz("saved.npz", saved())
    assert main(command) == 0  # as it was
    return command


def saved() -> State:
    return read_npz("saved.npz")


def test_a_value_that_was_changed_by_hand_is_refused(
    use: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Each array and each text by one value, finite and of its shape, and packed again."""
    with np.load("saved.npz") as file:
        packed = dict(file)
    for name in packed.keys() - {SEAL}:
        array = packed[name].copy()
        if not array.size:
            continue
        array[()] = np.char.replace(array, "a", "e") if array.dtype.kind in "SU" else array
        if array.dtype.kind not in "SU":
            array.flat[-1] += 1
        np.savez("saved.npz", **packed | {name: array})
        capsys.readouterr()
        assert main(use) == 2, name
        said = capsys.readouterr().err
        assert f"saved.npz: not as this project wrote it: member {name!r}" in said
        assert "Make the file again" in said


def test_a_saved_file_that_was_changed_is_refused(
    use: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    whole = saved()
    for change in CHANGES:
        state = dict(whole)
        change(state)
        write_npz("saved.npz", state)  # behind a seal that fits
        capsys.readouterr()
        assert main(use) == 2, change
        assert "saved.npz: " in capsys.readouterr().err


def test_every_member_has_its_shape(use: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    state, seen = saved(), 0
    for name, array in state.items():
        if (
            not array.size or array.dtype.kind in "SU"
        ):  # an empty core has no effect; of ids see above
            continue
        for other in (array[..., :-1], array[:1], array[None]) if array.ndim else (array[None],):
            if other.shape == array.shape:
                continue
            write_npz("saved.npz", state | {name: other})
            capsys.readouterr()
            assert main(use) == 2, (name, other.shape)
            assert "saved.npz: " in capsys.readouterr().err
            seen += 1
    assert seen > 8


# what a file may say without contradiction: a name, or a fact about the features
FREE = {
    "class_names",
    "fitted",
    "parts",
    "backbone",
    "timm_id",
    "dataset",
    "split",
    "dtype",
    "arrays",
}
FREE |= {"preprocessing", "precision", "weights_sha256", "split_sha256", "block_indices"}


def test_each_claim_of_a_card_has_its_type_and_its_member(use: list[str]) -> None:
    state, refused = saved(), 0
    load = {"evaluate": Model.load, "sweep": SumsFile.load}[use[0]]
    for path, value, text in headers.changed(str(state["card"])):
        write_npz("saved.npz", state | {"card": np.array(text)})
        with contextlib.suppress(InputError):
            load("saved.npz")
            assert not FREE.isdisjoint(path), (path, value)
            continue
        refused += 1
    assert refused > 60


def test_a_list_of_more_members_than_there_are_is_no_list(use: list[str]) -> None:
    state, refused = saved(), 0
    load = {"evaluate": Model.load, "sweep": SumsFile.load}[use[0]]
    for name in [name for name in state if name.split("/")[-1] == "header"]:
        for path, value, text in headers.changed(str(state[name])):
            if path[0] == "lists" or "D" in path:
                write_npz("saved.npz", state | {name: np.array(text)})
                with pytest.raises(InputError, match=r"saved\.npz: not a model"):
                    load("saved.npz")
                refused += value == headers.MANY
    assert refused > 1 or use[0] == "sweep"
