"""The learners through their public protocol, against naive restatements."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import partitioned, peers, ridge
from reference.streams import Session, fit, synthetic_stream

from sparcl.methods import build
from sparcl.parts.rules import WIDE as RIDGES

SMALL: dict[str, dict] = {  # few random features, so that the naive side is quick
    "ncm": {},
    "acil": {"ridge": 0.1},
    "sparcl": {"ridge": 0.1, "tau": 0.6, "refresh": 1},
    "sparcl-alg1": {"ridge": 0.1, "tau": 0.6, "refresh": 2},
    "sparcl-plus-1": {
        "ridge": 0.1,
        "tau": 0.5,
        "tau_map": 0.8,
        "refresh": 1,
        "width": 30,
        "seed": 3,
    },
    "ranpac": {"width": 40, "seed": 3},
    "acil-rhl": {"width": 40, "seed": 3},
    "gacl": {"ridge": 0.5, "width": 40, "seed": 3},
    "dsal": {"width": 40, "seed": 3},
    "gkeal": {"width": 20, "seed": 3},
    "air": {"width": 40, "seed": 3},
    "real-ffb": {"width": 40, "seed": 3},
    "foal": {"width": 40, "seed": 3},
    "flycl": {"ridges": RIDGES, "width": 40, "nonzeros": 8, "seed": 3},
    "loranpac": {"width": 40, "seed": 3},
    "slda": {},
    "klda": {"width": 40, "ridge": 0.1, "seed": 3},
    "randumb": {"width": 40, "seed": 3},
    "fecam": {},
    "layup": {"blocks": 2},
    "ridge-lda": {"exponents": [1.0, 0.5], "seed": 3},
    "lr-rgda": {"rank": 6},
    "klda-e": {"width": 40, "members": 2, "seed": 3},
    "anacp": {"width": 40, "members": 2, "draws": 5, "seed": 3},
    "icarl-nme": {"memory": 30},
    "slca-frozen": {"epochs": 3, "alignment": 2, "scale": "root-d", "seed": 3},
    "ft-head": {"epochs": 3, "scale": "root-d", "seed": 3},
    "derpp-head": {"buffer": 20, "epochs": 3, "scale": "root-d", "seed": 3},
}
WIDE = {  # official widths, slow to factor
    "ranpac": 10_000,
    "randumb": 10_000,
    "klda": 5_000,
    "klda-e": 5_000,
    "anacp": 5_000,
    "acil-rhl": 8_192,
    "gacl": 5_000,
    "dsal": 8_192,
    "air": 8_192,
    "real-ffb": 8_192,
    "flycl": 10_000,
    "loranpac": 100_000,
}
SOFTMAX = ["slca-frozen", "ft-head", "derpp-head"]  # trained in batches, from columns drawn by rank
LINEAR = ["acil", "sparcl", "sparcl-alg1"]
# one method a kind of part and of learner: the others compose the same parts
KINDS = [n for n in SMALL if n not in ("sparcl", "acil-rhl", "gacl", "real-ffb", "foal")]


# --- the protocol ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SMALL)
def test_defaults_suffice(name: str) -> None:
    if name in WIDE:
        learner = build(name)
        assert getattr(learner, "map", learner).width == WIDE[name]
        return
    sessions = synthetic_stream(seed=1, sessions=2, classes=2, samples=20, noise=0.2)
    learner = fit(build(name), sessions)
    assert isinstance(learner.report(), dict)
    # head-only surrogates forget, so they are asked for the last session
    Phi, y = sessions[-1 if name in ("ft-head", "derpp-head") else 0]
    assert np.mean(learner.predict(Phi) == y) > 0.25  # above chance among four classes


@pytest.mark.parametrize("name", SMALL)
def test_protocol(name: str, stream: list[Session], probe: np.ndarray) -> None:
    learner = build(name, **SMALL[name])
    for t, (Phi, y) in enumerate(stream):
        learner.fit_session(Phi, y)
        classes = ridge.class_list(stream[: t + 1])
        assert list(learner.classes) == classes
        logits = learner.logits(probe)
        assert logits.shape == (len(probe), len(classes))
        assert logits.dtype == np.float64
        assert np.isfinite(logits).all()
        predicted = learner.predict(probe)
        assert predicted.tolist() == [classes[j] for j in logits.argmax(axis=1)]


@pytest.mark.parametrize("name", ["acil", "sparcl", "sparcl-alg1", "sparcl-plus-1", "ranpac"])
def test_logits_are_expanded_features_times_weights(
    name: str, stream: list[Session], probe: np.ndarray
) -> None:
    learner = fit(build(name, **SMALL[name]), stream)
    expanded = learner.expand(probe)
    assert learner.logits(probe) == pytest.approx(expanded @ learner.weights, abs=1e-12)
    if name in LINEAR:
        assert np.array_equal(expanded, probe)


@pytest.mark.parametrize("name", KINDS)
def test_inputs_are_not_written_to_nor_kept(name: str, stream: list[Session]) -> None:
    learner = build(name, **SMALL[name])
    for Phi, y in stream[:2]:
        mine, labels = Phi.copy(), y.copy()
        learner.fit_session(mine, labels)
        assert np.array_equal(mine, Phi)
        assert np.array_equal(labels, y)
        before = learner.logits(Phi)
        mine[:], labels[:] = 7.0, 0
        assert np.array_equal(learner.logits(Phi), before)


@pytest.mark.parametrize("name", KINDS)
def test_float16_features_are_summed_in_float64(name: str, stream: list[Session]) -> None:
    half = [(Phi.astype(np.float16), y.astype(np.int32)) for Phi, y in stream]
    wide = [(Phi.astype(np.float64), y) for Phi, y in half]
    a, b = fit(build(name, **SMALL[name]), half), fit(build(name, **SMALL[name]), wide)
    assert a.logits(wide[0][0]) == pytest.approx(b.logits(wide[0][0]), abs=1e-12)
    assert a.logits(half[0][0]) == pytest.approx(b.logits(wide[0][0]), abs=1e-12)


@pytest.mark.parametrize("name", KINDS)
def test_two_equal_runs_agree_to_the_bit(
    name: str, stream: list[Session], probe: np.ndarray
) -> None:
    a, b = (fit(build(name, **SMALL[name]), stream).logits(probe) for _ in range(2))
    assert np.array_equal(a, b)


@pytest.mark.parametrize("name", ["sparcl-plus-1", "ranpac", "klda", "randumb"])
def test_the_seed_decides_the_map(name: str, stream: list[Session], probe: np.ndarray) -> None:
    one = fit(build(name, **{**SMALL[name], "seed": 1}), stream).expand(probe)
    two = fit(build(name, **{**SMALL[name], "seed": 2}), stream).expand(probe)
    assert one.shape == two.shape
    assert not np.allclose(one, two)


@pytest.mark.parametrize(
    "name", [*LINEAR, "sparcl-plus-1", "acil-rhl", "dsal", "gkeal", "air", "foal"]
)
def test_float32_is_close_to_float64(name: str, stream: list[Session], probe: np.ndarray) -> None:
    single = fit(build(name, **SMALL[name], dtype="float32"), stream)
    double = fit(build(name, **SMALL[name]), stream)
    assert single.weights.dtype == np.float32
    assert single.logits(probe) == pytest.approx(double.logits(probe), abs=5e-4)


@pytest.mark.parametrize("name", ["acil", "sparcl", "sparcl-alg1", "sparcl-plus-1", "foal"])
def test_a_grid_is_its_points_one_by_one(
    name: str, stream: list[Session], probe: np.ndarray
) -> None:
    ridges, taus = [10.0, 0.05, 1.0], [0.9, 0.3, 0.7] if "tau" in SMALL[name] else [None]
    rest = {key: v for key, v in SMALL[name].items() if key not in ("ridge", "tau")}

    def at(ridge: object, tau: object) -> object:
        return build(name, ridge=ridge, **rest, **({} if tau in (None, [None]) else {"tau": tau}))

    grid = at(ridges, taus)
    points = {(i, j): at(a, b) for i, a in enumerate(ridges) for j, b in enumerate(taus)}
    for Phi, y in stream:
        grid.fit_session(Phi, y)
        scores = grid.scores(probe)
        assert list(scores) == list(points)
        for key, learner in points.items():
            learner.fit_session(Phi, y)
            assert scores[key] == pytest.approx(learner.logits(probe), abs=1e-10)


def test_one_point_is_the_learner_of_its_defaults(stream: list[Session]) -> None:
    """A grid leaves the other settings at the defaults of the method: tau is 0.5 here."""
    one = fit(build("sparcl-plus-1", ridge=[1.0], width=30), stream)
    given = fit(build("sparcl-plus-1", ridge=1.0, width=30), stream)
    assert np.array_equal(one.weights, given.weights)
    assert one.report() == given.report()
    assert one.report()["tau"] == 0.5


# --- symmetries -----------------------------------------------------------------------------------


@settings(max_examples=4)
@given(seed=st.integers(0, 10**6))
# RanPAC, LayUP and the sum of heads hold rows out by their place, GKEAL takes centres
@pytest.mark.parametrize(
    "name", [n for n in KINDS if n not in ("ranpac", "gkeal", "layup", "ridge-lda", *SOFTMAX)]
)
def test_samples_may_come_in_any_order(name: str, seed: int) -> None:
    # Left out: which fifth of a session validates (RanPAC) or which rows are centres
    # (GKEAL) or a batch follows their order.
    sessions = synthetic_stream(sessions=3, classes=2, samples=6, dimension=10)
    rng = np.random.default_rng(seed)
    shuffled = []
    for Phi, y in sessions:
        rows = rng.permutation(len(y))
        shuffled.append((Phi[rows], y[rows]))
    probe = rng.standard_normal((5, 10))
    a, b = (fit(build(name, **SMALL[name]), s).logits(probe) for s in (sessions, shuffled))
    assert a == pytest.approx(b, abs=1e-8)


@settings(max_examples=4)
@given(seed=st.integers(0, 10**6))
@pytest.mark.parametrize("name", [n for n in KINDS if n not in (*SOFTMAX, "anacp", "ridge-lda")])
def test_class_names_do_not_matter(name: str, seed: int) -> None:
    # Left out: what draws by column, and columns follow labels (test_heads.py, test_closed_peers.py).
    sessions = synthetic_stream(sessions=3, classes=2, samples=6, dimension=10)
    rng = np.random.default_rng(seed)
    names = rng.choice(10_000, size=6, replace=False)
    renamed = [(Phi, names[y]) for Phi, y in sessions]
    probe = rng.standard_normal((5, 10))
    a, b = (fit(build(name, **SMALL[name]), s) for s in (sessions, renamed))
    columns = [list(b.classes).index(names[c]) for c in a.classes]
    assert a.logits(probe) == pytest.approx(b.logits(probe)[:, columns], abs=1e-9)
    assert np.array_equal(names[a.predict(probe)], b.predict(probe))


@settings(max_examples=4)
@given(factor=st.floats(0.05, 20.0))
@pytest.mark.parametrize("name", LINEAR)
def test_scaling_features_by_a_and_ridge_by_a_squared_changes_no_logit(
    name: str, factor: float
) -> None:
    sessions = synthetic_stream(sessions=3, classes=2, samples=6, dimension=10)
    scaled = [(factor * Phi, y) for Phi, y in sessions]
    probe = np.random.default_rng(0).standard_normal((5, 10))
    hyper = SMALL[name]
    a = fit(build(name, **hyper), sessions)
    b = fit(build(name, **{**hyper, "ridge": hyper["ridge"] * factor**2}), scaled)
    assert b.logits(factor * probe) == pytest.approx(a.logits(probe), abs=1e-8)


def test_ncm_ignores_the_scale_of_features(stream: list[Session], probe: np.ndarray) -> None:
    a = fit(build("ncm"), stream).logits(probe)
    b = fit(build("ncm"), [(40.0 * Phi, y) for Phi, y in stream]).logits(3.0 * probe)
    assert a == pytest.approx(b, abs=1e-12)


def test_ranpac_follows_the_scale_of_features(stream: list[Session], probe: np.ndarray) -> None:
    # The grid is one of tens, so features times 10 choose a ridge times 100 and the same logits.
    a = fit(build("ranpac", **SMALL["ranpac"]), stream)
    b = fit(build("ranpac", **SMALL["ranpac"]), [(10.0 * Phi, y) for Phi, y in stream])
    assert 1e-8 < a.report()["ridge"] < 1e6
    assert b.report()["ridge"] == pytest.approx(100.0 * a.report()["ridge"])
    assert b.logits(10.0 * probe) == pytest.approx(a.logits(probe), abs=1e-8)


# --- nearest class mean ---------------------------------------------------------------------------


def test_ncm_is_the_cosine_with_class_means(stream: list[Session], probe: np.ndarray) -> None:
    learner = build("ncm")
    for t, (Phi, y) in enumerate(stream):
        learner.fit_session(Phi, y)
        expected = peers.ncm_logits(stream[: t + 1], probe)
        assert learner.logits(probe) == pytest.approx(expected, abs=1e-12)


def test_ncm_averages_a_class_over_sessions(stream: list[Session], probe: np.ndarray) -> None:
    Phi, y = stream[0]
    parts = [(Phi[:20], y[:20]), (Phi[20:], y[20:])]
    whole = fit(build("ncm"), [(Phi, y)])
    cut = fit(build("ncm"), parts)
    columns = [list(cut.classes).index(c) for c in whole.classes]
    assert cut.logits(probe)[:, columns] == pytest.approx(whole.logits(probe), abs=1e-12)


def test_ncm_scores_a_zero_vector_without_nan(stream: list[Session]) -> None:
    learner = fit(build("ncm"), stream)
    assert np.array_equal(learner.logits(np.zeros((1, 16))), np.zeros((1, 12)))


# --- Algorithm 1 ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ridge", "tau", "refresh"),
    [(0.05, 0.4, 1), (0.05, 0.8, 2), (0.05, 0.95, 0), (1.0, 0.4, 3), (1.0, 0.8, 0), (1.0, 0.95, 1)],
)
def test_algorithm_1_is_what_the_paper_prints(
    stream: list[Session], probe: np.ndarray, ridge: float, tau: float, refresh: int
) -> None:
    learner = build("sparcl-alg1", ridge=ridge, tau=tau, refresh=refresh)
    for (Phi, y), state in zip(
        stream, partitioned.algorithm_1(stream, ridge, refresh, tau), strict=True
    ):
        learner.fit_session(Phi, y)
        assert learner.logits(probe) == pytest.approx(probe @ state.W, abs=1e-8)
        assert learner.weights == pytest.approx(state.W, abs=1e-8)


@pytest.mark.parametrize("m", [1, 4])
@pytest.mark.parametrize("refresh", [0, 1, 2])
def test_algorithm_1_with_linear_expansion_in_explicit_coordinates(
    stream: list[Session], probe: np.ndarray, m: int, refresh: int
) -> None:
    learner = build("sparcl-alg1", ridge=0.3, tau=0.6, refresh=refresh, m=m, seed=5)
    W = np.zeros((16, 0))
    for t, (Phi, y) in enumerate(stream):
        learner.fit_session(Phi, y)
        U = learner.core.U_core
        if t == 0:  # no partition, no expansion
            assert learner.core.Qs == []
            Q = np.zeros((16, 0))
        else:
            Q = learner.core.Qs[0]
            assert Q.shape == (16, m)
            assert np.abs(Q.T @ Q - np.eye(m)).max() < 1e-12
            assert np.abs(U.T @ Q).max(initial=0.0) < 1e-12
        W, _ = partitioned.algorithm_1_expanded(stream[: t + 1], 0.3, U, Q, W)
        assert learner.logits(probe) == pytest.approx(probe @ W, abs=1e-8)
        assert learner.logits(probe) == pytest.approx(
            learner.expand(probe) @ learner.weights, abs=1e-10
        )


# --- SPARCL with a map of the residual ------------------------------------------------------------


def plus_states(learner: object, sessions: list[Session], hyper: dict) -> list[partitioned.State]:
    return partitioned.sparcl_plus(
        sessions,
        hyper["ridge"],
        hyper["refresh"],
        hyper["tau"],
        hyper["tau_map"],
        learner.map.weights,
    )


@pytest.mark.parametrize(
    ("ridge_value", "tau", "tau_map", "refresh"),
    [(0.05, 0.3, 0.3, 1), (0.05, 0.9, 0.5, 2), (1.0, 0.5, 0.8, 0), (1.0, 0.9, 0.5, 1)],
)
def test_plus_in_expanded_coordinates(
    stream: list[Session],
    probe: np.ndarray,
    ridge_value: float,
    tau: float,
    tau_map: float,
    refresh: int,
) -> None:
    hyper = {
        **SMALL["sparcl-plus-1"],
        "ridge": ridge_value,
        "tau": tau,
        "tau_map": tau_map,
        "refresh": refresh,
    }
    learner = build("sparcl-plus-1", **hyper)
    learner.fit_session(*stream[0])
    states = plus_states(learner, stream, hyper)
    first = stream[0][0]
    U_map = partitioned.core_basis(first.T @ first, tau_map)
    assert learner.map.basis @ learner.map.basis.T == pytest.approx(U_map @ U_map.T, abs=1e-10)
    rows = partitioned.residual_map(probe, U_map, learner.map.weights)
    for t, state in enumerate(states):
        if t:
            learner.fit_session(*stream[t])
        assert learner.expand(probe) == pytest.approx(rows, abs=1e-9)
        assert learner.weights == pytest.approx(state.W, abs=1e-8)
        assert learner.logits(probe) == pytest.approx(rows @ state.W, abs=1e-8)


def test_plus_keeps_its_map_from_the_base_session(stream: list[Session]) -> None:
    learner = build("sparcl-plus-1", **SMALL["sparcl-plus-1"])
    learner.fit_session(*stream[0])
    weights, basis = learner.map.weights.copy(), learner.map.basis.copy()
    fit(learner, stream[1:])
    assert np.array_equal(learner.map.weights, weights)
    assert np.array_equal(learner.map.basis, basis)
    assert weights.shape == (16, 30)


def test_plus_map_has_no_output_where_there_is_no_residual(stream: list[Session]) -> None:
    learner = fit(build("sparcl-plus-1", **SMALL["sparcl-plus-1"]), stream[:1])
    basis = learner.map.basis
    combination = np.random.default_rng(0).standard_normal((6, basis.shape[1]))
    # What rounding leaves of a vector inside the basis is not a direction: it must not be blown up
    # to unit length.
    inside = np.concatenate([np.zeros((1, 16)), combination @ basis.T])
    expanded = learner.expand(inside)
    assert np.array_equal(expanded[:, :16], inside)
    assert np.array_equal(expanded[:, 16:], np.zeros((7, 30)))


def test_plus_map_sees_only_the_direction_of_the_residual(
    stream: list[Session], probe: np.ndarray
) -> None:
    learner = fit(build("sparcl-plus-1", **SMALL["sparcl-plus-1"]), stream[:1])
    basis = learner.map.basis
    shifted = 5.0 * probe + np.ones((len(probe), basis.shape[1])) @ basis.T
    a, b = learner.expand(probe)[:, 16:], learner.expand(shifted)[:, 16:]
    assert a == pytest.approx(b, abs=1e-10)
    assert a.max() > 0


def test_plus_freezes_old_columns_in_the_linear_core_only(stream: list[Session]) -> None:
    learner = build("sparcl-plus-1", **SMALL["sparcl-plus-1"])
    for t, (Phi, y) in enumerate(stream):
        before = learner.weights.copy() if t else None
        learner.fit_session(Phi, y)
        if t == 0:
            continue
        core = learner.core.U_core
        assert core.shape[0] == 16 and core.shape[1] > 0
        after = learner.weights[:, : before.shape[1]]
        assert core.T @ after[:16] == pytest.approx(core.T @ before[:16], abs=1e-10)
        assert np.abs(after[16:] - before[16:]).max() > 1e-4


# --- RanPAC ---------------------------------------------------------------------------------------


def ranpac_map(learner: object, dimension: int) -> np.ndarray:
    """The weights of h = relu(f W), from the images of the unit vectors and their negatives."""
    return learner.expand(np.eye(dimension)) - learner.expand(-np.eye(dimension))


def test_ranpac_features_are_a_gaussian_relu_map(stream: list[Session]) -> None:
    learner = build("ranpac", width=4000, seed=0)
    learner.begin(stream[0][0])
    W = ranpac_map(learner, 16)
    assert W.shape == (16, 4000)
    Phi = stream[1][0]
    assert learner.expand(Phi) == pytest.approx(np.maximum(Phi @ W, 0.0), abs=1e-12)
    # 64,000 draws of N(0, 1): mean, variance and fourth moment within five standard errors.
    assert W.mean() == pytest.approx(0.0, abs=5 / np.sqrt(W.size))
    assert W.var() == pytest.approx(1.0, abs=5 * np.sqrt(2 / W.size))
    assert np.mean(W**4) == pytest.approx(3.0, abs=5 * np.sqrt(96 / W.size))
    assert np.abs(np.corrcoef(W)[np.triu_indices(16, 1)]).max() < 5 / np.sqrt(4000)


@pytest.mark.parametrize("width", [15, 40, 90])  # below, near and above the 28 training rows
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_ranpac_is_17_primal_solves(
    stream: list[Session], probe: np.ndarray, width: int, seed: int
) -> None:
    learner = build("ranpac", width=width, seed=seed)
    for t, (Phi, y) in enumerate(stream):
        learner.fit_session(Phi, y)
        train, val = learner.rule.holdout.split(y, t)
        assert len(train) == int(0.8 * len(y))
        assert sorted([*train, *val]) == list(range(len(y)))
        W = ranpac_map(learner, 16)
        losses = peers.ranpac_losses(np.maximum(Phi @ W, 0.0), y, train, val)
        chosen = learner.report()["ridge"]
        assert chosen == pytest.approx(peers.GRID[int(np.argmin(losses))], rel=1e-12)
        expected = peers.ranpac_weights(stream[: t + 1], W, chosen)
        assert learner.weights == pytest.approx(expected, abs=1e-8)
        logits = np.maximum(probe @ W, 0.0) @ expected
        assert learner.logits(probe) == pytest.approx(logits, abs=1e-8)


def test_ranpac_validates_on_a_shuffled_fifth() -> None:
    sessions = synthetic_stream(sessions=2, classes=3, samples=12, dimension=16)
    grouped = [(Phi[np.argsort(y)], np.sort(y)) for Phi, y in sessions]
    learner = fit(build("ranpac", width=20, seed=0), grouped)
    train, val = learner.rule.holdout.split(grouped[1][1], 1)
    # Without a shuffle the last fifth of grouped rows would hold one class alone.
    assert len(set(grouped[1][1][val].tolist())) > 1
    assert set(grouped[1][1][train].tolist()) == set(grouped[1][1].tolist())
