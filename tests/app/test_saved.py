"""A saved model or sums that somebody has changed is refused, not believed."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import headers
import numpy as np
import pytest
from commands import Refused, main
from toy_files import META

from sparcl.app.model import Model
from sparcl.base.errors import InputError
from sparcl.base.npz import SEAL, read_npz, write_npz
from sparcl.features import store
from study.sums.sums_file import SumsFile

State = dict[str, Any]


def changes(state: State) -> Iterator[State]:
    """Yield what somebody may make of the members: other values, other samples, other headers."""
    floats = [name for name, array in state.items() if array.dtype.kind == "f" and array.size]
    (samples,) = (name for name, array in state.items() if array.dtype.kind == "S")
    yield state | {name: np.full_like(state[name], np.nan) for name in floats}
    yield state | {"more": np.zeros(10)}
    yield {name: array for name, array in state.items() if name != floats[0]}
    yield state | {samples: state[samples][::-1]}
    yield state | {samples: np.full_like(state[samples], b"x")}
    yield state | {"card": np.array("[" * 100_000)}
    yield state | {"card": np.array(str(state["card"]).replace('["a", "b"]', '["a"]'))}


MAKE = {
    "model": ["fit", "--method", "acil", "--set", "ridge=0.1"],
    "sums": ["sums"],
}
READ = {
    "model": ["evaluate", "saved.npz", "--features", "test.h5"],
    "sums": [
        *("sweep", "saved.npz", "--features", "test.h5", "--method", "acil", "--ridge", "1"),
        *("--orders", "1", "--sessions", "2"),
    ],
}


@pytest.fixture(params=["model", "sums"])
def use(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> list[str]:
    """Return the command that reads the file saved.npz, which is made."""
    monkeypatch.chdir(tmp_path)
    for seed, split in enumerate(("train", "test")):
        Phi = np.random.default_rng(seed).standard_normal((40, 3)).astype(np.float32)
        ids = [f"{split} {i}" for i in range(len(Phi))]
        store.write(f"{split}.h5", Phi, np.arange(40) % 2, ids, ["a", "b"], META | {"split": split})
    make, command = MAKE[request.param], READ[request.param]
    assert main([*make, "--features", "train.h5", "--out", "saved.npz"]) == 0
    write_npz("saved.npz", saved())
    assert main(command) == 0  # as it was
    return command


def saved() -> State:
    return read_npz("saved.npz")


def test_a_value_that_was_changed_by_hand_is_refused(use: list[str], refused: Refused) -> None:
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
        said = refused(*use)
        assert f"saved.npz: not as this project wrote it: member {name!r}" in said
        assert "Make the file again" in said


def test_a_saved_file_that_was_changed_is_refused(use: list[str], refused: Refused) -> None:
    for number, state in enumerate([*changes(saved())]):
        write_npz("saved.npz", state)  # behind a seal that fits
        assert "saved.npz: " in refused(*use), number


def test_every_member_has_its_shape(use: list[str], refused: Refused) -> None:
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
            assert "saved.npz: " in refused(*use), (name, other.shape)
            seen += 1
    assert seen > 8


# what a file may say without contradiction: a name, or a fact about the features
FREE = {
    *("class_names", "parts", "backbone", "timm_id", "dataset", "split", "dtype", "arrays"),
    *("preprocessing", "precision", "weights_sha256", "split_sha256", "block_indices"),
}


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
