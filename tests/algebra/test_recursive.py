"""The recursive path equals the direct solve, repairs itself, and refuses what it cannot do."""

import logging
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import solver as naive
from reference.streams import STREAM, Session, fit, synthetic_stream

from sparcl.algebra import recursive
from sparcl.algebra.recursive import ResidualInverse
from sparcl.algebra.sums import Gram
from sparcl.base.errors import InputError, NumericalError
from sparcl.learners.composed import Composed
from sparcl.methods import build


def long_stream(seed: int, sessions: int, d: int, n: int = 32) -> list[Session]:
    """Unit-norm sessions of n rows: two new classes each, and samples of earlier ones."""
    rng = np.random.default_rng(seed)
    common = 1.5 * rng.standard_normal(d)
    spread = np.linspace(1.6, 0.2, d)
    centres, out = [], []
    for t in range(sessions):
        centres += [common + spread * rng.standard_normal(d) for _ in range(2)]
        y = np.concatenate(
            [np.repeat([2 * t, 2 * t + 1], n // 2 - 4), rng.integers(0, 2 * t + 2, 8)]
        )
        rows = np.stack([centres[j] for j in y]) + 0.5 * spread * rng.standard_normal((n, d))
        out.append((rows / np.linalg.norm(rows, axis=1, keepdims=True), y))
    return out


def relative(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.abs(a - b).max() / np.abs(b).max())


def compared(
    sessions: list[Session], fast: Composed, limit: float = 1e-8, **settings: Any
) -> Iterator[Composed]:
    """Yield a learner after each session, when its weights are those of the direct solve at these settings."""
    direct = build("sparcl", update="direct", **settings)
    for Phi, y in sessions:
        fast.fit_session(Phi, y)
        direct.fit_session(Phi, y)
        assert direct.report()["update"] == "direct"
        assert relative(fast.weights, direct.weights) < limit
        yield fast
    rows = sessions[0][0]
    assert relative(fast.logits(rows), direct.logits(rows)) < limit


def recursive_in(learners: Iterable[Composed]) -> list[bool]:
    return [learner.report()["update"] == "woodbury" for learner in learners]


@pytest.mark.parametrize("ridge", [0.1, 1.0])
@pytest.mark.parametrize("how", [{"tau": 0.8}, {"k": 0, "tau": None}, {"k": 60, "tau": None}])
def test_fifty_sessions_equal_the_direct_solve(ridge: float, how: dict) -> None:
    """n_t = 32, new classes in each session, partitions before sessions 2, 22 and 42."""
    settings = {"ridge": ridge, "refresh": 20} | how
    renewed, recursive = [], 0
    fast = build("sparcl", update="woodbury", **settings)
    for learner in compared(long_stream(0, 50, 96), fast, **settings):
        renewed.append(learner.report()["renewed"])
        recursive += sum(recursive_in([learner]))
        if learner.core.inverse is not None:
            P = learner.core.inverse.P.R
            assert np.array_equal(P, P.T)  # symmetric by construction, to the bit
            assert learner.core.inverse.refactored == []
    empty = how.get("k") == 0
    assert [t for t, yes in enumerate(renewed, 1) if yes] == ([] if empty else [2, 22, 42])
    assert recursive == (49 if empty else 46)


@pytest.mark.parametrize("expansion", ["relu", "topk", "rbf"])
def test_over_expanded_coordinates(expansion: str) -> None:
    settings = {"ridge": 0.1, "tau": 0.6, "refresh": 7, "expansion": expansion, "m": 80}
    fast = build("sparcl", update="woodbury", **settings)
    taken = recursive_in(compared(long_stream(2, 15, 20, n=16), fast, **settings))
    assert taken[-1] and fast.weights.shape == (100, 30)


def test_sparcl_plus_takes_it_by_itself() -> None:
    """Few rows against 20 + 300 coordinates; the direct path is forced beside it."""
    settings = {"ridge": 0.1, "tau": 0.6, "refresh": 4}
    auto = build("sparcl-plus-1", width=300, **settings)
    learners = compared(long_stream(3, 9, 20, n=12), auto, expansion="relu", m=300, **settings)
    assert recursive_in(learners) == [False, False, True, True, True, False, True, True, True]


def test_paths_may_alternate() -> None:
    """Auto takes the recursive path for up to d / 16 rows; a larger session drops the kept inverse."""
    rng = np.random.default_rng(4)
    sizes, settings = [40, 40, 3, 4, 5, 2, 40, 3], {"ridge": 0.1, "tau": 0.5, "refresh": 0}
    sessions = [
        (rng.standard_normal((n, 64)) / 8, rng.integers(2 * t, 2 * t + 2, n))
        for t, n in enumerate(sizes)
    ]
    used = []
    for learner in compared(sessions, build("sparcl", **settings), 1e-10, **settings):
        used += recursive_in([learner])
        assert (learner.core.inverse is not None) == used[-1]
    assert used == [False, False, *(n <= 4 for n in sizes[2:])]
    assert ResidualInverse.pays(4, 64) and not ResidualInverse.pays(5, 64)


@settings(max_examples=25)
@given(
    seed=st.integers(0, 10**6),
    d=st.integers(2, 20),
    n=st.integers(1, 12),
    k=st.integers(0, 6),
    ridge=st.sampled_from([0.1, 2.0]),
)
def test_residual_inverse_and_its_update(seed: int, d: int, n: int, k: int, ridge: float) -> None:
    rng = np.random.default_rng(seed)
    k = min(k, d)
    Phi, X = rng.standard_normal((15, d)), rng.standard_normal((n, d))
    U = np.asfortranarray(np.linalg.qr(rng.standard_normal((d, d)))[0][:, :k])

    def explicit(R: np.ndarray) -> np.ndarray:
        U_res = naive.outside(U)
        block = U_res.T @ R @ U_res + ridge * np.eye(d - k)
        return U_res @ np.linalg.inv(block) @ U_res.T

    gram = Gram(d)
    gram.add(Phi)
    P = recursive.residual_inverse(gram, ridge, U)
    assert P.R == pytest.approx(explicit(Phi.T @ Phi), abs=1e-9)
    assert gram.R == pytest.approx(Phi.T @ Phi, abs=1e-10)  # R is as it was
    K = recursive.woodbury(P, X)
    new = explicit(Phi.T @ Phi + X.T @ X)
    assert P.R == pytest.approx(new, abs=1e-9)
    assert K == pytest.approx(new @ X.T, abs=1e-9)


# --- repair ---------------------------------------------------------------------------------------


def perturb(P: np.ndarray, how: str) -> None:
    if how == "one entry":
        P[3, 3] *= 1.001
    elif how == "all entries":
        P += 1e-6 * np.random.default_rng(0).standard_normal(P.shape)
    elif how == "indefinite":
        P *= -40.0
    else:
        P[2, 1] = P[1, 2] = np.nan


@pytest.mark.parametrize("how", ["one entry", "all entries", "indefinite", "nan"])
def test_a_planted_error_is_noticed_logged_and_repaired(
    how: str, caplog: pytest.LogCaptureFixture
) -> None:
    settings = {"ridge": 0.1, "tau": 0.7, "refresh": 0}
    fast = build("sparcl", update="woodbury", **settings)
    with caplog.at_level(logging.WARNING, logger="sparcl.algebra.recursive"):
        for t, _ in enumerate(compared(long_stream(5, 12, 64, n=16), fast, **settings)):
            assert len(caplog.records) == (t >= 7)
            if t == 6:
                perturb(fast.core.inverse.P.R, how)
    assert len(fast.core.inverse.refactored) == 1
    assert "residual inverse" in caplog.records[0].getMessage()
    assert fast.core.inverse.refactored[0] in caplog.records[0].getMessage()


def test_float32_recursion_stays_close() -> None:
    sessions = long_stream(6, 20, 48, n=8)
    fast, slow = (
        fit(
            build("sparcl", ridge=1.0, tau=0.7, refresh=0, update="woodbury", dtype=dtype), sessions
        )
        for dtype in ("float32", "float64")
    )
    assert fast.report()["update"] == "woodbury"
    assert fast.core.inverse.P.precision == np.float32
    assert relative(fast.weights, slow.weights) < 1e-4


def test_a_system_beyond_float32_is_an_error() -> None:
    learner = build(
        "sparcl", ridge=1e-4, k=2, tau=None, update="woodbury", refresh=0, dtype="float32"
    )
    with pytest.raises(NumericalError, match=r"condition number.*float64"):
        fit(learner, [(1e4 * Phi[:6], y[:6]) for Phi, y in STREAM])


# --- refusals -------------------------------------------------------------------------------------


def test_what_it_cannot_do_is_refused() -> None:
    for switch in (
        {"ridge": "all"},
        {"ridge": "newest"},
        {"ridge": [0.1, 1.0]},
        {"tau": [0.5, 0.9]},
        {"coupling": "dropped"},
        {"new_classes": "residual"},
        {"freeze": False},
        {"reappearing": "free"},
        {"expansion": "linear", "m": 4},
    ):
        with pytest.raises(InputError, match=r"woodbury.*one residual inverse"):
            build("sparcl", update="woodbury", **switch)


def test_auto_stays_direct_where_the_recursion_would_be_wrong() -> None:
    sessions = synthetic_stream(sessions=4, classes=2, samples=2, dimension=80)
    for switch in ({"freeze": False}, {"coupling": "dropped"}, {"reappearing": "free"}):
        learner = fit(build("sparcl", ridge=0.1, tau=0.5, refresh=0, **switch), sessions)
        assert learner.report()["update"] == "direct"
