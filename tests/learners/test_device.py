"""Learners on another device: the outcomes and states of the CPU, from the code that runs on a card."""

import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from reference.streams import PROBE, STREAM, Session
from torch.utils._python_dispatch import TorchDispatchMode

from sparcl import methods
from sparcl.algebra import backend, capacity, tensors
from sparcl.algebra.sums import Sums
from sparcl.base.errors import InputError
from sparcl.base.rows import unit
from sparcl.base.state import nodes
from sparcl.features import store
from sparcl.learners import composed
from sparcl.learners.composed import Composed
from sparcl.learners.learner import Learner
from sparcl.learners.summed import Summed
from sparcl.parts import catalogue
from sparcl.parts.batch import Solutions
from sparcl.parts.heads.ridge import MANY

ROOT = Path(__file__).resolve().parents[2]
ON_TORCH = [name for name in methods.names() if not methods.host_only(name)]

# one of each part: maps, heads, cores, policies, rules, and what the recursive path takes
COMPOSITIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "several ridges and cores": ("sparcl", {"ridge": [0.1, 1.0], "tau": [0.4, 0.8]}),
    "free": ("sparcl", {"ridge": 0.1, "tau": 0.6, "reappearing": "free", "refresh": 1}),
    "condition": ("sparcl", {"ridge": 0.1, "tau": 0.6, "condition_limit": 2.0}),
    "trust region": ("sparcl", {"ridge": 0.1, "tau": 0.6, "trust_degrees": 60.0}),
    "projected": ("sparcl", {"ridge": 0.1, "tau": 0.6, "project": True}),
    "recursive": ("sparcl", {"ridge": 0.1, "tau": 0.6, "refresh": 0, "update": "woodbury"}),
    "linear": ("sparcl", {"ridge": 0.1, "tau": 0.4, "expansion": "linear", "m": 3}),
    "topk": ("sparcl-plus-1", {"width": 40, "expansion": "topk", "ridge": "all"}),
    "rbf": ("sparcl-plus-1", {"width": 40, "expansion": "rbf"}),
    "many ridges": ("acil", {"ridge": [0.05 * i for i in range(1, 26)]}),
    "dual": ("ranpac", {"width": 60}),
    "cross-validated": ("flycl", {"width": 60, "ridges": [0.01, 1.0, 100.0]}),
    "sigmoid": ("foal", {"width": 30}),
    "balanced": ("air", {"width": 30, "ridge": "newest"}),
    "kernel": ("gkeal", {"width": 20, "ridge": 0.1}),
    "frozen covariance": ("slda", {"covariance": "frozen"}),
    "pseudo-inverse": ("klda", {"width": 20}),
    "oracle": ("randumb", {"width": 20, "embedding": "relu"}),
    "folds": ("layup", {"blocks": 2, "ridges": [0.01, 1.0]}),
    "ledoit-wolf": ("compose", {"head": "ledoit-wolf", "map": {"random": {"width": 20}}}),
    "both heads": ("sparcl-plus-2", {"ridge": "gaussian"}),
    "both heads chosen": ("ridge-lda", {"map": {"random": {"width": 30, "activation": "gelu"}}}),
    "power": ("compose", {"transform": "power", "core": {"spectral": {"k": 3}}}),
    "own covariance": ("sparcl-plus", {"k": 4, "rank": 3}),
    "own covariance by energy": ("sparcl-plus", {"tau": 0.6, "refresh": 2}),
    "shared covariance alone": ("sparcl-plus", {"own": 0, "weight": 0}),
}


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tensors.Tensors, "tile", 7)


def fitted(name: str, hyper: dict[str, Any], sessions: list[Session], device: str) -> Learner:
    learner = methods.build(name, device=device, **hyper)
    for Phi, y in sessions:
        learner.fit_session(Phi, y)
    return learner


def assert_alike(found: Learner, expected: Learner, tolerance: float = 1e-8) -> None:
    """Compare states member by member; eigenvectors but for their signs."""
    a, b = found.state(), expected.state()
    assert a.keys() == b.keys()
    for key in a:
        if isinstance(a[key], np.ndarray):
            assert a[key].dtype == b[key].dtype and a[key].shape == b[key].shape
            signless = any(name in key for name in ("U_core", "basis", "core/"))
            x, y = (np.abs(v) if signless else v for v in (a[key], b[key]))
            scale = np.abs(y).max(initial=1e-300)
            np.testing.assert_allclose(x, y, rtol=0, atol=tolerance * scale, err_msg=key)


@pytest.mark.parametrize("case", COMPOSITIONS)
def test_states_and_scores_are_those_of_the_cpu(case: str) -> None:
    name, hyper = COMPOSITIONS[case]
    ours = fitted(name, hyper, STREAM, "torch-cpu")
    theirs = fitted(name, hyper, STREAM, "cpu")
    scores = theirs.logits(PROBE)
    np.testing.assert_allclose(ours.logits(PROBE), scores, rtol=0, atol=1e-8 * np.abs(scores).max())
    best = np.sort(scores, axis=1)
    apart = best[:, -1] - best[:, -2] > 1e-7 * np.abs(scores).max()  # rounding settles no tie
    assert np.array_equal(ours.predict(PROBE)[apart], theirs.predict(PROBE)[apart])
    assert_alike(ours, theirs)
    sums = [node for node in nodes(ours) if isinstance(node, Sums)]
    assert sums and {type(node.R).__module__ for node in sums} == {"torch"}
    assert ours.report().keys() == theirs.report().keys()


def test_every_method_composed_of_parts_is_tried() -> None:
    tried = {name for name, _ in COMPOSITIONS.values()}
    # the other ones are compositions of the same parts
    assert {"linear-relu", "acil-rhl", "gacl", "real-ffb", "sparcl-alg1"} >= set(ON_TORCH) - tried


def test_a_state_goes_from_one_device_to_the_other(tmp_path: Path) -> None:
    hyper = {"ridge": "gaussian", "tau": 0.6, "refresh": 1}
    first = fitted("sparcl", hyper, STREAM[:2], "torch-cpu")
    first.save(tmp_path / "model.npz")
    here = Composed.load(tmp_path / "model.npz")
    solved = [node for node in nodes(here) if isinstance(node, Solutions)]
    assert {type(W) for solutions in solved for W in solutions.weights} == {np.ndarray}
    there = Composed.load(tmp_path / "model.npz")
    there.move(backend.named("torch-cpu"))
    for learner in (first, here, there):
        for Phi, y in STREAM[2:]:
            learner.fit_session(Phi, y)
    assert_alike(here, first)
    assert_alike(there, first)
    expected = fitted("sparcl", hyper, STREAM, "cpu")
    assert_alike(there, expected)
    there.move(backend.named("cpu"))
    np.testing.assert_allclose(there.logits(PROBE), expected.logits(PROBE), atol=1e-9)


@pytest.mark.parametrize(
    ("name", "hyper"),
    [("ranpac", {"width": 50, "ridge": 0.5}), ("sparcl-plus", {"k": 5, "refresh": 0})],
)
def test_parts_of_a_session_and_sums_of_another_learner(name: str, hyper: dict[str, Any]) -> None:
    expected = fitted(name, hyper, STREAM, "cpu")
    learner = methods.build(name, device="torch-cpu", **hyper)
    assert isinstance(learner, Summed)
    for Phi, y in STREAM:
        other = methods.build(name, **hyper)
        other.accumulate(Phi[::2], y[::2])
        learner.accumulate(Phi[1::2], y[1::2])
        learner.merge(other)
        learner.solve()
    assert_alike(learner, expected)


def test_samples_are_forgotten_as_on_the_cpu() -> None:
    Phi, y = STREAM[0][0][:10], STREAM[0][1][:10]
    for name, hyper in {"ranpac": {"width": 50, "ridge": 0.5}, "slda": {}, "sparcl": {}}.items():
        pair = [fitted(name, hyper, STREAM, device) for device in ("torch-cpu", "cpu")]
        told = [learner.forget(Phi, y, refit_from_sums=name == "sparcl") for learner in pair]
        assert pair[0].on.name == "torch-cpu" and told[0].rows == told[1].rows
        assert np.abs(pair[0].logits(PROBE) - pair[1].logits(PROBE)).max() < 1e-10


HEADS: dict[str, tuple[str, dict[str, Any]]] = {
    head: ("compose", {"head": head, "ridge": 0.1, "map": {"random": {"width": 20}}})
    for head in catalogue.load()["head"]
}
IN_FLOAT32 = HEADS | {
    case: (name, hyper)
    for case, (name, hyper) in COMPOSITIONS.items()
    if "dtype" in methods.hyperparameters(name)
}


@pytest.mark.parametrize("case", IN_FLOAT32)
def test_float32_has_the_states_of_the_cpu_and_nearly_the_scores_of_float64(case: str) -> None:
    name, hyper = IN_FLOAT32[case]
    ours, alike = (
        fitted(name, hyper | {"dtype": "float32"}, STREAM, device)
        for device in ("torch-cpu", "cpu")
    )
    wide = fitted(name, hyper, STREAM, "cpu")
    a, b = ours.state(), alike.state()
    assert a.keys() == b.keys()
    for key in a:
        if isinstance(a[key], np.ndarray):
            assert (a[key].dtype, a[key].shape) == (b[key].dtype, b[key].shape), key
    scores = wide.logits(PROBE)
    np.testing.assert_allclose(ours.logits(PROBE), scores, rtol=0, atol=2e-3 * np.abs(scores).max())


def test_float32_reports_the_residual_of_its_refinement() -> None:
    """Of many ridges too: one decomposition for all would leave none to look at; and of a frozen covariance."""
    frozen = {"head": {"shrunk-covariance": {"covariance": "frozen"}}, "ridge": 1e-3}
    for name, hyper in (
        ("ranpac", {"width": 50, "ridge": 0.01}),
        ("acil", {"ridge": np.geomspace(0.01, 1.0, MANY).tolist()}),
        ("compose", frozen),
    ):
        ours = fitted(name, hyper | {"dtype": "float32"}, STREAM, "torch-cpu")
        wide = fitted(name, hyper, STREAM, "cpu")
        assert 0 < ours.report()["residual"] <= 1.2e-7
        assert "residual" not in wide.report()
        for found, expected in zip(ours.solutions.weights, wide.solutions.weights, strict=True):
            np.testing.assert_allclose(found.numpy(), expected, atol=1e-3 * np.abs(expected).max())


def test_float32_changes_at_most_two_of_ten_thousand_predictions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tensors.Tensors, "tile", 512)
    folder = ROOT / "data/features/cifar-100-150/efficientnet-lite0"
    train, test = (store.read(folder / f"{split}.h5") for split in ("train", "test"))
    Phi = unit(train.features)
    rows = np.concatenate([unit(test.features), Phi[:5000]])
    taken = np.arange(len(Phi)) % 3 == 0  # of every class
    for name, hyper in (("ranpac", {"width": 500}), ("acil", {"ridge": 2e-4})):
        predicted, reports = [], []
        for device, dtype in (("cpu", "float64"), ("torch-cpu", "float32")):
            sessions = [(Phi[taken], train.labels[taken])]
            learner = fitted(name, hyper | {"dtype": dtype}, sessions, device)
            predicted.append(learner.predict(rows))
            reports.append(learner.report())
        assert len(rows) == 10_000 and np.count_nonzero(predicted[0] != predicted[1]) <= 2
        assert 0 < reports[1]["residual"] <= 1.2e-7 and "residual" not in reports[0]


def test_a_method_and_a_part_that_cannot_say_why() -> None:
    steps = [
        *((name, {}, "its (steps|draws) ") for name in methods.names() if methods.host_only(name)),
        ("compose", {"row_weights": "huber"}, "row weights, and"),
        ("compose", {"core": {"beside-scatter": {"tau": 0.9}}}, "row weights, and"),
        ("sparcl-plus", {"filtered": True}, "row weights"),
    ]
    for name, hyper, why in steps:
        text = f"Method {name!r}: .* cannot run on torch-cpu: {why}"
        with pytest.raises(InputError, match=text):
            methods.build(name, device="torch-cpu", **hyper)


def test_what_does_not_fit_is_refused_before_work_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tensors.Tensors, "free", lambda self: 400_000)
    learner = methods.build("ranpac", device="torch-cpu", width=1000, ridge=1.0)
    with pytest.raises(InputError, match=r"1,000 coordinates need .* at most (\d+) fit") as error:
        learner.fit_session(*STREAM[0])
    most = int(str(error.value).split("at most ")[1].split(" ")[0])
    learner = methods.build("ranpac", device="torch-cpu", width=most, ridge=1.0)
    learner.fit_session(*STREAM[0])
    with pytest.raises(InputError, match=f"at most {most} fit"):
        methods.build("ranpac", device="torch-cpu", width=most + 1, ridge=1.0).fit_session(
            *STREAM[0]
        )


# --- memory ---------------------------------------------------------------------------------------


class Peak(TorchDispatchMode):
    """Bytes of all tensors that live at once, from the first operation on."""

    def __init__(self) -> None:
        super().__init__()
        self.live: dict[int, int] = {}
        self.most = 0

    def __torch_dispatch__(self, function, types, arguments=(), options=None):
        result = function(*arguments, **(options or {}))
        for tensor in result if isinstance(result, (tuple, list)) else (result,):
            if isinstance(tensor, torch.Tensor):
                storage = tensor.untyped_storage()
                place = storage._cdata
                if place not in self.live:
                    self.live[place] = storage.nbytes()
                    weakref.finalize(storage, self.live.pop, place, None)
        self.most = max(self.most, sum(self.live.values()))
        return result


@pytest.mark.parametrize(
    ("name", "hyper"),
    [
        ("ranpac", {"ridge": 1.0}),
        ("ranpac", {"ridge": 1.0, "dtype": "float32"}),
        ("ranpac", {"dtype": "float32"}),
        ("flycl", {"ridges": [1.0, 100.0], "dtype": "float32"}),
    ],
)
def test_a_session_takes_no_second_matrix_and_no_more_than_was_asked_for(
    name: str, hyper: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    M, tile, needs = 600, 32, []
    monkeypatch.setattr(tensors.Tensors, "tile", tile)
    monkeypatch.setattr(capacity, "TILE", tile)
    monkeypatch.setattr(composed, "check_fit", lambda on, need, width: needs.append(need(width)))
    learner = methods.build(name, device="torch-cpu", width=M, **hyper)
    peak = Peak()
    with peak:
        learner.fit_session(*STREAM[0])
    size = 4 if "dtype" in hyper else 8
    assert M**2 * size < peak.most <= needs[0]
    assert needs[0] < 2 * M**2 * size  # an estimate that is generous would refuse what fits
