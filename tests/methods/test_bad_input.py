"""Bad input raises `InputError` that says what and where, and leaves the learner as it was."""

from collections.abc import Callable

import numpy as np
import pytest
from reference.streams import Session, fit

from sparcl.base.errors import InputError, NumericalError
from sparcl.methods import build, hyperparameters

METHODS = {
    "ncm": {},
    "acil": {"ridge": 0.1},
    "sparcl": {"ridge": 0.1, "tau": 0.6, "refresh": 1},
    "sparcl-alg1": {"ridge": 0.1, "tau": 0.6, "refresh": 1, "m": 2},
    "sparcl-plus": {"ridge": 0.1, "tau": 0.6, "tau_map": 0.5, "width": 20},
    "ranpac": {"width": 20},
    "slda": {"shrinkage": 0.01},
    "klda": {"width": 20, "ridge": 0.01},
    "randumb": {"width": 20},
    "fecam": {"alpha": 0.5},
    "icarl-nme": {"memory": 50},
    "slca-frozen": {"epochs": 2, "alignment": 1},
    "ft-head": {"epochs": 2},
    "derpp-head": {"epochs": 2, "buffer": 10},
}


def with_value(value: float) -> Callable[[np.ndarray, np.ndarray], Session]:
    def spoil(Phi: np.ndarray, y: np.ndarray) -> Session:
        Phi = Phi.copy()
        Phi[5, 3] = value
        return Phi, y

    return spoil


BAD: dict[str, tuple[Callable[[np.ndarray, np.ndarray], Session], str]] = {
    "nan": (with_value(np.nan), r"(?i)nan|finite"),
    "inf": (with_value(np.inf), r"(?i)inf|finite"),
    "minus inf": (with_value(-np.inf), r"(?i)inf|finite"),
    "one row as a vector": (lambda Phi, y: (Phi[0], y[:1]), r"(?i)shape|dimension|2-d|\(n, d\)"),
    "three axes": (lambda Phi, y: (Phi[None], y), r"(?i)shape|dimension|2-d|\(n, d\)"),
    "a label short": (lambda Phi, y: (Phi, y[:-1]), r"36.*35|35.*36"),
    "labels as a column": (lambda Phi, y: (Phi, y[:, None]), r"\(36, 1\)"),
    "labels with fractions": (lambda Phi, y: (Phi, y + 0.5), r"(?i)integer"),
    "labels as text": (lambda Phi, y: (Phi, y.astype(str)), r"(?i)integer"),
    "labels with nan": (
        lambda Phi, y: (Phi, np.where(np.arange(len(y)) == 3, np.nan, y)),
        r"(?i)integer|finite|nan",
    ),
    "no samples": (lambda Phi, y: (Phi[:0], y[:0]), r"(?i)empty|no sample|0 sample"),
    "fewer features": (lambda Phi, y: (Phi[:, :-1], y), r"(?s)(?=.*\b15\b)(?=.*\b16\b)"),
    "features as text": (lambda Phi, y: (Phi.astype(str), y), r"(?i)number|numeric|dtype|float"),
    "complex features": (lambda Phi, y: (Phi + 1j, y), r"(?i)real|complex|dtype|float"),
}


@pytest.mark.parametrize("case", BAD)
@pytest.mark.parametrize("name", METHODS)
def test_a_refused_session_is_named_and_changes_nothing(
    name: str, case: str, stream: list[Session], probe: np.ndarray
) -> None:
    spoil, message = BAD[case]
    learner = fit(build(name, **METHODS[name]), stream[:2])
    logits, classes, report = learner.logits(probe), list(learner.classes), learner.report()
    with pytest.raises(InputError, match=message) as caught:
        learner.fit_session(*spoil(*stream[2]))
    assert "session 3" in str(caught.value)
    assert np.array_equal(learner.logits(probe), logits)
    assert list(learner.classes) == classes
    assert learner.report() == report
    # The stream goes on as if the bad session had never been offered.
    fit(learner, stream[2:])
    untouched = fit(build(name, **METHODS[name]), stream)
    assert np.array_equal(learner.logits(probe), untouched.logits(probe))


@pytest.mark.parametrize("name", METHODS)
def test_a_refused_first_session_leaves_a_fresh_learner(
    name: str, stream: list[Session], probe: np.ndarray
) -> None:
    learner = build(name, **METHODS[name])
    with pytest.raises(InputError, match="session 1"):
        learner.fit_session(*with_value(np.nan)(*stream[0]))
    # Even another number of features is fine now, since nothing was learned.
    narrow = [(Phi[:, :9], y) for Phi, y in stream]
    fit(learner, narrow)
    untouched = fit(build(name, **METHODS[name]), narrow)
    assert np.array_equal(learner.logits(probe[:, :9]), untouched.logits(probe[:, :9]))


@pytest.mark.parametrize("name", METHODS)
def test_message_names_the_bad_sample(name: str, stream: list[Session]) -> None:
    with pytest.raises(InputError, match=r"\b5\b"):
        build(name, **METHODS[name]).fit_session(*with_value(np.nan)(*stream[0]))


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("call", ["logits", "predict"])
def test_scoring_refuses_what_it_cannot_score(
    name: str, call: str, stream: list[Session], probe: np.ndarray
) -> None:
    fresh = build(name, **METHODS[name])
    with pytest.raises(InputError, match=r"(?i)fit_session|no session"):
        getattr(fresh, call)(probe)
    score = getattr(fit(fresh, stream[:2]), call)
    with pytest.raises(InputError, match=r"(?s)(?=.*\b15\b)(?=.*\b16\b)"):
        score(probe[:, :-1])
    with pytest.raises(InputError, match=r"(?i)nan|finite"):
        score(with_value(np.nan)(probe, probe[:, 0])[0])
    with pytest.raises(InputError):
        score(probe[0])
    assert score(probe[:0]).shape[0] == 0  # no rows are no mistake when scoring


@pytest.mark.parametrize("name", ["acil", "sparcl", "sparcl-alg1", "sparcl-plus"])
def test_a_system_beyond_the_precision_is_an_error_not_a_guess(
    name: str, stream: list[Session], probe: np.ndarray
) -> None:
    # Eight rows of length 1e4 in 16 dimensions: float32 cannot tell R + 1e-3 I from singular R.
    learner = build(name, **{**METHODS[name], "ridge": 1e-3}, dtype="float32")
    learner.fit_session(stream[0][0][:2] * 1e-2, stream[0][1][:2])
    logits, classes = learner.logits(probe), list(learner.classes)
    huge = (1e4 * stream[1][0][:8], stream[1][1][:8])
    with pytest.raises(NumericalError, match=r"(?s)(?=.*session 2)(?=.*ridge)(?=.*float64)"):
        learner.fit_session(*huge)
    assert np.array_equal(learner.logits(probe), logits)
    assert list(learner.classes) == classes
    # A second try must not add the same samples again.
    with pytest.raises(NumericalError):
        learner.fit_session(*huge)
    fit(build(name, **{**METHODS[name], "ridge": 1e-3}), [stream[0], huge])  # float64 can


# --- building -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["sparcle", "SPARCL", "", "sparcl_alg1", "os", "../acil", "learner"]
)
def test_unknown_method_names_the_known_ones(name: str) -> None:
    known = "".join(rf"(?=.*\b{method}\b)" for method in METHODS)
    with pytest.raises(InputError, match=rf"(?s){known}"):
        build(name)


@pytest.mark.parametrize("name", METHODS)
def test_unknown_hyper_parameter_names_the_known_ones(name: str) -> None:
    with pytest.raises(InputError) as caught:
        build(name, lamda=1.0)
    assert "lamda" in str(caught.value)
    assert name in str(caught.value)
    for key in METHODS[name]:
        assert key in str(caught.value)


SPECTRAL = ["sparcl", "sparcl-alg1", "sparcl-plus"]


@pytest.mark.parametrize("name", SPECTRAL)
@pytest.mark.parametrize("tau", [0.0, 1.0, -0.2, 1.5, float("nan"), float("inf"), "0.5"])
def test_tau_outside_0_1(name: str, tau: object) -> None:
    with pytest.raises(InputError, match=r"(?s)(?=.*tau)(?=.*\b0\b)(?=.*\b1\b)"):
        build(name, tau=tau)


def test_an_empty_or_full_core_is_asked_for_by_k() -> None:
    with pytest.raises(InputError, match=r"\bk\b"):
        build("sparcl", tau=1.0)


@pytest.mark.parametrize("tau", [-0.1, 1.0, float("nan")])
def test_tau_of_the_map_outside_0_1(tau: float) -> None:
    with pytest.raises(InputError, match="tau_map"):
        build("sparcl-plus", tau_map=tau)


@pytest.mark.parametrize("name", ["acil", *SPECTRAL])
@pytest.mark.parametrize("ridge", [0.0, -1.0, float("nan"), float("inf"), "1"])
def test_ridge_not_above_zero(name: str, ridge: object) -> None:
    with pytest.raises(InputError, match="ridge"):
        build(name, ridge=ridge)


@pytest.mark.parametrize("name", SPECTRAL)
@pytest.mark.parametrize("refresh", [-1, 1.5])
def test_refresh_not_a_count(name: str, refresh: float) -> None:
    with pytest.raises(InputError, match="refresh"):
        build(name, refresh=refresh)


@pytest.mark.parametrize(
    ("name", "key"), [("sparcl-plus", "width"), ("ranpac", "width"), ("sparcl-alg1", "m")]
)
@pytest.mark.parametrize("value", [-1, 2.5])
def test_width_not_a_count(name: str, key: str, value: float) -> None:
    with pytest.raises(InputError, match=key):
        build(name, **{key: value})


@pytest.mark.parametrize("name", [n for n in METHODS if "dtype" in hyperparameters(n)])
def test_unknown_dtype_names_the_known_ones(name: str) -> None:
    with pytest.raises(InputError, match=r"(?s)(?=.*float64)(?=.*float32)"):
        build(name, dtype="float15")


OUTSIDE = {
    "slda": {"shrinkage": 1.0, "covariance": "pooled"},
    "klda": {"ridge": -0.1, "sigma": "mean", "width": 0, "seed": -1},
    "randumb": {"width": 2.5, "embedding": "tanh", "seed": -1},
    "fecam": {"alpha": 0.0},
    "icarl-nme": {"memory": 0},
    "slca-frozen": {"rate": 0.0, "epochs": 0, "alignment": -1, "scale": -1.0, "seed": 0.5},
    "ft-head": {"rate": float("nan"), "epochs": 0, "batch": 0, "scale": "rootd", "seed": -1},
    "derpp-head": {"buffer": 0, "alpha": -1.0, "beta": 0.0, "rate": "1", "epochs": 0, "batch": 0},
}


@pytest.mark.parametrize(("name", "key"), [(n, key) for n in OUTSIDE for key in OUTSIDE[n]])
def test_a_setting_of_a_head_outside_its_range(name: str, key: str) -> None:
    with pytest.raises(InputError, match=rf"\b{key}\b"):
        build(name, **{key: OUTSIDE[name][key]})


@pytest.mark.parametrize("k", [-1, 2.5])
def test_core_size_not_a_count(k: float) -> None:
    with pytest.raises(InputError, match=r"\bk\b"):
        build("sparcl", k=k)


@pytest.mark.parametrize(
    ("name", "hyper", "numbers"),
    [
        ("sparcl", {"k": 17}, (17, 16)),  # a core of 17 in 16 dimensions
        ("sparcl-alg1", {"k": 10, "m": 7}, (7, 6)),  # 7 orthonormal directions in a residual of 6
    ],
)
def test_more_directions_than_there_are(
    name: str,
    hyper: dict,
    numbers: tuple[int, int],
    stream: list[Session],
    probe: np.ndarray,
) -> None:
    learner = fit(build(name, refresh=1, **hyper), stream[:1])
    logits, classes = learner.logits(probe), list(learner.classes)
    for _ in range(2):  # the second try must meet the same learner as the first
        with pytest.raises(InputError) as caught:
            learner.fit_session(*stream[1])
        assert "session 2" in str(caught.value)
        assert all(str(number) in str(caught.value) for number in numbers)
        assert np.array_equal(learner.logits(probe), logits)
        assert list(learner.classes) == classes
