"""Diagnostics against restatements with dense projectors, and the paper's protocol."""

import numpy as np
import pytest
from reference.streams import synthetic_stream

from sparcl.base.errors import InputError
from sparcl.methods import build
from sparcl.protocol import diagnostics
from study.loop import metrics, old_classes

RIDGE, TAU = 0.3, 0.8
THRESHOLDS = {"overlap": 0.5, "drift": 0.05, "cosine": 0.5}


def traced(stream: list, tau: float = TAU) -> list[dict]:
    return diagnostics.trace(stream, RIDGE, tau, count=8)["sessions"]


def sums(stream: list, sessions: int) -> tuple[np.ndarray, np.ndarray, list[int]]:
    """R, C with columns by label, and the labels seen."""
    Phi = np.concatenate([P for P, _ in stream[:sessions]])
    y = np.concatenate([labels for _, labels in stream[:sessions]])
    classes = 1 + max(int(labels.max()) for _, labels in stream)
    return Phi.T @ Phi, Phi.T @ np.eye(classes)[y], sorted(set(y.tolist()))


@pytest.mark.parametrize(
    "samples", [9, 2]
)  # 2: R has fewer rows than dimensions until the last session
def test_trace_restated_with_projectors(samples: int) -> None:
    stream = synthetic_stream(seed=1, sessions=3, samples=samples)
    rows = traced(stream)
    assert "overlap" not in rows[0]
    d = stream[0][0].shape[1]
    for t in (1, 2):
        R_old, C_old, old = sums(stream, t)
        R, C, seen = sums(stream, t + 1)
        values, U = np.linalg.eigh(R_old)
        values, U = values[::-1], U[:, ::-1]
        k = 1 + int(np.argmax(np.cumsum(values) / values.sum() >= TAU))
        P = U[:, :k] @ U[:, :k].T
        row, dR, A = rows[t], R - R_old, R + RIDGE * np.eye(d)
        assert (row["core_rank"], row["residual_rank"]) == (k, d - k)
        assert row["overlap"] == pytest.approx(np.trace(P @ dR), rel=1e-9)
        assert row["overlap_share"] == pytest.approx(np.trace(P @ dR) / np.trace(dR), rel=1e-9)
        new_values, V = np.linalg.eigh(R)
        new_values, V = new_values[::-1], V[:, ::-1]
        assert row["leading_mass"] == pytest.approx(new_values[:k].sum() / np.trace(R), rel=1e-9)
        a, delta = values[:k] + RIDGE, np.diag(U.T @ dR @ U)[:k]
        gain = np.diag(U.T @ np.linalg.inv(A) @ U)[:k]
        assert row["core_shrink_exact"] == pytest.approx(np.mean(1 - a * gain), rel=1e-8)
        assert row["core_shrink_bound"] == pytest.approx(np.mean(delta / (a + delta)), rel=1e-8)
        cosines = np.linalg.svd(U[:, :k].T @ V[:, :k], compute_uv=False)
        assert row["core_angle"] == pytest.approx(np.degrees(np.arccos(cosines.min())), abs=1e-4)
        block = np.linalg.eigvalsh(U[:, k:].T @ A @ U[:, k:])
        assert row["residual_condition"] == pytest.approx(block[-1] / block[0], rel=1e-8)
        assert row["condition"] == pytest.approx(np.linalg.cond(A), rel=1e-8)
        carried = np.sum((V.T @ C[:, old]) ** 2, axis=1)
        least = max(i for i in range(d) if carried[i] >= 0.01 * carried.sum())
        kappa = (new_values[0] + RIDGE) / (new_values[least] + RIDGE)
        assert row["kappa"] == pytest.approx(kappa, rel=1e-8)
        W_old = np.linalg.solve(R_old + RIDGE * np.eye(d), C_old)[:, old]
        dW = np.linalg.solve(A, C)[:, old] - W_old
        in_residual = np.sum((dW - P @ dW) ** 2) / np.sum(dW**2)
        assert row["joint_residual_change"] == pytest.approx(in_residual, rel=1e-8)
        Phi_old = np.concatenate([block for block, _ in stream[:t]])
        for name, part in (("core", P @ dW), ("residual", dW - P @ dW)):
            drift = np.linalg.norm(Phi_old @ part) / np.linalg.norm(Phi_old @ W_old)
            assert row[f"joint_drift_{name}"] == pytest.approx(drift, rel=1e-8)
        counts = [sum(int(np.sum(y == j)) for _, y in stream) for j in seen]
        means = C[:, seen] / counts
        unit = means / np.linalg.norm(means, axis=0)
        pairs = [unit[:, i] @ unit[:, j] for i in range(len(seen)) for j in range(i)]
        assert row["prototype_cosine"] == pytest.approx(np.mean(pairs), rel=1e-9)


def test_modes_without_energy_say_nothing() -> None:
    """Twelve rows span 12 of 16 dimensions: what rounding leaves of the others is neither value nor direction."""
    stream = synthetic_stream(sessions=2, classes=2, samples=3)
    rows = diagnostics.trace(stream, RIDGE, TAU, count=16)["modes"]
    assert max(row["mode"] for row in rows) == 16
    for row in rows:
        assert (row["eigenvalue"] > 0) == (row["mode"] <= 6 * row["session"])
    for row in (row for row in rows if row["session"] == 2):
        null = row["mode"] > 6
        assert (row["old_eigenvalue"] == 0.0) == null
        assert (row["inverse_gain"] == 1 / RIDGE) == null
        assert [row[name] is None for name in ("overlap", "shrink_exact", "shrink_bound")] == [
            null
        ] * 3


def test_kappa_falls_back_to_the_mode_that_carries_most() -> None:
    # 200 equal modes: none carries one percent.
    values, vectors = np.linspace(2.0, 1.0, 200), np.eye(200)
    C = np.full((200, 1), 1.0)
    C[57] = 1.05
    assert diagnostics.kappa(values, vectors, C, 0.5) == pytest.approx(2.5 / (values[57] + 0.5))


def test_prototype_cosine_of_one_class_is_not_a_number() -> None:
    assert np.isnan(diagnostics.prototype_cosine(np.ones((4, 1))))
    assert diagnostics.prototype_cosine(np.eye(3)) == pytest.approx(0)


@pytest.mark.parametrize(
    ("method", "hyper"),
    [
        ("acil", {}),
        ("sparcl", {"tau": 0.7}),
        ("sparcl", {"tau": 0.7, "freeze": False}),
        ("sparcl-plus-1", {"tau": 0.7, "width": 12}),
        ("sparcl-alg1", {"tau": 0.7}),
    ],
)
def test_old_classes_of_a_learner_restated(method: str, hyper: dict) -> None:
    stream = synthetic_stream(seed=2, sessions=3, classes=4, samples=9)
    learner = build(method, ridge=RIDGE, **hyper)
    for Phi, y in stream[:2]:
        learner.fit_session(Phi, y)
    old = np.concatenate([Phi for Phi, _ in stream[:2]])
    before, scores = learner.weights.copy(), learner.logits(old)
    learner.fit_session(*stream[2])
    change = learner.logits(old)[:, : before.shape[1]] - scores
    got = old_classes.measure(learner, before, old, change)
    dW = learner.weights[:, : before.shape[1]] - before
    X, d = learner.expand(old), old.shape[1]
    core_part, U = np.zeros_like(dW), learner.core.U_core
    core_part[:d] = U @ U.T @ dW[:d]
    residual_part = dW - core_part
    assert got["drift_core"] == pytest.approx(np.abs(X @ core_part).mean(), abs=1e-12)
    assert got["drift_residual"] == pytest.approx(np.abs(X @ residual_part).mean(), abs=1e-12)
    share = np.sum(residual_part**2) / np.sum(dW**2)
    assert got["residual_change"] == pytest.approx(share, abs=1e-12)
    assert 0 < got["bound_ratio"]
    if hyper.get("freeze", True):
        assert got["residual_change"] == pytest.approx(1, abs=1e-12)
        assert got["bound_ratio"] <= 1 + 1e-9
    else:
        assert got["residual_change"] < 0.99
        assert got["drift_core"] > 1e-4


def test_methods_without_a_spectral_core_report_what_they_have() -> None:
    (Phi, y), *_ = synthetic_stream(seed=2)
    for method, keys in (("ncm", set()), ("ranpac", {"expanded_prototype_cosine"})):
        learner = build(method, **({"width": 10} if method == "ranpac" else {}))
        learner.fit_session(Phi, y)
        got = old_classes.measure(learner, learner.weights, Phi, np.zeros((len(Phi), 3)))
        assert set(got) == keys


def test_answers_come_back_from_text() -> None:
    rng, counts, session = np.random.default_rng(0), np.array([3, 1, 4]), np.array([0, 0, 1])
    hits = [rng.random(n) < 0.5 for n in (4, 8, 8)]  # the last session brings no class
    text = metrics.pack_answers(hits)
    for was, found in zip(hits, metrics.unpack_answers(text, counts, session, 3), strict=True):
        assert np.array_equal(was, found)
    with pytest.raises(InputError, match="3 bytes of answers, and 68 answers take 9"):
        metrics.unpack_answers(text, 3 * counts + 1, session, 3)


def stream_of(contaminated: bool, correlated: bool) -> list:
    """Two sessions whose new classes load on old directions or not, around a common mean or not."""
    rng = np.random.default_rng(4)
    d, samples = 24, 30
    stream = []
    for t in range(2):
        first = 0 if contaminated else 8 * t
        rows, labels = [], []
        for j in range(4):
            # old classes: coordinate axes; new ones: the same directions, mixed, or axes of their own
            centre = np.zeros(d)
            centre[first + j] = 1.0
            if contaminated and t:
                centre[first + (j + 1) % 4] = 1.0
            centre[-1] = 4.0 if correlated else 0.0
            rows.append(centre + 0.02 * rng.standard_normal((samples, d)))
            labels += [4 * t + j] * samples
        Phi = np.concatenate(rows)
        if correlated and not contaminated and t:
            # the shared direction turns away from the old core, so that no old mode is loaded
            Phi[:, [-1, -2]] = Phi[:, [-2, -1]]
        stream.append((Phi / np.linalg.norm(Phi, axis=1, keepdims=True), np.array(labels)))
    return stream


@pytest.mark.parametrize(
    ("contaminated", "correlated", "advice"),
    [
        (True, False, "partition"),
        (False, True, "decorrelation"),
        (True, True, "both"),
        (False, False, "neither"),
    ],
)
def test_protocol_gives_its_four_answers(contaminated: bool, correlated: bool, advice: str) -> None:
    thresholds = THRESHOLDS | {"cosine": 0.35}
    got = diagnostics.recommend(traced(stream_of(contaminated, correlated), 0.9), thresholds)
    assert got["advice"] == advice, got


def test_protocol_needs_a_past() -> None:
    with pytest.raises(InputError, match="two sessions"):
        diagnostics.recommend(traced(synthetic_stream(sessions=1)), THRESHOLDS)
