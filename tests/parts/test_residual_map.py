"""Random directions and frozen maps inside the residual."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import solver as naive
from reference.ridge import class_list, constrained_ridge, joint_ridge, sums
from reference.solver import core_basis
from reference.streams import PROBE, STREAM, alike, fit, growing

from sparcl.algebra.partition import residual_directions
from sparcl.base.errors import InputError
from sparcl.base.randomness import generator
from sparcl.methods import build
from sparcl.parts.maps import ResidualMap

NONLINEAR = ["relu", "topk", "rbf"]


# --- linear ---------------------------------------------------------------------------------------


@given(
    seed=st.integers(0, 1000),
    d=st.integers(1, 40),
    k=st.integers(0, 40),
    m=st.integers(1, 40),
)
def test_directions_are_orthonormal_and_outside_the_core(seed: int, d: int, k: int, m: int) -> None:
    rng = np.random.default_rng(seed)
    k = min(k, d)
    U = np.linalg.qr(rng.standard_normal((d, d)))[0][:, :k]
    if m > d - k:
        with pytest.raises(InputError, match=rf"m = {m} .*rank {d - k} .*d = {d}, k = {k}"):
            residual_directions(U, m, generator("test", seed))
        return
    Q = residual_directions(U, m, generator("test", seed))
    assert Q.shape == (d, m)
    assert np.abs(Q.T @ Q - np.eye(m)).max() < 1e-13
    assert np.abs(U.T @ Q).max(initial=0.0) < 1e-13


def test_directions_are_uniform_in_the_residual() -> None:
    """No direction of the residual is preferred: the mean of Q Q^T is (m / r) P_res."""
    U = np.linalg.qr(np.random.default_rng(0).standard_normal((6, 6)))[0][:, :2]
    draws = 4000
    mean = np.zeros((6, 6))
    for i in range(draws):
        Q = residual_directions(U, 1, generator("uniform", i))
        mean += Q @ Q.T / draws
    assert mean == pytest.approx((np.eye(6) - U @ U.T) / 4, abs=5 * 0.25 / np.sqrt(draws))


@pytest.mark.parametrize("refresh", [0, 1, 2])
@pytest.mark.parametrize(
    "switches",
    [
        {},
        {"new_classes": "residual", "coupling": "dropped"},
        {"new_classes": "residual"},
        {"freeze": False},
    ],
)
def test_linear_in_explicit_coordinates(switches: dict, refresh: int) -> None:
    learner = build(
        "sparcl", ridge=0.2, tau=0.6, refresh=refresh, expansion="linear", m=4, seed=2, **switches
    )
    Qs, renewed = [], set()
    for so_far in growing(learner, STREAM):
        Qs.append(learner.core.Qs[0].copy() if learner.core.Qs else np.zeros((16, 0)))
        if learner.report()["renewed"]:
            renewed.add(len(so_far))
        expected = naive.solver(so_far, 0.2, renewed, tau=0.6, Qs=Qs, **switches)[-1]
        assert learner.weights == pytest.approx(expected.W, abs=1e-8)
    assert renewed == {0: {2}, 1: {2, 3, 4}, 2: {2, 4}}[refresh]
    plain = fit(build("sparcl", ridge=0.2, tau=0.6, refresh=refresh, **switches), STREAM)
    assert np.abs(plain.weights - learner.weights).max() > 1e-4


def test_directions_are_drawn_anew_with_each_partition() -> None:
    learner = build("sparcl-alg1", ridge=0.2, tau=0.6, refresh=2, m=3, seed=1)
    seen = []
    for _ in growing(learner, STREAM):
        seen.append(learner.core.Qs[0].copy() if learner.core.Qs else None)
        if seen[-1] is not None:
            assert np.abs(learner.core.U_core.T @ seen[-1]).max() < 1e-13
    assert seen[0] is None
    assert np.array_equal(seen[1], seen[2])  # sessions 2 and 3 share a partition
    assert np.abs(seen[2] - seen[3]).max() > 1e-2
    other = fit(build("sparcl-alg1", ridge=0.2, tau=0.6, refresh=2, m=3, seed=2), STREAM)
    assert np.abs(other.core.Qs[0] - seen[3]).max() > 1e-2


def test_linear_halves_the_ridge_along_its_directions() -> None:
    """Without a frozen column, [f ; Q^T f] is a ridge I - (ridge / 2) Q Q^T on f."""
    learner = fit(
        build("sparcl", ridge=0.4, tau=0.6, refresh=1, expansion="linear", m=5, freeze=False),
        STREAM,
    )
    Phi = np.concatenate([block for block, _ in STREAM])
    y = np.concatenate([labels for _, labels in STREAM])
    Y = (y[:, None] == np.array(learner.classes)).astype(float)
    penalty = 0.4 * np.eye(16) - 0.2 * learner.core.Qs[0] @ learner.core.Qs[0].T
    assert learner.weights == pytest.approx(
        np.linalg.inv(Phi.T @ Phi + penalty) @ Phi.T @ Y, abs=1e-9
    )


@pytest.mark.parametrize("rule", [0.2, "all"])
def test_too_many_directions_change_nothing(rule: float | str) -> None:
    hyper = {"ridge": rule, "tau": 0.6, "refresh": 2, "expansion": "linear"}
    learner = fit(build("sparcl", m=16, **hyper), STREAM[:1])
    before = learner.state()
    for _ in range(2):
        with pytest.raises(InputError, match=r"session 2: m = 16"):
            learner.fit_session(*STREAM[1])
        assert alike(before, learner.state())


# --- nonlinear maps -------------------------------------------------------------------------------


def begun(
    kind: str, base: np.ndarray, width: int, tau_map: float = 0.5, seed: int = 0
) -> ResidualMap:
    frozen = ResidualMap(width, kind, tau_map, seed)
    frozen.begin(base)
    return frozen


def naive_map(kind: str, frozen: ResidualMap, f: np.ndarray) -> np.ndarray:
    """One row: [f ; g(unit residual) / sqrt(M)]."""
    U, W, M = frozen.basis, frozen.weights, frozen.width
    residual = f - U @ (U.T @ f)
    h = (residual / np.linalg.norm(residual)) @ W
    if kind == "relu":
        h = np.where(h > 0, h, 0.0)
    elif kind == "topk":
        kept = set(np.argsort(-h)[: int(0.3 * M)].tolist())
        h = np.array([value if i in kept else 0.0 for i, value in enumerate(h)])
    else:
        h = np.cos(h / frozen.bandwidth + frozen.phases)
    return np.concatenate([f, h / np.sqrt(M)])


@pytest.mark.parametrize("kind", NONLINEAR)
def test_map_row_by_row(kind: str) -> None:
    for width in (1, 7, 64):
        frozen = begun(kind, STREAM[0][0], width, seed=4)
        assert frozen(PROBE.astype(np.float32)).dtype == np.float32
        if kind == "topk" and width == 1:  # at least one output stays
            assert np.count_nonzero(frozen(PROBE)[:, 16:], axis=1).tolist() == [1] * 40
            continue
        expected = np.array([naive_map(kind, frozen, f) for f in PROBE])
        assert frozen(PROBE) == pytest.approx(expected, abs=1e-13)


@pytest.mark.parametrize("kind", NONLINEAR)
def test_what_is_drawn(kind: str) -> None:
    base = np.random.default_rng(0).standard_normal((2, 400))
    frozen = begun(kind, base, 50, seed=3)
    W = frozen.weights
    assert W.shape == (400, 50)
    assert np.array_equal(W, begun(kind, base, 50, seed=3).weights)
    assert not np.array_equal(W, begun(kind, base, 50, seed=4).weights)
    drawn = W[W != 0]
    assert (np.count_nonzero(W, axis=0) == (300 if kind == "topk" else 400)).all()
    assert drawn.mean() == pytest.approx(0, abs=5 / np.sqrt(len(drawn)))
    assert drawn.var() == pytest.approx(1, abs=5 * np.sqrt(2 / len(drawn)))
    if kind == "rbf":
        assert frozen.phases.min() >= 0 and frozen.phases.max() < 2 * np.pi
    narrow = begun(kind, base[:, :20], 5, seed=3).weights
    assert (np.count_nonzero(narrow, axis=0) == 20).all()


def test_rbf_approximates_the_gaussian_kernel() -> None:
    """2 g(u)^T g(v) estimates exp(-|u - v|^2 / (2 bandwidth^2)), to 1 / sqrt(M)."""
    base = STREAM[0][0]
    U = core_basis(base.T @ base, 0.5)
    frozen = begun("rbf", base, 40_000)
    residual = base - base @ U @ U.T
    unit = residual / np.linalg.norm(residual, axis=1, keepdims=True)
    distances = [np.linalg.norm(u - v) for i, u in enumerate(unit) for v in unit[:i]]
    assert frozen.bandwidth == pytest.approx(np.median(distances), rel=1e-12)
    g = frozen(PROBE)[:, 16:]
    rows = PROBE - PROBE @ U @ U.T
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    squares = ((rows[:, None] - rows[None]) ** 2).sum(axis=2)
    kernel = np.exp(-squares / (2 * frozen.bandwidth**2))
    assert 2 * g @ g.T == pytest.approx(kernel, abs=6 / np.sqrt(40_000))
    for rows in (1, 4):  # of one row, or of copies, there is no distance
        assert begun("rbf", np.ones((rows, 5)), 3, tau_map=0.0).bandwidth == 1.0


@pytest.mark.parametrize("kind", NONLINEAR)
def test_a_vanishing_residual_is_zero_not_noise(kind: str) -> None:
    base = STREAM[0][0]
    U = core_basis(base.T @ base, 0.9)
    frozen = begun(kind, base, 30, tau_map=0.9)
    inside = np.random.default_rng(0).standard_normal((5, U.shape[1])) @ U.T
    rows = np.concatenate([np.zeros((1, 16)), inside])
    assert np.array_equal(frozen.residual(rows), np.zeros((6, 16)))
    out = frozen(rows)
    assert np.array_equal(out[:, :16], rows)
    outputs = np.cos(frozen.phases) / np.sqrt(30) if kind == "rbf" else np.zeros(30)
    assert out[:, 16:] == pytest.approx(np.tile(outputs, (6, 1)), abs=1e-15)


@pytest.mark.parametrize("kind", NONLINEAR)
def test_solver_over_a_map(kind: str) -> None:
    """The constrained ridge in [f ; g(u)] with the core in the linear coordinates alone."""
    learner = build(
        "sparcl", ridge=0.1, tau=0.7, refresh=1, expansion=kind, m=25, tau_map=0.6, seed=3
    )
    before = None
    for so_far in growing(learner, STREAM):
        rows = [
            (np.array([naive_map(kind, learner.map, f) for f in block]), labels)
            for block, labels in so_far
        ]
        R, C = sums(rows, class_list(rows))
        W = joint_ridge(R, C, 0.1)
        if before is not None:
            past = np.concatenate([block for block, _ in so_far[:-1]])
            U = core_basis(past.T @ past, 0.7)
            assert learner.core.U_core.shape == U.shape == (16, U.shape[1])
            wide = np.concatenate([U, np.zeros((25, U.shape[1]))])
            old = before.shape[1]
            W[:, :old] = constrained_ridge(R, C[:, :old], 0.1, wide, wide.T @ before)
            # frozen exactly in the linear coordinates
            assert U.T @ learner.weights[:16, :old] == pytest.approx(U.T @ before[:16], abs=1e-10)
            assert np.abs(learner.weights[16:, :old] - before[16:]).max() > 1e-4
        assert learner.weights == pytest.approx(W, abs=1e-8)
        before = learner.weights.copy()
    base = STREAM[0][0]
    U_map = core_basis(base.T @ base, 0.6)
    assert learner.map.basis @ learner.map.basis.T == pytest.approx(U_map @ U_map.T, abs=1e-10)


@pytest.mark.parametrize("ridge", [0.1, 2.0])
def test_a_map_of_the_whole_feature_is_a_joint_ridge(ridge: float) -> None:
    """tau_map = 0 leaves nothing out: the residual is the feature itself."""
    learner = fit(build("linear-relu", ridge=ridge, width=40, seed=3), STREAM)
    assert learner.map.basis.shape == (16, 0)
    Phi, y = (np.concatenate(part) for part in zip(*STREAM, strict=True))  # of unit norm
    X = np.hstack([Phi, np.maximum(Phi @ learner.map.weights, 0) / np.sqrt(40)])
    assert learner.expand(Phi) == pytest.approx(X, abs=1e-12)
    Y = (y[:, None] == learner.classes).astype(float)
    W = np.linalg.inv(X.T @ X + ridge * np.eye(56)) @ X.T @ Y
    assert learner.weights == pytest.approx(W, abs=1e-8)
    assert learner.report()["k"] == 0
