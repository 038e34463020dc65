"""SPARCL+: a class's own covariance in a core of k directions, the shared one in the residual.

    Sigma_c = S + a s I + o_c U S_c^(r) U^T

It is positive definite for any o_c >= 0; o_c = 0 is linear discriminant analysis and k = D regularised quadratic
discriminant analysis.  With Delta = o_c (S_c - P S_c P), P = U U^T, and e = tr (I - P) S_c, the partition moves a
class's log-density by at most ``|h - m_c|^2 |Delta| / (2 (a s)^2) + |Delta|_* / (2 a s)`` where the nuclear norm is
``|Delta|_* <= o_c (2 (e tr S_c)^(1/2) + e)``.  For the inverses differ by ``Sigma^-1 Delta Sigma_U^-1`` and each has a
norm of at most 1 / (a s), and log-determinants by the integral of ``tr (Sigma + t Delta)^-1 Delta``.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import closed, heads
from reference.streams import PROBE, Session, against_first, fit, growing, synthetic_stream

from sparcl.base.errors import InputError
from sparcl.methods import build

D = 16
ALL = 99  # eigenpairs


def returning(seed: int = 0) -> list[Session]:
    """Three sessions; a third of a class of the first comes back in each later one, beside new classes."""
    sessions = synthetic_stream(seed, sessions=3, classes=3, samples=12, dimension=D)
    (Phi, y), label = sessions[0], sessions[0][1][0]
    parts = np.array_split(np.flatnonzero(y == label), 3)
    result = []
    for t, (Phi_t, y_t) in enumerate(sessions):
        here = y_t != label
        back = parts[t]
        result.append(
            (np.concatenate([Phi_t[here], Phi[back]]), np.concatenate([y_t[here], y[back]]))
        )
    return result


def rooted(sessions: list[Session]) -> list[Session]:
    """Rows that the method makes of features that are never negative."""
    return [(closed.unit_rows(np.sqrt(Phi)), y) for Phi, y in sessions]


def near(expected: np.ndarray) -> object:
    return pytest.approx(expected, rel=1e-10, abs=1e-10 * np.abs(expected).max())


@pytest.mark.parametrize("signs", ["both", "never negative"])
@pytest.mark.parametrize(("k", "rank"), [(5, ALL), (1, ALL), (D, 3), (D, ALL), (0, 1)])
def test_the_partitioned_score_is_the_dense_one(k: int, rank: int, signs: str) -> None:
    sessions, rows, probe, seen = returning(), returning(), PROBE, PROBE
    if signs == "never negative":
        sessions = [(np.abs(Phi), y) for Phi, y in sessions]
        rows, probe = rooted(sessions), np.abs(probe)
        seen = closed.unit_rows(np.sqrt(probe))
    for columns in ("plain", "unit"):
        learner = build("sparcl-plus", k=k, rank=rank, refresh=0, columns=columns)
        for past in growing(learner, sessions):
            given = (learner.core.U, rank, 0.4, 0.5, columns == "unit")
            expected = closed.sparcl_plus(rows[: len(past)], seen, *given)
            assert against_first(learner.logits(probe)) == near(against_first(expected))
    assert learner.core.U.T @ learner.core.U == pytest.approx(np.eye(k), abs=1e-12)


def test_without_own_covariance_it_is_lda_and_in_all_directions_qda() -> None:
    sessions = returning(1)
    classes = heads.class_rows(sessions)
    A, _ = closed.shared_covariance(classes)
    M = np.stack([rows.mean(axis=0) for rows in classes], axis=1)
    scale = closed.noise(np.linalg.inv(A) @ M, A)
    lda = heads.lda_scores(classes, np.linalg.inv(A), PROBE) / scale
    for off in ({"own": 0}, {"k": 0}):
        scores = fit(build("sparcl-plus", weight=0, **off), sessions).logits(PROBE)
        assert scores == near(lda)
    qda = np.zeros_like(lda)
    for j, rows in enumerate(classes):
        sigma = A + 0.7 * np.cov(rows.T)
        e = PROBE - M[:, j]
        qda[:, j] = -0.5 * np.sum(e * (e @ np.linalg.inv(sigma)), axis=1)
        qda[:, j] -= np.linalg.slogdet(sigma)[1] / 2
    learner = fit(build("sparcl-plus", weight=0, own=0.7, prior=0, rank=ALL), sessions)
    assert against_first(learner.logits(PROBE)) == near(against_first(qda / scale))


@given(seed=st.integers(0, 10**6), own=st.floats(0, 1e6), k=st.integers(1, D))
def test_every_covariance_is_positive_definite(seed: int, own: float, k: int) -> None:
    sessions = synthetic_stream(seed, sessions=2, classes=2, samples=6, dimension=D)
    learner = fit(build("sparcl-plus", own=own, k=k), sessions)
    classes = heads.class_rows(sessions)
    A, floor = closed.shared_covariance(classes)
    U = learner.core.U
    for rows in classes:
        sigma = A + own * closed.own_covariance(rows, U, ALL)
        assert np.linalg.eigvalsh(sigma)[0] >= floor * (1 - 1e-9) - 1e-12 * own
    assert np.isfinite(learner.logits(sessions[0][0])).all()


@given(seed=st.integers(0, 10**6), own=st.floats(0.01, 5), k=st.integers(0, D - 1))
def test_what_the_partition_leaves_out_is_bounded_by_the_energy_of_the_residual(
    seed: int, own: float, k: int
) -> None:
    sessions = synthetic_stream(seed, sessions=1, classes=3, samples=9, dimension=D)
    settings = {"own": own, "prior": 0, "weight": 0, "rank": ALL}
    core, whole = (fit(build("sparcl-plus", k=size, **settings), sessions) for size in (k, D))
    classes, h = heads.class_rows(sessions), sessions[0][0]
    A, floor = closed.shared_covariance(classes)
    M = np.stack([rows.mean(axis=0) for rows in classes], axis=1)
    scale = closed.noise(np.linalg.inv(A) @ M, A)
    moved = scale * np.abs(whole.logits(h) - core.logits(h))
    U = core.core.U
    for j, rows in enumerate(classes):
        S = np.cov(rows.T)
        left = np.trace(S) - np.trace(U.T @ S @ U)
        nuclear = own * (2 * np.sqrt(max(left, 0) * np.trace(S)) + left)
        Delta = own * (S - U @ U.T @ S @ U @ U.T)
        norms = np.linalg.svd(Delta, compute_uv=False)
        assert norms.sum() <= nuclear * (1 + 1e-9) + 1e-12
        square = np.sum((h - M[:, j]) ** 2, axis=1)
        bound = square * norms.max() / (2 * floor**2) + nuclear / (2 * floor)
        assert (moved[:, j] <= bound * (1 + 1e-9) + 1e-9).all()


@pytest.mark.parametrize("k", [5, 128])
@pytest.mark.parametrize("negative", ["none", "one, in the last row"])
def test_a_session_in_batches_is_the_session(k: int, negative: str) -> None:
    """Each core is renewed, and a class returns."""
    sessions = [(np.abs(Phi), y) for Phi, y in returning(2)]
    if negative != "none":
        sessions[0][0][-1, 3] *= -1
    whole, parts = fit(build("sparcl-plus", k=k), sessions), build("sparcl-plus", k=k)
    for Phi, y in sessions:
        for rows in np.array_split(np.arange(len(y)), 7):
            parts.accumulate(Phi[rows], y[rows])
        parts = type(parts).from_state(parts.state())
        parts.solve()
    assert np.array_equal(whole.classes, parts.classes)
    assert whole.report() == parts.report()
    assert parts.logits(PROBE) == near(whole.logits(PROBE))
    assert whole.report()["exponent"] == (0.5 if negative == "none" else 1.0)


def test_merging_before_the_end_of_the_first_session_is_exact() -> None:
    """Each of two machines has a part of the session, one of them the only negative feature."""
    (Phi, y), second = returning(3)[:2]
    Phi = np.abs(Phi)
    Phi[-1, 3] *= -1
    whole = fit(build("sparcl-plus", k=5), [(Phi, y), second])
    for order in (1, -1):
        first, other = (build("sparcl-plus", k=5) for _ in range(2))
        for learner, rows in zip((first, other), (slice(20), slice(20, None)), strict=True):
            learner.accumulate(Phi[rows], y[rows])
        first, other = (first, other)[::order]
        first.merge(other)
        first.solve()
        first.fit_session(*second)
        assert first.logits(PROBE) == near(whole.logits(PROBE))
    rooted_one = fit(build("sparcl-plus"), [(np.abs(Phi), y)])
    with pytest.raises(InputError, match="root of its features"):
        rooted_one.merge(fit(build("sparcl-plus"), [second]))


def test_a_core_that_holds_less_keeps_what_classes_share() -> None:
    """Merging and returning lose own covariance outside a renewed core, and nothing else."""
    sessions = returning(4)
    one = fit(build("sparcl-plus", k=3, weight=0), sessions)
    apart = build("sparcl-plus", k=3, weight=0)
    for session in sessions:
        apart.merge(fit(build("sparcl-plus", k=3, weight=0), [session]))
    apart.solve()
    assert np.array_equal(np.sort(apart.classes), np.sort(one.classes))
    turn = [apart.classes.tolist().index(label) for label in one.classes]
    assert apart.weights[:, turn] == near(one.weights)
    for learner in (one, apart):
        held = sum(np.sum(F**2) for F in learner.core.factors)
        assert 0 < held < sum(np.sum((r - r.mean(0)) ** 2) for r in heads.class_rows(sessions))


@pytest.mark.parametrize(("classes", "distance"), [(10, 3.0), (5, 2.0)])
def test_untuned_on_noise_it_is_as_good_as_class_means_and_lda(
    classes: int, distance: float
) -> None:
    """678 rows of 512 features: the pooled covariance is mostly noise."""
    rng = np.random.default_rng(5)
    means = distance / np.sqrt(512) * rng.standard_normal((classes, 512))
    rows = [
        (means[y] + rng.standard_normal((len(y), 512)), y)
        for y in (np.arange(678) % classes, np.arange(3000) % classes)
    ]
    right = {
        name: np.mean(fit(build(name), rows[:1]).predict(rows[1][0]) == rows[1][1])
        for name in ("sparcl-plus", "ncm", "slda")
    }
    assert right["sparcl-plus"] >= max(right["ncm"], right["slda"]) - 0.01


def test_classes_without_spread_are_told_apart_by_their_means() -> None:
    Phi = np.eye(6)[:4] + 0.1
    learner = build("sparcl-plus")
    for half in (slice(2), slice(2, 4)):
        learner.fit_session(Phi[half], np.arange(4)[half])
    assert learner.predict(Phi).tolist() == [0, 1, 2, 3]


def test_filtered_it_learns_the_rows_that_stay() -> None:
    """A session under new labels, of which half the rows are old classes'; a clean one loses no row."""
    rng = np.random.default_rng(3)
    centres = 3 * rng.standard_normal((8, D))

    def drawn(classes: np.ndarray) -> np.ndarray:
        return centres[classes] + rng.standard_normal((len(classes), D))

    first, second = np.repeat(np.arange(4), 40), np.repeat(np.arange(4, 8), 40)
    wrong = np.arange(160) % 2 == 1
    contaminated = drawn(np.where(wrong, second - 4, second)), second
    clean = drawn(second), second
    start = drawn(first), first
    filtered = fit(build("sparcl-plus", filtered=True), [start, contaminated])
    assert 0.2 < filtered.report()["contamination"] < 0.6
    left = filtered.seen.sums.counts[4:].sum()
    assert 80 <= left <= 160 * (1 - 0.2)
    whole = fit(build("sparcl-plus"), [start, contaminated])
    rows = drawn(second)
    expected = closed.unit_rows(rows).reshape(4, 40, D).mean(axis=1).T
    off = [
        np.linalg.norm(sums.C[:, 4:] / sums.counts[4:] - expected)
        for sums in (filtered.seen.sums, whole.seen.sums)
    ]
    assert off[0] < 0.9 * off[1]
    scores = [
        fit(build("sparcl-plus", filtered=one), [start, clean]).logits(rows)
        for one in (True, False)
    ]
    assert np.array_equal(*scores)
    with pytest.raises(InputError, match="weights the rows of a session"):
        filtered.accumulate(*start)
