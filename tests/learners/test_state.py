"""What a learner keeps: a plain mapping, enough to go on to the bit, and no sample in it."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from reference.streams import Session, fit, synthetic_stream

from sparcl import methods
from sparcl.algebra.sums import Sums, merge
from sparcl.base.errors import InputError, NumericalError
from sparcl.learners.composed import Composed
from sparcl.methods import build
from sparcl.methods.ncm import NearestClassMean

CASES: dict[str, tuple[str, dict]] = {
    "ncm": ("ncm", {}),
    "acil": ("acil", {"ridge": 0.1}),
    "ranpac": ("ranpac", {"width": 70, "seed": np.int64(3)}),
    "hidden layer": ("acil-rhl", {"width": 70}),
    "hidden layer, gaussian": ("acil-rhl", {"width": 70, "ridge": "gaussian"}),
    "three passes": ("gacl", {"width": 70}),
    "two streams": ("dsal", {"width": 70, "ridge_compensation": "newest"}),
    "kernels": ("gkeal", {"width": 30}),
    "balanced": ("air", {"width": 70}),
    "fusion": ("real-ffb", {"width": 70}),
    "sigmoid": ("foal", {"width": 70}),
    "sparse": ("flycl", {"width": 70, "nonzeros": 20, "grid": [10.0**k for k in range(-8, 9)]}),
    "truncated": ("loranpac", {"width": 70}),
    "truncated, gram": ("loranpac", {"width": 70, "path": "gram"}),
    "hidden layer, float32": ("acil-rhl", {"width": 70, "dtype": "float32"}),
    "sparcl": ("sparcl", {"tau": 0.6}),
    "every session": ("sparcl", {"tau": 0.6, "refresh": 1}),
    "base only, rank": ("sparcl", {"k": np.int64(5), "tau": None, "refresh": 0}),
    "rank one": ("sparcl", {"k": 1, "tau": None, "refresh": 1}),
    "algorithm 1": ("sparcl-alg1", {"tau": 0.6}),
    "linear": ("sparcl-alg1", {"tau": 0.6, "m": 4}),
    "linear, exact": ("sparcl", {"tau": 0.6, "expansion": "linear", "m": 4}),
    "plus": ("sparcl-plus", {"tau": 0.6, "width": 90}),
    "top-k": ("sparcl-plus", {"tau": 0.6, "width": 90, "expansion": "topk"}),
    "rbf": ("sparcl-plus", {"tau": 0.6, "width": 90, "expansion": "rbf"}),
    "condition": ("sparcl", {"tau": 0.6, "condition_limit": 40.0}),
    "trust region": ("sparcl", {"tau": 0.6, "trust_degrees": 60.0}),
    "warm-up": ("sparcl", {"tau": 0.6, "warmup": 2, "refresh": 1}),
    "full map": ("linear-relu", {"width": 90}),
    "cores": ("sparcl", {"tau": 0.6, "cores": 2, "refresh": 1}),
    "freeze off": ("sparcl", {"tau": 0.6, "freeze": False}),
    "projection": ("sparcl", {"tau": 0.6, "project": True}),
    "freed": ("sparcl", {"tau": 0.6, "reappearing": "free", "coupling": "dropped"}),
    "newest": ("sparcl", {"tau": 0.6, "ridge": "newest"}),
    "all": ("sparcl", {"tau": 0.6, "ridge": "all", "refresh": 1}),
    "all, plus": ("sparcl-plus", {"tau": 0.6, "ridge": "all", "width": 90}),
    "gaussian": ("sparcl", {"tau": 0.6, "ridge": "gaussian", "refresh": 1}),
    "all, cores": ("sparcl", {"tau": 0.6, "ridge": "all", "cores": 2}),
    "woodbury": ("sparcl", {"tau": 0.6, "refresh": 0, "update": "woodbury"}),
    "woodbury, plus": (
        "sparcl",
        {"tau": 0.6, "refresh": 0, "expansion": "relu", "m": 90} | {"update": "woodbury"},
    ),
    "float32": ("sparcl", {"tau": 0.6, "dtype": "float32"}),
    "slda": ("slda", {}),
    "slda, frozen": ("slda", {"covariance": "frozen"}),
    "klda": ("klda", {"width": 70}),
    "klda, pseudo-inverse": ("klda", {"width": 70, "ridge": 0, "sigma": 2.0}),
    "randumb": ("randumb", {"width": 70}),
    "randumb, relu": ("randumb", {"width": 70, "embedding": "relu", "seed": np.int64(3)}),
    "fecam": ("fecam", {}),
    "icarl": ("icarl-nme", {"memory": 100}),
    "slca": ("slca-frozen", {"epochs": 2, "alignment": 1, "scale": "root-d"}),
    "ft": ("ft-head", {"epochs": 2, "scale": "root-d"}),
    "der++": ("derpp-head", {"epochs": 2, "buffer": 30}),
}
KEEPERS = ["icarl", "der++", "kernels"]  # samples in the state are what these methods are


def made(case: str) -> object:
    name, hyper = CASES[case]
    return build(name, **hyper)


@pytest.fixture(scope="module")
def sessions() -> list[Session]:
    """Six sessions, large enough for BLAS to choose its kernels by layout."""
    return synthetic_stream(sessions=6, classes=4, samples=12, dimension=50)


@pytest.mark.parametrize("way", ["state", "file"])
@pytest.mark.parametrize("case", CASES)
def test_goes_on_to_the_bit(case: str, way: str, sessions: list[Session], tmp_path: Path) -> None:
    probe = np.random.default_rng(0).standard_normal((33, 50))
    for cut in (1, 2, 4):
        learner = fit(made(case), sessions[:cut])
        kind = type(learner)
        if way == "state":
            again = kind.from_state(learner.state())
        else:
            learner.save(tmp_path / "learner.npz")
            again = kind.load(tmp_path / "learner.npz")
        assert np.array_equal(again.logits(probe), learner.logits(probe))
        assert again.report() == learner.report()
        for Phi, y in sessions[cut:]:
            learner.fit_session(Phi, y)
            again.fit_session(Phi, y)
            assert np.array_equal(again.logits(probe), learner.logits(probe))
            if case != "fecam":  # quadratic, not linear
                assert np.array_equal(again.weights, learner.weights)
            assert np.array_equal(again.classes, learner.classes)
            assert again.report() == learner.report()
            assert again.session == learner.session


@pytest.mark.parametrize("case", CASES)
def test_plain_mapping(case: str, sessions: list[Session]) -> None:
    for cut in (0, 3):
        state = fit(made(case), sessions[:cut]).state()
        for key, value in state.items():
            assert isinstance(key, str)
            if isinstance(value, np.ndarray):
                assert value.dtype.kind in "fi", key
            else:
                assert isinstance(value, (int, float, str)), (key, type(value))


@pytest.mark.parametrize("case", CASES)
def test_a_state_is_a_snapshot(case: str, sessions: list[Session]) -> None:
    """Neither the learner that goes on nor one built from the state changes it."""
    learner = fit(made(case), sessions[:3])
    probe = sessions[5][0]
    state = learner.state()
    before = {key: np.copy(value) for key, value in state.items()}
    learner.fit_session(*sessions[3])
    first = type(learner).from_state(state)
    first.fit_session(*sessions[3])
    second = type(learner).from_state(state)
    second.fit_session(*sessions[3])
    assert all(np.array_equal(before[key], state[key]) for key in state)
    assert np.array_equal(second.logits(probe), learner.logits(probe))


@pytest.mark.parametrize("case", CASES)
def test_a_fresh_learner_has_a_state(case: str, sessions: list[Session]) -> None:
    fresh = made(case)
    again = type(fresh).from_state(fresh.state())
    with pytest.raises(InputError, match="fit_session"):
        again.logits(sessions[0][0])
    a, b = fit(fresh, sessions[:2]), fit(again, sessions[:2])
    assert np.array_equal(a.logits(sessions[3][0]), b.logits(sessions[3][0]))


@pytest.mark.parametrize("case", CASES)
def test_two_saves_are_the_same_bytes_and_no_pickle(
    case: str, sessions: list[Session], tmp_path: Path
) -> None:
    for name in ("a.npz", "b.npz"):
        fit(made(case), sessions[:3]).save(tmp_path / name)
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    with np.load(tmp_path / "a.npz", allow_pickle=False) as file:
        assert all(file[key].dtype.kind in "fiU" for key in file.files)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.npz", "b.npz"]


def foreign(path: Path, how: str) -> None:
    if how == "text":
        path.write_text("not a learner")
    elif how == "empty":
        path.write_bytes(b"")
    elif how == "array":
        np.save(path.with_suffix(".npy"), np.arange(3))
        path.with_suffix(".npy").rename(path)
    elif how == "other npz":
        np.savez(path, weights=np.eye(3))
    elif how == "pickled":
        np.savez(path, learner=np.array([{"a": 1}], dtype=object))
    elif how == "cut short":
        whole = path.with_name("whole.npz")
        fit(build("sparcl"), synthetic_stream(sessions=2)).save(whole)
        path.write_bytes(whole.read_bytes()[:-500])
    elif how == "key missing":
        state = fit(build("sparcl"), synthetic_stream(sessions=2)).state()
        np.savez(path, **{key: value for key, value in state.items() if key != "settings"})
    elif how == "other method":
        fit(build("ncm"), synthetic_stream(sessions=2)).save(path)


@pytest.mark.parametrize(
    "how",
    ["text", "empty", "array", "other npz", "pickled", "cut short", "key missing", "other method"],
)
def test_foreign_files_are_refused(how: str, tmp_path: Path) -> None:
    path = tmp_path / "file.npz"
    foreign(path, how)
    with pytest.raises(InputError) as caught:
        Composed.load(path)
    assert "NearestClassMean" in str(caught.value) or "file.npz" in str(caught.value)


def test_random_damage_never_raises_anything_else(tmp_path: Path) -> None:
    """A zip entry may claim encryption, another version or compression: each has its own error."""
    path = tmp_path / "file.npz"
    fit(build("ncm"), synthetic_stream(sessions=1)).save(path)
    whole, rng, refused = path.read_bytes(), np.random.default_rng(0), 0
    places = [i for i in range(len(whole)) if whole[i : i + 2] == b"PK"]
    for _ in range(500):
        changed = bytearray(whole)
        changed[rng.choice(places) + rng.integers(4, 12)] = rng.integers(0, 256)
        path.write_bytes(bytes(changed))
        try:
            NearestClassMean.load(path)
        except InputError:
            refused += 1
    assert refused > 100


def test_an_absent_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere\.npz"):
        Composed.load(tmp_path / "nowhere.npz")


def test_a_state_of_another_kind_is_refused(stream: list[Session]) -> None:
    state = fit(build("sparcl"), stream).state()
    with pytest.raises(InputError, match=r"Composed.*NearestClassMean"):
        NearestClassMean.from_state(state)


def test_a_failed_learner_stays_failed(stream: list[Session]) -> None:
    """Its sums hold the session that failed: a second try would add the samples again."""
    learner = build("sparcl", ridge=1e-4, dtype="float32")
    huge = (1e4 * stream[0][0][:6], stream[0][1][:6])
    with pytest.raises(NumericalError):
        learner.fit_session(*huge)
    again = Composed.from_state(learner.state())
    with pytest.raises(NumericalError, match="earlier session failed"):
        again.fit_session(*stream[1])


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


@pytest.mark.parametrize("case", [case for case in CASES if case not in KEEPERS])
def test_no_sample_is_kept(case: str, sessions: list[Session]) -> None:
    learner = fit(made(case), sessions[:4])
    assert not type(learner).keeps_samples
    held = rows_of(learner.state(), 50)
    for Phi, _ in sessions[:4]:
        cosine = np.abs(held @ (Phi / np.linalg.norm(Phi, axis=1, keepdims=True)).T)
        assert cosine.max() < 1 - 1e-6


@pytest.mark.parametrize("case", KEEPERS)
def test_a_method_that_keeps_samples_says_so(case: str, sessions: list[Session]) -> None:
    learner = fit(made(case), sessions[:4])
    assert type(learner).keeps_samples
    held = rows_of(learner.state(), 50)
    rows = np.concatenate([Phi for Phi, _ in sessions[:4]])
    assert np.abs(held @ (rows / np.linalg.norm(rows, axis=1, keepdims=True)).T).max() > 1 - 1e-9


def test_the_search_for_samples_finds_one(sessions: list[Session]) -> None:
    """A class of one sample does show: its column of C is the sample."""
    Phi, y = sessions[0]
    learner = build("acil")
    learner.fit_session(np.concatenate([Phi, sessions[1][0][:1]]), np.concatenate([y, [777]]))
    cosine = np.abs(rows_of(learner.state(), 50) @ sessions[1][0][0])
    assert cosine.max() > 1 - 1e-9


def test_every_method_is_covered() -> None:
    assert {name for name, _ in CASES.values()} == set(methods.names())


# --- merging --------------------------------------------------------------------------------------


def summed(*parts: Session, classes: int) -> Statistics:
    statistics = Sums(parts[0][0].shape[1])
    statistics.grow(classes)
    for Phi, y in parts:
        statistics.accumulate(Phi, y)
    return statistics


def test_merge_is_one_pass(stream: list[Session]) -> None:
    a, b = summed(*stream[:2], classes=12), summed(*stream[2:], classes=12)
    kept = a.R.copy(), b.C.copy()
    both, whole = merge(a, b), summed(*stream, classes=12)
    assert both.R == pytest.approx(whole.R, abs=1e-12)
    assert both.C == pytest.approx(whole.C, abs=1e-13)
    assert np.array_equal(both.counts, whole.counts)
    assert both.n == 144
    assert np.array_equal(a.R, kept[0]) and np.array_equal(b.C, kept[1])
    both.accumulate(*stream[0])  # and it can go on
    assert both.R == pytest.approx(whole.R + stream[0][0].T @ stream[0][0], abs=1e-12)


def test_merge_of_unequal_class_counts(stream: list[Session]) -> None:
    few = Sums(16)
    few.grow(3)
    few.accumulate(stream[0][0], stream[0][1] % 3)
    many = summed(stream[1], classes=12)
    for both in (merge(few, many), merge(many, few)):
        assert both.C.shape == (16, 12)
        assert both.counts.sum() == 72
        assert both.R == pytest.approx(few.R + many.R, abs=1e-12)


def test_merge_under_a_map_of_columns(stream: list[Session]) -> None:
    """Two sites that met the classes in different orders."""
    Phi, y = stream[0]
    labels = np.unique(y)
    a, b = Sums(16), Sums(16)
    for statistics in (a, b):
        statistics.grow(3)
    a.accumulate(Phi[:20], np.searchsorted(labels, y[:20]))
    b.accumulate(Phi[20:], 2 - np.searchsorted(labels, y[20:]))
    a.merge(b, [2, 1, 0])
    whole = Sums(16)
    whole.grow(3)
    whole.accumulate(Phi, np.searchsorted(labels, y))
    assert a.C == pytest.approx(whole.C, abs=1e-13)
    assert np.array_equal(a.counts, whole.counts)


@pytest.mark.parametrize("columns", [[0, 1], [0, 1, 3], [0, 1, -1], [0, 1, 1]])
def test_merge_refuses_columns_that_do_not_fit(columns: list[int]) -> None:
    a, b = Sums(4), Sums(4)
    for statistics in (a, b):
        statistics.grow(3)
    with pytest.raises(InputError, match="columns"):
        a.merge(b, columns)


def test_merge_refuses_other_features() -> None:
    with pytest.raises(InputError, match=r"5 features into 4"):
        Sums(4).merge(Sums(5), [])


SPLIT: dict[str, Callable[[int], int]] = {"halves": lambda n: n // 2, "one row": lambda n: 1}


@pytest.mark.parametrize("how", SPLIT)
def test_a_session_may_be_summed_in_parts(how: str, stream: list[Session]) -> None:
    Phi, y = stream[0]
    cut = SPLIT[how](len(y))
    both = merge(summed((Phi[:cut], y[:cut]), classes=12), summed((Phi[cut:], y[cut:]), classes=12))
    assert both.R == pytest.approx(Phi.T @ Phi, abs=1e-12)
