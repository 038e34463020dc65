"""What a learner keeps: a plain mapping, enough to go on to the bit, and no sample in it."""

import contextlib
import functools
import inspect
import json
import pickle
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import headers
import numpy as np
import pytest
from reference.streams import STREAM, Session, alike, fit, synthetic_stream

from sparcl import Classifier, methods
from sparcl.app.model import Model
from sparcl.base.errors import InputError, NumericalError
from sparcl.base.npz import write_npz
from sparcl.base.state import Stateful
from sparcl.learners.composed import Composed
from sparcl.learners.learner import Learner
from sparcl.learners.summed import Summed
from sparcl.methods import build
from sparcl.methods.ncm import NearestClassMean
from sparcl.parts import catalogue
from sparcl.parts.core import Core
from sparcl.parts.maps import Map
from sparcl.parts.rules import WIDE

CASES: dict[str, tuple[str, dict]] = {
    # one case a kind of part, and one a learner outside the family
    "several points": ("sparcl", {"ridge": [0.1, 1.0], "tau": [0.5, 0.9], "seed": np.int64(3)}),
    "kept inverse": ("sparcl", {"k": np.int64(5), "refresh": 0, "update": "woodbury"}),
    "random directions": ("sparcl-alg1", {"tau": 0.6, "m": 4}),
    "condition": ("sparcl", {"tau": 0.6, "condition_limit": 40.0}),
    "trust region": ("sparcl", {"tau": 0.6, "trust_degrees": 60.0}),
    "all sessions": ("sparcl-plus-1", {"tau": [0.4, 0.8], "width": 90, "expansion": "rbf"}),
    "newest session": ("ranpac", {"width": 70, "seed": np.int64(3), "dtype": "float32"}),
    "cross-validation": ("flycl", {"width": 70, "nonzeros": 20, "ridges": WIDE}),
    "unit norm": ("compose", {"transform": "unit"}),
    "signed power": ("compose", {"transform": {"power": {"exponent": 0.3}}}),
    "kernels": ("gkeal", {"width": 30}),
    "balanced": ("air", {"width": 70, "ridge": "gaussian"}),
    "balanced by class": ("compose", {"head": "balanced-by-class", "ridge": 0.1}),
    "first covariance": ("slda", {"covariance": "frozen"}),
    "pseudo-inverse": ("klda", {"width": 70, "ridge": 0, "sigma": 2.0}),
    "oracle shrinkage": ("randumb", {"width": 70}),
    "fourth powers": ("compose", {"head": "ledoit-wolf"}),
    "discriminant by rule": (
        "compose",
        {"head": {"ridged-scatter": {"per": "sample"}}, "ridge": "gaussian"},
    ),
    "both heads of rooted rows": ("sparcl-plus-2", {}),
    "own covariances in a core": ("sparcl-plus", {"rank": 4, "tau": 0.9}),
    "frozen": ("compose", {"core": "frozen"}),
    "beside": ("compose", {"core": {"beside-scatter": {"tau": 0.6}}}),
    **{
        kind: ("compose", {"row_weights": kind})
        for kind in catalogue.load()["row_weights"]
        if kind != "noise-matrix"
    },
    "noise-matrix": ("compose", {"row_weights": {"noise-matrix": {"rate": 0.2}}}),
    "ncm": ("ncm", {}),
    "two streams": ("dsal", {"width": 70, "ridge_compensation": "newest"}),
    "truncated": ("loranpac", {"width": 70}),
    "truncated, gram": ("loranpac", {"width": 70, "path": "gram"}),
    "fecam": ("fecam", {}),
    "fenec": ("fenec", {"centroids": 8, "neighbours": 3, "alpha2": 0.5}),
    "columns": ("acil-rhl", {"width": 70, "columns": "unit"}),
    "teen": ("teen", {}),
    "calibrated covariances": ("c-fecam", {"literal": True}),
    "calibrated draws": ("c-ranpac", {"width": 70, "draws": 5}),
    "folds of blocks": ("layup", {"blocks": 2}),
    "ridge and lda": ("ridge-lda", {"map": {"random": {"width": 70}}}),
    "chosen exponent": ("ridge-lda", {"exponents": [1.0, 0.5]}),
    "lr-rgda": ("lr-rgda", {"rank": 5}),
    "srda": ("srda", {"official": True}),
    "klda-e": ("klda-e", {"width": 70, "members": 2}),
    "anacp": ("anacp", {"width": 70, "members": 2, "draws": 5, "ridge": "gaussian"}),
    "anacp, official": ("anacp", {"width": 70, "members": 1, "draws": 5, "official": True}),
    "icarl": ("icarl-nme", {"memory": 100}),
    "slca": ("slca-frozen", {"epochs": 2, "alignment": 1, "scale": "root-d"}),
    "ft": ("ft-head", {"epochs": 2, "scale": "root-d"}),
    "der++": ("derpp-head", {"epochs": 2, "buffer": 30}),
}
KEEPERS = ["icarl", "der++", "kernels", "fenec"]  # samples in the state are what these methods are


def made(case: str) -> Learner:
    name, hyper = CASES[case]
    return build(name, **hyper)


@pytest.fixture(scope="module")
def sessions() -> list[Session]:
    """Six sessions, large enough for BLAS to choose its kernels by layout."""
    return synthetic_stream(sessions=6, classes=4, samples=12, dimension=50)


@pytest.fixture(scope="module")
def learned(sessions: list[Session]) -> Callable[[str], Learner]:
    """Return a call that gives the learner of a case after four sessions, which no test changes."""
    return functools.cache(lambda case: fit(made(case), sessions[:4]))


def kinds(state: dict) -> set[str]:
    """Return the kinds of all objects in a state."""
    return {
        json.loads(str(v))["kind"] for key, v in state.items() if key.split("/")[-1] == "header"
    }


def test_every_kind_of_part_and_learner_is_among_the_cases(
    learned: Callable[[str], Learner],
) -> None:
    found = set().union(*(kinds(learned(case).state()) for case in CASES))
    concrete = {
        name
        for name, kind in Stateful._kinds.items()
        if kind.__module__.startswith("sparcl.")
        and "__dataclass_fields__" in vars(kind)
        and not inspect.isabstract(kind)
    }
    assert {type(build(name)) for name in methods.names()} <= {type(learned(c)) for c in CASES}
    assert concrete <= found


@pytest.mark.parametrize("case", CASES)
def test_goes_on_to_the_bit(case: str, sessions: list[Session], tmp_path: Path) -> None:
    """From a file or a state, which neither the learner that goes on nor one built from it changes."""
    probe = np.random.default_rng(0).standard_normal((33, 50))
    learner, path = made(case), tmp_path / "learner.npz"
    others: list[Learner] = []
    states: list[tuple[int, dict, dict]] = []
    for t, (Phi, y) in enumerate(sessions):
        if t in (0, 1, 3):
            learner.save(path)
            with np.load(path, allow_pickle=False) as file:
                assert all(file[key].dtype.kind in "fiU" for key in file.files)
            others.append(type(learner).load(path))
            state = learner.state()
            states.append((t, state, {key: np.copy(value) for key, value in state.items()}))
            assert others[-1].report() == learner.report()
        learner.fit_session(Phi, y)
        scores = learner.logits(probe)
        for again in others:
            again.fit_session(Phi, y)
            assert np.array_equal(again.logits(probe), scores)
            assert np.array_equal(again.classes, learner.classes)
            assert again.report() == learner.report()
            assert again.session == learner.session
    for cut, state, before in states:
        assert alike(before, state)
        type(learner).from_state(state).fit_session(*sessions[cut])
        assert alike(before, state)


def test_a_state_that_is_not_writeable_is_copied_before_it_is_updated(
    sessions: list[Session], learned: Callable[[str], Learner]
) -> None:
    """As joblib maps large arrays; an update in place wrote into them, or died."""
    for case in CASES:
        buffers: list[pickle.PickleBuffer] = []
        packed = pickle.dumps(learned(case), protocol=5, buffer_callback=buffers.append)
        fixed = [buffer.raw().tobytes() for buffer in buffers]  # bytes are read-only
        before = learned(case).state()
        learner = pickle.loads(packed, buffers=[bytearray(each) for each in fixed])
        learner.fit_session(*sessions[4])
        expected = learner.logits(sessions[5][0])
        for _ in range(2):  # the second finds what the first left
            again = pickle.loads(packed, buffers=fixed)
            assert alike(before, again.state())
            again.fit_session(*sessions[4])
            assert np.array_equal(again.logits(sessions[5][0]), expected)
        if isinstance(again, Summed) and not again.undivided:
            summed, other = (pickle.loads(packed, buffers=fixed) for _ in range(2))
            summed.accumulate(*sessions[4])
            summed.merge(other)
            summed.solve()
            again = pickle.loads(packed, buffers=fixed)
            assert alike(before, again.state())


def test_two_saves_are_the_same_bytes(sessions: list[Session], tmp_path: Path) -> None:
    for name in ("a.npz", "b.npz"):
        fit(made("all sessions"), sessions[:3]).save(tmp_path / name)
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.npz", "b.npz"]


# --- a part declares what it keeps ------------------------------------------------------------------


@dataclass(eq=False)
class Centred(Map):
    """Features less the mean of the first session: a part that says what it keeps, and no more."""

    scale: float = 1.0
    kept: ClassVar[dict] = {"origin": ("d",)}

    def __post_init__(self) -> None:
        self.origin = np.zeros(0)

    def begin(self, Phi: np.ndarray) -> None:
        self.origin = Phi.mean(axis=0)

    @property
    def output(self) -> int:
        return len(self.origin)

    def __call__(self, Phi: np.ndarray) -> np.ndarray:
        return self.scale * (Phi - self.origin)


def test_a_new_part_is_kept_without_code(sessions: list[Session], tmp_path: Path) -> None:
    learner = fit(Composed(map=Centred(2.0), core=Core(tau=0.5)), sessions[:2])
    learner.save(tmp_path / "learner.npz")
    again = Composed.load(tmp_path / "learner.npz")
    assert again.map.scale == 2.0
    assert np.array_equal(again.map.origin, sessions[0][0].mean(axis=0))
    a, b = fit(learner, sessions[2:]), fit(again, sessions[2:])
    assert np.array_equal(a.weights, b.weights)
    short = learner.state() | {"map/origin": np.zeros(49)}
    with pytest.raises(InputError, match=r"map/origin has shape \(49,\).*asks for \(50\)"):
        Composed.from_state(short)


@pytest.fixture(scope="module")
def state(sessions: list[Session]) -> dict:
    """A state with a map, a core, a rule with a learner of its own, and sums."""
    return fit(made("all sessions"), sessions[:3]).state()


def test_a_member_that_is_missing_or_too_much_is_named(state: dict) -> None:
    for key in state:
        rest = {name: value for name, value in state.items() if name != key}
        with pytest.raises(InputError, match=re.escape(key)):
            Composed.from_state(rest)
    for key in ("rubbish", "sums/rubbish", "other/header"):
        with pytest.raises(InputError, match=f"1 members too many .*'{key}'"):
            Composed.from_state(state | {key: np.zeros(3)})


def test_values_and_shapes_that_cannot_be_are_refused_by_name(state: dict) -> None:
    def refused(key: str, value: np.ndarray, message: str) -> None:
        with pytest.raises(InputError, match=message):
            Composed.from_state(state | {key: value})

    for key, value in state.items():
        if not isinstance(value, np.ndarray):
            continue
        if value.dtype.kind == "f" and value.size:
            spoiled = value.copy()
            spoiled.flat[-1] = np.nan
            refused(key, spoiled, f"{key} holds values that are not finite")
        refused(key, value.astype(object), f"{key} holds object")
        refused(key, value.astype(str), f"{key} holds <U")
    for key, cut in (
        ("sums/R", np.s_[:-1]),
        ("sums/C", np.s_[:-1]),
        ("sums/counts", np.s_[:-1]),
        ("solutions/weights.0", np.s_[:-1]),
        ("solutions/weights.0", np.s_[0]),
        ("map/basis", np.s_[:, 0]),
        ("rule/validation/C", np.s_[:, :-1]),
        ("rule/fitted/solutions/weights.1", np.s_[:-1]),
        ("classes", np.s_[None]),
    ):
        refused(key, state[key][cut], r"has shape \(.*asks for \(")


def test_an_unknown_or_another_kind_is_refused(state: dict, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"Composed.*NearestClassMean"):
        NearestClassMean.from_state(state)
    write_npz(tmp_path / "file.npz", {"weights": np.eye(3)})
    with pytest.raises(InputError, match=r"file\.npz: not a learner that can continue"):
        Composed.load(tmp_path / "file.npz")
    for key in ("header", "sums/header", "rule/fitted/core/partitions.0/header"):
        header = json.loads(state[key])
        with pytest.raises(InputError, match="Nothing"):
            Composed.from_state(state | {key: json.dumps(header | {"kind": "Nothing"})})
        with pytest.raises(InputError):
            Composed.from_state(state | {key: json.dumps(header | {"kind": "RandomMap"})})
        for damaged in ("", "{", "[1]", "null"):
            with pytest.raises(InputError, match="damaged"):
                Composed.from_state(state | {key: damaged})


def test_every_learner_opens_again_as_a_model_and_as_a_classifier(
    sessions: list[Session], tmp_path: Path
) -> None:
    """Their files hold the settings twice, and what fitting chooses is no setting."""
    for case, (method, hyper) in CASES.items():
        hyper = json.loads(json.dumps(hyper, default=int))
        model, classifier = Model.build(method, hyper, True), Classifier(method, **hyper)
        for Phi, y in sessions[:2]:
            model.learner.fit_session(Phi, y)
            classifier.partial_fit(Phi, y)
        model.class_names = [f"class {label}" for label in range(model.learner.classes.max() + 1)]
        for saved in (model, classifier):
            saved.save(tmp_path / "saved.npz")
            again = type(saved).load(tmp_path / "saved.npz")
            probe = sessions[3][0]
            assert np.array_equal(again.predict(probe), saved.predict(probe)), case


def test_no_claim_of_a_header_is_believed(sessions: list[Session]) -> None:
    """Each place of each header with a wrong value: refused, or a learner that works with another setting."""
    seen: set[tuple] = set()
    refused = 0
    for case in ("several points", "balanced", "anacp"):
        small = [(Phi[::3, :16], y[::3]) for Phi, y in sessions]
        learner = fit(made(case), small[:3])
        state = learner.state()
        for key in [key for key in state if key.split("/")[-1] == "header"]:
            kind = json.loads(state[key])["kind"]
            for path, value, text in headers.changed(state[key]):
                place = (kind, *map(str, path), repr(value))
                if place in seen:
                    continue
                seen.add(place)
                try:
                    again = type(learner).from_state(state | {key: text})
                except InputError:
                    refused += 1
                    continue
                assert path[0] == "plain", place
                again.report()
                assert again.logits(small[4][0]).shape == (len(small[4][0]), len(again.classes))
                if value == headers.MANY:  # a setting that no machine holds
                    continue
                with contextlib.suppress(InputError, NumericalError):
                    again.fit_session(*small[3])
    assert refused > 0.8 * len(seen) > 1000


def test_a_failed_learner_stays_failed() -> None:
    """Its sums hold the session that failed: a second try would add the samples again."""
    learner = build("sparcl", ridge=1e-4, dtype="float32")
    huge = (1e4 * STREAM[0][0][:6], STREAM[0][1][:6])
    with pytest.raises(NumericalError):
        learner.fit_session(*huge)
    again = Composed.from_state(learner.state())
    with pytest.raises(NumericalError, match="earlier session failed"):
        again.fit_session(*STREAM[1])


def rows_of(state: dict, d: int) -> np.ndarray:
    """Return every row and column of length d in the state's arrays, unit-normed."""
    rows = []
    for value in state.values():
        value = np.asarray(value)
        if value.dtype.kind != "f" or value.ndim == 0:
            continue
        for axis in range(value.ndim):
            if value.shape[axis] >= d:
                flat = np.moveaxis(value, axis, -1).reshape(-1, value.shape[axis])
                rows.append(flat[:, :d].astype(np.float64))
    stacked = np.concatenate(rows)
    norm = np.linalg.norm(stacked, axis=1, keepdims=True)
    return stacked / np.where(norm > 0, norm, 1)


def test_samples_are_kept_only_where_the_method_says_so(
    sessions: list[Session], learned: Callable[[str], Learner]
) -> None:
    rows = np.concatenate([Phi for Phi, _ in sessions[:4]])
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    for case in CASES:
        assert learned(case).keeps_samples == (case in KEEPERS), case
        cosine = np.abs(rows_of(learned(case).state(), 50) @ rows.T).max()
        assert cosine > 1 - 1e-9 if case in KEEPERS else cosine < 1 - 1e-6, case
    # a class of one sample does show: its column of C is the sample
    (Phi, y), alone = sessions[0], sessions[1][0][:1]
    learner = build("acil")
    learner.fit_session(np.concatenate([Phi, alone]), np.concatenate([y, [777]]))
    assert np.abs(rows_of(learner.state(), 50) @ alone[0]).max() > 1 - 1e-9
