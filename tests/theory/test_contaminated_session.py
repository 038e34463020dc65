"""The bound of docs/methods.md on what a session can do to old classes' scores on their own samples."""

import numpy as np
import pytest

from sparcl.learners.composed import Composed
from sparcl.methods import build
from study.loop.experiment import Split
from study.streams import stressed
from study.streams.old_change import measure

RIDGE, D = 0.2, 16
SESSIONS = [np.arange(3 * t, 3 * t + 3) for t in range(4)]


def followed(rate: float, tau: float, refresh: int, seed: int) -> list[dict[str, float]]:
    """Return what was measured, and the naive left and middle side, of every session but the first."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(12), 15)
    scale = 0.8 ** np.arange(D)
    features = rng.standard_normal((12, D))[labels] + 0.5 * rng.standard_normal((180, D))
    train = Split(features * scale, labels)
    settings = {"unannotated": {"reserve": 0.4}}
    samples = stressed(train, SESSIONS, {"unannotated": rate}, settings, seed)
    core = {"spectral": {"tau": tau, "refresh": refresh, "update": "direct"}}
    learner = build("compose", ridge=RIDGE, core=core)
    found, X = [], np.zeros((0, D))
    for t in range(4):
        part = samples.arriving(t)
        before = learner.weights if t else None
        learner.fit_session(part.features, part.labels)
        assert isinstance(learner, Composed)
        H = part.features
        if before is not None:
            c, U = before.shape[1], learner.core.U_core
            Y = (part.labels[:, None] == learner.classes[None, :c]) * 1.0
            after = learner.weights[:, :c]
            measured = measure(learner.total, RIDGE, U, before, after, H, Y)
            size = np.sqrt(len(X) * c)
            Q = np.linalg.svd(np.eye(D) - U @ U.T)[0][:, : D - U.shape[1]]
            B = Q.T @ (X.T @ X + H.T @ H + RIDGE * np.eye(D)) @ Q
            E = Y - H @ before
            K = H @ Q @ np.linalg.inv(B) @ Q.T @ H.T
            old = (found[-1]["labels"][:, None] == learner.classes[None, :c]) * 1.0
            g = X.T @ old - (X.T @ X + RIDGE * np.eye(D)) @ before
            renewed = np.linalg.norm(X @ Q @ np.linalg.inv(B) @ Q.T @ g)
            leverage = np.sqrt(np.trace(E.T @ K @ (np.eye(len(H)) - K) @ E))
            assert measured["change"] == pytest.approx(np.linalg.norm(X @ (after - before)) / size)
            assert measured["bound"] == pytest.approx((leverage + renewed) / size)
            half = np.linalg.norm(E) / 2
            assert measured["bound_simple"] == pytest.approx((half + renewed) / size)
            top = np.linalg.eigvalsh(B - RIDGE * np.eye(D - U.shape[1]))[-1]
            assert leverage <= half * top / (top + RIDGE) + 1e-12
            energy = (1 - tau) * np.trace(X.T @ X) + np.linalg.norm(H @ Q) ** 2
            assert refresh != 1 or top <= energy + 1e-9
            found.append(measured | {"renewed": renewed / size})
        else:
            found.append({})
        X = np.vstack([X, H])
        known = found[-2]["labels"] if t else np.zeros(0, dtype=np.int64)
        found[-1]["labels"] = np.concatenate([known, part.labels])
    return found[1:]


@pytest.mark.parametrize("rate", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("tau", [0.5, 0.85, 0.97])
@pytest.mark.parametrize("refresh", [0, 1])
def test_old_scores_change_by_no_more_than_the_bound(rate: float, tau: float, refresh: int) -> None:
    for seed in range(3):
        for session in followed(rate, tau, refresh, seed):
            assert session["change"] <= session["bound"] * (1 + 1e-9)
            assert session["bound"] <= session["bound_simple"] * (1 + 1e-9)


def test_a_core_that_stays_leaves_the_session_alone_to_move_old_scores() -> None:
    for session in followed(0.5, 0.85, 0, 1)[1:]:
        assert session["renewed"] == pytest.approx(0, abs=1e-10)


def test_more_contamination_asks_for_more() -> None:
    asked = [
        np.mean([s["bound_simple"] for s in followed(rate, 0.85, 0, 1)]) for rate in (0, 0.5, 1.0)
    ]
    assert asked == sorted(asked) and asked[2] > 1.05 * asked[0]
