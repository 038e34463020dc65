"""Prototype, Gaussian and softmax heads against restatements, and what must not move them."""

from itertools import product

import numpy as np
import pytest
from reference import heads
from reference.streams import (
    PROBE,
    STREAM,
    against_first,
    fit,
    growing,
    scores_of,
    split_again,
    synthetic_stream,
)

from sparcl.algebra import gaussians
from sparcl.algebra.gaussians import Gaussians
from sparcl.base.errors import InputError, NumericalError
from sparcl.base.randomness import generator
from sparcl.methods import build
from sparcl.parts.maps import FourierMap
from study import softmax
from study.methods.fenec import k_means
from study.methods.slca_frozen import SlcaFrozen, normalised_gradient

BATCHLESS = {  # what sessions and batches must not move
    "slda": {},
    "klda": {"width": 40, "sigma": 0.7},
    "randumb": {"width": 40, "embedding": "relu"},
    "fecam": {},
    "srda": {},
}


# --- shared covariance ----------------------------------------------------------------------------


def test_slda_is_the_discriminant_of_class_means() -> None:
    for covariance, shrinkage in product(("streamed", "frozen"), (1e-4, 0.3)):
        learner = build("slda", shrinkage=shrinkage, covariance=covariance)
        for sessions in growing(learner, STREAM):
            expected = heads.slda(sessions, PROBE, shrinkage, frozen=covariance == "frozen")
            assert learner.logits(PROBE) == pytest.approx(expected, rel=1e-8, abs=1e-8)


def test_klda_is_a_mahalanobis_distance() -> None:
    """Below and above the 144 samples; without a ridge they span 132 of 200 directions, less 12 means."""
    for width, sigma, ridge in (*product((20, 200), (0.7,), (1e-4, 0.1)), (200, 6.0, 0)):
        learner = fit(build("klda", width=width, sigma=sigma, ridge=ridge, seed=3), STREAM)
        W, b = learner.map.weights, learner.map.phases
        expected = against_first(heads.klda(STREAM, PROBE, W, b, ridge))
        # distances of up to 1 / ridge are subtracted from each other
        limit = 1e-8 * np.abs(expected).max() if ridge else 1e-8
        close = pytest.approx(expected, rel=1e-8, abs=limit)
        assert against_first(learner.logits(PROBE)) == close
    assert learner.report() == {"gamma": 6.0, "rank": 132}


def test_fourier_features_have_the_gaussian_kernel() -> None:
    fourier = FourierMap(40_000, gamma=0.7)
    fourier.begin(PROBE)
    H = fourier(PROBE)
    squares = np.sum((PROBE[:, None] - PROBE) ** 2, axis=2)
    # a mean of 40,000 terms of at most 2: five standard errors
    assert H @ H.T == pytest.approx(np.exp(-0.7 * squares), abs=5 * np.sqrt(2 / 40_000))


@pytest.mark.parametrize("embedding", ["rbf", "relu"])
@pytest.mark.parametrize("width", [20, 200])
def test_randumb_is_shrunk_lda_with_priors(width: int, embedding: str) -> None:
    uneven = [(Phi[: 20 + 5 * t], y[: 20 + 5 * t]) for t, (Phi, y) in enumerate(STREAM)]
    learner = build("randumb", width=width, embedding=embedding, seed=1)
    for sessions in growing(learner, uneven):
        expected, rho = heads.randumb(sessions, PROBE, learner.expand)
        assert learner.report()["shrinkage"] == pytest.approx(rho, abs=1e-10)
        assert learner.logits(PROBE) == pytest.approx(expected, rel=1e-8, abs=1e-8)
    W = learner.map.weights
    if embedding == "relu":
        assert learner.expand(PROBE) == pytest.approx(np.maximum(PROBE @ W, 0), abs=1e-12)
    else:
        expected = heads.fourier(PROBE, W, learner.map.phases)
        assert learner.expand(PROBE) == pytest.approx(expected, abs=1e-12)
        first = uneven[0][0]
        assert learner.report()["gamma"] == pytest.approx(1 / (16 * np.var(first)))


# --- a covariance for each class ------------------------------------------------------------------


def test_fecam_is_the_official_distance() -> None:
    for samples, alpha in product((3, 12, 40), (1.0, 0.2)):  # below and above the 16 features
        stream = synthetic_stream(samples=samples)
        learner = fit(build("fecam", alpha=alpha), [(3.0 * Phi, y) for Phi, y in stream])
        expected = heads.fecam(stream, PROBE, alpha)
        assert learner.logits(PROBE) == pytest.approx(expected, rel=1e-8, abs=1e-8)
        alike = fit(build("fenec", alpha=alpha, centroids=1), stream)
        assert alike.logits(PROBE) == pytest.approx(learner.logits(PROBE), rel=1e-9, abs=1e-9)


def test_fenec_is_a_vote_of_the_nearest_centroids() -> None:
    counted = ((1, "uniform"), (4, "uniform"), (4, "distance"), (999, "uniform"))
    for (samples, off, k), (neighbours, votes) in product(
        ((12, 0.0, 3), (12, 3.0, 5), (40, 3.0, 26)), counted
    ):
        stream = synthetic_stream(samples=samples)
        voting = {"centroids": k, "neighbours": neighbours, "votes": votes}
        learner = build("fenec", alpha=2.0, alpha2=off, **voting)
        fit(learner, [(3.0 * Phi, y) for Phi, y in stream])
        assert [len(points) for points in learner.points] == [min(k, samples)] * 12
        expected = heads.fenec(
            stream, PROBE, (2.0, off), learner.points, neighbours, votes == "distance"
        )
        assert np.array_equal(np.argmax(learner.logits(PROBE), axis=1), expected)


def test_centroids_by_hand_and_of_a_class_that_returns() -> None:
    X, rng = np.array([[0.0], [1], [10], [11], [12]]), np.random.default_rng(0)
    centres, sizes = k_means(X, np.ones(5), 2, rng)
    assert sorted(zip(centres[:, 0], sizes, strict=True)) == [(0.5, 2), (11, 3)]
    centres, sizes = k_means(X, np.array([3.0, 1, 1, 1, 1]), 1, rng)
    assert (centres, sizes) == ([[34 / 7]], [7])
    assert len(k_means(X[[0, 0, 4]], np.ones(3), 3, rng)[0]) == 2  # of copies there is one
    (Phi, y), label = STREAM[0], STREAM[0][1][0]
    late = (y == label) & (np.cumsum(y == label) > 6)
    learner = fit(build("fenec", centroids=4), [(Phi[~late], y[~late]), (Phi[late], y[late])])
    j = list(learner.classes).index(label)
    assert learner.sizes[j].sum() == 12
    mean = learner.sizes[j] @ learner.points[j] / 12
    assert mean == pytest.approx(Phi[y == label].mean(axis=0))


def test_fenec_refuses_a_covariance_that_is_not_positive_definite() -> None:
    """All rows sum to zero: the mean covariance is -1 / (d - 1) of the mean variance."""
    stream = [(Phi - Phi.mean(axis=1, keepdims=True), y) for Phi, y in STREAM]
    with pytest.raises(
        NumericalError, match=r"session 1: alpha2 = 7.8.*Lower alpha2, or raise alpha"
    ):
        fit(build("fenec", alpha=1.0, alpha2=7.8), stream)


@pytest.mark.parametrize("samples", [4, 30])  # below and above the 10 features
def test_factors_do_not_follow_the_sign_of_an_eigenvector(
    samples: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LAPACK's sign differs between processors, and draws from a Gaussian follow its factor."""
    X, columns = (
        np.random.default_rng(0).standard_normal((samples, 10)),
        np.zeros(samples, dtype=int),
    )

    def fitted() -> Gaussians:
        made = Gaussians(10)
        made.add(X[::2], columns[::2], 1)
        made.add(X[1::2], columns[1::2], 1)
        return made

    plain, decompose = fitted(), gaussians.descending_eigh

    def flipped(S: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        values, vectors = decompose(S)
        return values, vectors * np.where(np.arange(len(values)) % 2, -1, 1)

    monkeypatch.setattr(gaussians, "descending_eigh", flipped)
    assert np.array_equal(fitted().factors[0], plain.factors[0])


@pytest.mark.parametrize("case", ["one sample", "copies"])
def test_fecam_refuses_a_class_without_spread(case: str) -> None:
    Phi, y = STREAM[1]
    alone = np.flatnonzero(y == y.max())
    learner = fit(build("fecam"), STREAM[:1])
    before = learner.logits(STREAM[2][0])
    if case == "copies":
        spoiled = Phi.copy()
        spoiled[alone] = Phi[alone[0]]
        session = (spoiled, y)
    else:
        keep = np.setdiff1d(np.arange(len(y)), alone[1:])
        session = (Phi[keep], y[keep])
    with pytest.raises(InputError, match=r"session 2.*two different samples.*class number 3"):
        learner.fit_session(*session)
    assert np.array_equal(learner.logits(STREAM[2][0]), before)
    learner.fit_session(*STREAM[1])


# --- exemplars ------------------------------------------------------------------------------------


def test_icarl_is_herding_by_hand() -> None:
    for memory in (12, 30, 90, 2000):  # 1, 2, 7 and all of 12 samples at the end
        learner = build("icarl-nme", memory=memory)
        for sessions in growing(learner, STREAM):
            expected = heads.icarl_nme(sessions, PROBE, memory)
            assert learner.logits(PROBE) == pytest.approx(expected, abs=1e-10)
            assert learner.report()["exemplars"] <= memory
    few = fit(build("icarl-nme", memory=5), STREAM[:1])
    with pytest.raises(InputError, match=r"session 2: 6 classes.*5 exemplars"):
        few.fit_session(*STREAM[1])
    Phi, y = STREAM[0]  # each class returns
    halves = fit(build("icarl-nme"), [(Phi[:20], y[:20]), (Phi[20:], y[20:])])
    whole = fit(build("icarl-nme"), [(Phi, y)])
    expected = pytest.approx(whole.logits(PROBE), abs=1e-12)
    assert scores_of(halves, whole.classes, PROBE) == expected


# --- sessions, batches, names ---------------------------------------------------------------------


def test_sessions_and_batches_do_not_matter() -> None:
    """Nor may a class that arrives in parts, each with two of its samples at least, where nothing picks samples."""
    parts = []
    for Phi, y in STREAM:
        order = np.argsort(y, kind="stable")
        parts += [(Phi[order[i::2]], y[order[i::2]]) for i in range(2)]
    picking = {"icarl-nme": {"memory": 60}, "fenec": {"centroids": 4}}
    for name, hyper in (BATCHLESS | picking).items():
        one = fit(build(name, **hyper), STREAM)
        streams = [split_again(STREAM, sessions) for sessions in (1, 2, 6)]
        for stream in streams + [parts] * (name in BATCHLESS):
            other = fit(build(name, **hyper), stream)
            expected = pytest.approx(one.logits(PROBE), rel=1e-8, abs=1e-8)
            assert scores_of(other, one.classes, PROBE) == expected, name
            assert np.array_equal(one.predict(PROBE), other.predict(PROBE))


HEADS = {
    "ft-head": {"epochs": 3, "batch": 10, "rate": 0.05, "seed": 2},
    "derpp-head": {"epochs": 3, "batch": 10, "buffer": 25, "rate": 0.1, "seed": 2},
    "slca-frozen": {"epochs": 3, "alignment": 2, "rate": 0.05, "seed": 2},
}


@pytest.mark.parametrize("name", HEADS)
def test_seed_scale_and_rate_of_a_trained_head(name: str) -> None:
    settings = HEADS[name]
    one, other = (fit(build(name, **settings | {"seed": s}), STREAM).logits(PROBE) for s in (2, 3))
    assert np.abs(one - other).max() > 1e-3
    scaled = [(4.0 * Phi, y) for Phi, y in STREAM]  # of 16 features
    rooted = fit(build(name, **settings, scale="root-d"), STREAM).logits(PROBE)
    assert rooted == pytest.approx(
        fit(build(name, **settings), scaled).logits(4.0 * PROBE), abs=1e-10
    )
    with pytest.raises(InputError, match=r"scale.*root-d"):
        build(name, scale="root")
    diverging = pytest.raises(NumericalError, match=r"session \d: .*diverged.*lower rate")
    with np.errstate(all="ignore"), diverging:
        fit(build(name, rate=1e3, scale=1e200), STREAM)


# --- softmax heads --------------------------------------------------------------------------------


def rngs(name: str, seed: int, sessions: int) -> list[np.random.Generator]:
    return [generator(name, seed, t) for t in range(sessions)]


def test_ft_head_sample_by_sample() -> None:
    hyper = HEADS["ft-head"]
    learner = fit(build("ft-head", **hyper), STREAM)
    W, b = heads.ft_head(STREAM, rngs("ft-head", 2, 4), 0.05, 3, 10)
    assert learner.weights == pytest.approx(W, abs=1e-8)
    assert learner.bias == pytest.approx(b, abs=1e-8)


def test_ft_head_needs_a_new_class() -> None:
    learner = fit(build("ft-head", **HEADS["ft-head"]), STREAM[:1])
    with pytest.raises(InputError, match="session 2: the session brings no new class"):
        learner.fit_session(*STREAM[0])
    Phi, y = (np.concatenate(pair) for pair in zip(STREAM[1], STREAM[0], strict=True))
    with_old = fit(build("ft-head", **HEADS["ft-head"]), [STREAM[0], (Phi, y)])
    assert np.array_equal(with_old.weights, fit(learner, [STREAM[1]]).weights)


def test_derpp_head_sample_by_sample() -> None:
    learner = fit(build("derpp-head", **HEADS["derpp-head"]), STREAM)
    W, b = heads.derpp_head(STREAM, rngs("derpp-head", 2, 4), 25, 0.3, 0.5, 0.1, 3, 10)
    assert learner.weights == pytest.approx(W, abs=1e-8)
    assert learner.bias == pytest.approx(b, abs=1e-8)
    assert learner.report() == {"exemplars": 25}


def test_slca_sample_by_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    draws, original = [], SlcaFrozen._draws

    def recorded(self: SlcaFrozen, j: int, rng: np.random.Generator) -> np.ndarray:
        draws.append(original(self, j, rng))
        return draws[-1]

    monkeypatch.setattr(SlcaFrozen, "_draws", recorded)
    learner = fit(build("slca-frozen", **HEADS["slca-frozen"]), STREAM[:3])
    assert len(draws) == 2 * (6 + 9)
    W, b = heads.slca_frozen(STREAM[:3], rngs("slca-frozen", 2, 3), draws, 0.05, 3, 2)
    assert learner.weights == pytest.approx(W, abs=1e-8)
    assert learner.bias == pytest.approx(b, abs=1e-8)


def test_slca_rate_falls_at_epoch_18() -> None:
    learner = fit(build("slca-frozen", epochs=20, alignment=0, seed=1), STREAM[:1])
    W, b = heads.slca_frozen(STREAM[:1], rngs("slca-frozen", 1, 1), [], 0.01, 20, 0)
    assert learner.weights == pytest.approx(W, abs=1e-8)
    assert learner.bias == pytest.approx(b, abs=1e-8)


def test_slca_draws_from_the_shrunk_gaussians() -> None:
    learner = build("slca-frozen", epochs=1, alignment=1)
    fit(learner, STREAM[:2])
    learner.session = 1  # as inside the second session
    rows = heads.class_rows(STREAM[:2])[1]
    X = np.concatenate([learner._draws(1, np.random.default_rng(s)) for s in range(80)])
    cov = np.cov(rows.T) + 1e-4 * np.eye(16)
    error = np.sqrt(np.diag(cov) / len(X))
    assert np.abs((X.mean(axis=0) - 0.95 * rows.mean(axis=0)) / error).max() < 5
    spread = np.sqrt((cov**2 + np.outer(np.diag(cov), np.diag(cov))) / len(X))
    assert np.abs((np.cov(X.T) - cov) / spread).max() < 5


@pytest.mark.parametrize("sizes", [[3], [2, 1], [4, 1, 3]])
def test_normalised_gradient_is_the_gradient(sizes: list[int]) -> None:
    rng = np.random.default_rng(0)
    Z, targets = rng.standard_normal((5, sum(sizes))), rng.integers(0, sum(sizes), 5)
    starts = np.cumsum([0, *sizes[:-1]])

    def loss(Z: np.ndarray) -> float:
        norms = [np.linalg.norm(part, axis=1) + 1e-7 for part in np.split(Z, starts[1:], axis=1)]
        U = Z / (0.1 * np.mean(norms, axis=0)[:, None])
        return float(np.mean(np.log(np.exp(U).sum(axis=1)) - U[np.arange(5), targets]))

    numeric = np.zeros_like(Z)
    for index in np.ndindex(*Z.shape):
        step = np.zeros_like(Z)
        step[index] = 1e-6
        numeric[index] = (loss(Z + step) - loss(Z - step)) / 2e-6
    assert normalised_gradient(Z, targets, starts) == pytest.approx(numeric, abs=1e-7)


def test_the_gradient_stays_finite_for_large_logits() -> None:
    G = softmax.cross_entropy_gradient(np.array([[1e4, 0.0], [-1e4, 0.0]]), np.array([0, 0]))
    assert pytest.approx(np.array([[0, 0], [-0.5, 0.5]]), abs=1e-12) == G


# --- few samples ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["klda", "randumb"])
def test_a_shared_covariance_needs_two_samples_of_a_class(name: str) -> None:
    Phi, y = STREAM[0]
    first = np.unique(y, return_index=True)[1]
    learner = build(name, width=30)
    with pytest.raises(InputError, match="session 1: no class has two samples"):
        learner.fit_session(Phi[first], y[first])
    # as if it had not been offered: the width of the kernel is another session's to set
    a, b = fit(learner, STREAM), fit(build(name, width=30), STREAM)
    assert np.array_equal(a.logits(PROBE), b.logits(PROBE))
    # later on, a class may have one sample
    alone = STREAM[1][0][:1], np.array([999])
    assert np.isfinite(fit(a, [alone]).logits(PROBE)).all()


def test_slda_of_one_sample_a_class_is_the_nearest_sample() -> None:
    Phi, y = STREAM[0]
    first = np.unique(y, return_index=True)[1]
    distances = [[np.linalg.norm(f - g) for g in Phi[first]] for f in PROBE]
    for covariance in ("streamed", "frozen"):
        learner = fit(build("slda", covariance=covariance), [(Phi[first], y[first])])
        assert np.array_equal(learner.predict(PROBE), y[first][np.argmin(distances, axis=1)])


def test_more_dimensions_than_samples() -> None:
    sessions = synthetic_stream(sessions=2, classes=2, samples=3, dimension=40, noise=0.2)
    Phi, y = sessions[1]
    for name in ("slda", "klda", "randumb", "fecam", *HEADS, "icarl-nme"):
        hyper = {"width": 60} if name in ("klda", "randumb") else {}
        hyper |= {**HEADS[name], "epochs": 20, "scale": "root-d"} if name in HEADS else {}
        learner = fit(build(name, **hyper), sessions)
        assert np.isfinite(learner.logits(Phi)).all()
        assert np.mean(learner.predict(Phi) == y) > 0.5, name


def test_slca_takes_a_class_of_one_sample() -> None:
    alone = STREAM[1][0][:1], np.array([999])
    learner = fit(build("slca-frozen", **HEADS["slca-frozen"]), [STREAM[0], alone, STREAM[2]])
    assert np.isfinite(learner.logits(PROBE)).all()
    assert [len(F) for F in learner.gaussians.factors] == [11] * 3 + [0] + [11] * 3
