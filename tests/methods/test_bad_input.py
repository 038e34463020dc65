"""Bad input raises `InputError` that says what and where, and leaves the learner as it was."""

import warnings
from collections.abc import Callable

import numpy as np
import pytest
from methods.test_learners import SMALL as METHODS
from reference.streams import PROBE, STREAM, Session, alike, fit

from sparcl.base.errors import InputError, NumericalError
from sparcl.methods import build


def with_value(value: float) -> Callable[[np.ndarray, np.ndarray], Session]:
    def spoil(Phi: np.ndarray, y: np.ndarray) -> Session:
        Phi = Phi.copy()
        Phi[5, 3] = value
        return Phi, y

    return spoil


BAD: dict[str, tuple[Callable[[np.ndarray, np.ndarray], Session], str]] = {
    "nan": (with_value(np.nan), r"1 of 36 feature rows are not finite \(first: row 5\)"),
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
    "labels beyond int64": (
        lambda Phi, y: (Phi, y.astype(np.uint64) + np.uint64(2**63)),
        r"label 92\d+ is above 9223372036854775807",
    ),
    "no samples": (lambda Phi, y: (Phi[:0], y[:0]), r"(?i)empty|no sample|0 sample"),
    "fewer features": (lambda Phi, y: (Phi[:, :-1], y), r"(?s)(?=.*\b15\b)(?=.*\b16\b)"),
    "features as text": (lambda Phi, y: (Phi.astype(str), y), r"(?i)number|numeric|dtype|float"),
    "complex features": (lambda Phi, y: (Phi + 1j, y), r"(?i)real|complex|dtype|float"),
}


# every bad session meets one learner; that every learner checks first, one bad session shows
OFFERED = [("sparcl-plus-1", case) for case in BAD] + [(name, "nan") for name in METHODS]


@pytest.mark.parametrize(("name", "case"), OFFERED)
def test_a_refused_session_is_named_and_changes_nothing(name: str, case: str) -> None:
    spoil, message = BAD[case]
    learner = fit(build(name, **METHODS[name]), STREAM[:2])
    before = learner.state()
    with pytest.raises(InputError, match=message) as caught:
        learner.fit_session(*spoil(*STREAM[2]))
    assert "session 3" in str(caught.value)
    assert alike(before, learner.state())
    # The stream goes on as if the bad session had never been offered.
    fit(learner, STREAM[2:])
    untouched = fit(build(name, **METHODS[name]), STREAM)
    assert np.array_equal(learner.logits(PROBE), untouched.logits(PROBE))


@pytest.mark.parametrize("name", METHODS)
def test_a_refused_first_session_leaves_a_fresh_learner(name: str) -> None:
    learner = build(name, **METHODS[name])
    with pytest.raises(InputError, match="session 1"):
        learner.fit_session(*with_value(np.nan)(*STREAM[0]))
    # Even another number of features is fine now, since nothing was learned.
    narrow = [(Phi[:, :10], y) for Phi, y in STREAM]
    fit(learner, narrow)
    untouched = fit(build(name, **METHODS[name]), narrow)
    assert np.array_equal(learner.logits(PROBE[:, :10]), untouched.logits(PROBE[:, :10]))
    assert learner.logits(PROBE[:0, :10]).shape == (0, 12)  # no rows are no mistake


def test_a_first_session_of_one_class_or_of_copies() -> None:
    """One class is learned by every method; copies are, or there is no spread, and numpy warns of nothing."""
    rng = np.random.default_rng(0)
    rows = np.repeat(rng.standard_normal((4, 16)), 6, axis=0)
    labels = np.repeat(np.arange(4), 6)
    for name, hyper in METHODS.items():
        learner = build(name, **hyper)
        first = STREAM[0][1] == STREAM[0][1][0]
        learner.fit_session(STREAM[0][0][first], STREAM[0][1][first])
        learner.fit_session(*STREAM[1])
        assert {*learner.predict(STREAM[1][0])} <= {*learner.classes.tolist()}
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            learner = build(name, **hyper)
            if name in ("klda", "klda-e", "randumb", "fecam", "fenec", "c-fecam"):
                with pytest.raises(
                    (InputError, NumericalError), match=r"^session 1: (?!session).*spread"
                ):
                    learner.fit_session(rows, labels)
                continue
            learner.fit_session(rows, labels)
            if name not in ("slca-frozen", "ft-head", "derpp-head"):  # trained for two epochs
                assert np.array_equal(learner.predict(rows), labels)


def test_scoring_refuses_what_it_cannot_score() -> None:
    for call in ("logits", "predict"):
        fresh = build("sparcl-plus-1", **METHODS["sparcl-plus-1"])
        with pytest.raises(InputError, match="call fit_session before"):
            getattr(fresh, call)(PROBE)
        score = getattr(fit(fresh, STREAM[:2]), call)
        with pytest.raises(InputError, match=r"\(40, 15\).*\(n, 16\)"):
            score(PROBE[:, :-1])
        with pytest.raises(InputError, match=r"scored: 1 of 40 .* not finite \(first: row 5"):
            score(with_value(np.nan)(PROBE, PROBE[:, 0])[0])
        with pytest.raises(InputError, match=r"shape \(16,\)"):
            score(PROBE[0])


@pytest.mark.parametrize("name", ["acil", "sparcl", "sparcl-alg1", "sparcl-plus-1"])
def test_a_system_beyond_the_precision_is_an_error_not_a_guess(name: str) -> None:
    # Eight rows of length 1e3 in 16 dimensions: float32 cannot tell R + 1e-3 I from singular R.
    learner = build(name, **{**METHODS[name], "ridge": 1e-3}, dtype="float32")
    learner.fit_session(STREAM[0][0][:2], STREAM[0][1][:2])
    logits, classes = learner.logits(PROBE), list(learner.classes)
    huge = (1e3 * STREAM[1][0][:8], STREAM[1][1][:8])
    with pytest.raises(
        NumericalError,
        match=r"^session 2: R \+ 0.001 I.*number is about \d.*e\+.*float64",
    ):
        learner.fit_session(*huge)
    assert np.array_equal(learner.logits(PROBE), logits)
    assert list(learner.classes) == classes
    # A second try must not add the same samples again.
    with pytest.raises(NumericalError):
        learner.fit_session(*huge)
    fit(build(name, **{**METHODS[name], "ridge": 1e-3}), [STREAM[0], huge])  # float64 can


# --- building -------------------------------------------------------------------------------------


def test_unknown_method_names_the_known_ones() -> None:
    known = "".join(rf"(?=.*\b{method}\b)" for method in METHODS)
    for name in ("sparcle", "SPARCL", "", "sparcl_alg1", "os", "../acil", "learner"):
        with pytest.raises(InputError, match=rf"(?s){known}"):
            build(name)


def test_unknown_hyper_parameter_names_the_known_ones() -> None:
    with pytest.raises(InputError, match=r"'klda'.*'lamda'.*width, sigma, kappa, ridge, .*seed"):
        build("klda", lamda=1.0)


# A setting that is wrong, with the text that names it and what it may be.
RULES = ("newest", "gcv", "all")
WRONG = [
    *(("sparcl", {"tau": t}, r"tau = .*in \(0, 1\).*k = 0 or k = d") for t in (0.0, 1.0, "0.5")),
    *(("sparcl", {"tau": [0.5, t]}, r"tau = .*in \(0, 1\)") for t in (-0.2, float("nan"))),
    ("sparcl", {"tau": None}, "energy threshold tau or a rank k"),
    ("sparcl-plus-1", {"tau_map": 1.0}, r"tau_map = 1\.0: it must be a number in \(0, 1\)"),
    *(("acil", {"ridge": r}, "ridge = .*above 0") for r in (0.0, -1.0, float("inf"), True)),
    ("acil", {"ridge": [1.0, float("nan")]}, "ridge = nan: it must be a finite number above 0"),
    ("acil", {"ridge": "1"}, "ridge = '1'.*number above 0, or newest, gcv, all, gaussian"),
    ("ranpac", {"ridges": "wide"}, "ridges = 'wide': it must be a list of numbers"),
    *(
        ("ranpac", {"ridges": [1.0, g], "ridge": r}, "ridges = ")
        for g, r in ((0.0, "gcv"), (-1.0, "all"))
    ),
    ("ranpac", {"validation_share": 1.0}, r"validation_share = 1\.0.*in \(0, 1\)"),
    ("sparcl", {"refresh": -1}, "refresh = -1: it must be an integer of at least 0"),
    ("sparcl", {"k": 2.5}, r"k = 2\.5"),
    ("klda-e", {"members": 10**12}, "members = 1000000000000: .*at most 1000"),
    ("acil", {"ridge": 10**400}, "ridge = 10+: it must be a finite number above 0"),
    ("sparcl-plus-1", {"width": -1}, "width = -1"),
    ("ranpac", {"width": 2.5}, r"width = 2\.5"),
    ("sparcl-alg1", {"m": -1}, "m = -1"),
    ("acil", {"dtype": "float15"}, "dtype = 'float15': .* one of float64, float32"),
    ("ranpac", {"dtype": "float15"}, "dtype = 'float15': .* one of float64, float32"),
    ("slda", {"shrinkage": 2}, r"shrinkage = 2: it must be a number in \(0, 1\)\. .*identity"),
    ("flycl", {"level": 1.5}, r"level = 1\.5: it must be a number in \(0, 1\)\. Level 1 keeps all"),
    ("loranpac", {"kept": 1.0}, r"kept = 1\.0: it must be a number in \(0, 1\)\. .*bounds the"),
    *(
        ("sparcl", {switch: value}, rf"{switch} = '{value}'.*one of")
        for switch, value in (
            ("coupling", "loose"),
            ("new_classes", "none"),
            ("reappearing", "melted"),
            ("update", "fast"),
            ("expansion", "cubic"),
        )
    ),
    *(
        ("sparcl", {"expansion": kind, "m": m}, rf"'{kind}' with m = {m}")
        for kind, m in (("none", 3), ("linear", 0), ("relu", 0), ("topk", 0))
    ),
    *(
        ("sparcl", {"ridge": rule, "tau": [0.4, 0.8]}, "cannot tell cores apart: give one tau or k")
        for rule in RULES[:2]
    ),
    ("sparcl", {"condition_limit": 10.0, "trust_degrees": 10.0}, "condition_limit and trust_deg"),
    *(("compose", {"head": "ridged-scatter", "ridge": r}, "ridge = 'gaussian'") for r in RULES),
    *(
        ("compose", {"map": {"random": {"width": 5} | {key: value}}}, f"^{key} = ")
        for key, value in {"draw": "cauchy", "activation": "tanh", "level": 0.0}.items()
    ),
]


# A setting outside its range.
OUTSIDE = {
    "ranpac": {"width": 0, "seed": -1},
    "flycl": {"nonzeros": 0},
    "sparcl": {"condition_limit": 0.0, "trust_degrees": 90.0, "warmup": 0},
    "slda": {"shrinkage": 1.0, "covariance": "pooled"},
    "klda": {"ridge": -0.1, "sigma": "mean", "kappa": 0.0, "width": 0, "seed": -1},
    "klda-e": {"ridge": -0.1, "members": 0, "kappa": -1.0, "width": 0, "seed": -1},
    "ridge-lda": {"ridges": [0.0], "exponents": [-1.0], "mixtures": [1.5], "seed": -1},
    "lr-rgda": {"own": -1.0, "shared": 0.0, "alpha": 0.0, "a3": -1.0, "rank": 0},
    "anacp": {"ridge": 0.0, "second": 0.0, "members": 0, "draws": 0, "width": 0, "official": 1},
    "randumb": {"width": 2.5, "embedding": "tanh", "seed": -1},
    "fecam": {"alpha": 0.0},
    "fenec": {"alpha2": -1.0, "centroids": 0, "neighbours": 0, "votes": "both", "seed": -1},
    "srda": {"own": 1.0, "epsilon": 0.0, "official": 1},
    "teen": {"shift": 1.0},
    "c-fecam": {"floor": 0.0, "shift": 0.0, "literal": 1},
    "c-ranpac": {"width": 0, "draws": 0, "shift": 1.5, "cosine": 1, "ridge": "newest", "seed": -1},
    "icarl-nme": {"memory": 0},
    "slca-frozen": {"rate": 0.0, "epochs": 0, "alignment": -1, "scale": -1.0, "seed": 0.5},
    "ft-head": {"rate": float("nan"), "epochs": 0, "batch": 0, "scale": "rootd", "seed": -1},
    "derpp-head": {"buffer": 0, "alpha": -1.0, "beta": 0.0, "rate": "1", "epochs": 0, "batch": 0},
}


def test_a_wrong_setting_is_named_with_what_it_may_be() -> None:
    for name, hyper, text in WRONG:
        with pytest.raises(InputError, match=text):
            build(name, **hyper)
    for text in ("10", 0.0):  # of another type, or 0
        for key in ("condition_limit", "trust_degrees"):
            with pytest.raises(InputError, match=rf"^{key} = "):
                build("sparcl", **{key: text})
    for name, settings in OUTSIDE.items():
        for key, value in settings.items():
            with pytest.raises(InputError, match=rf"\b{key}\b"):
                build(name, **{key: value})


def test_a_width_that_no_machine_holds_says_how_much_it_takes() -> None:
    said = r"takes [\d,.]+ GiB of memory, and this machine has [\d,.]+:"
    for name in ("ranpac", "acil-rhl", "dsal", "klda", "loranpac", "sparcl-plus-1"):
        with pytest.raises(InputError, match=said):
            build(name, width=10**10).fit_session(*STREAM[0])


def test_a_core_larger_than_the_features_is_refused_at_once() -> None:
    learner = build("sparcl", k=17)
    with pytest.raises(InputError, match="session 1: k = 17 exceeds the 16 feature dimensions"):
        learner.fit_session(*STREAM[0])
    wide = [(np.hstack([Phi, Phi[:, :4]]), y) for Phi, y in STREAM]
    untouched = fit(build("sparcl", k=17), wide)
    assert np.array_equal(fit(learner, wide).weights, untouched.weights)
