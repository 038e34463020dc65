"""The learners through their public protocol, against naive restatements."""

import numpy as np
import pytest
from reference import peers, ridge, solver
from reference.streams import PROBE, STREAM, fit, growing, scores_of, synthetic_stream

from sparcl.learners import composed
from sparcl.methods import build
from sparcl.parts.rules import WIDE as RIDGES

SMALL: dict[str, dict] = {  # few random features, so that the naive side is quick
    "ncm": {},
    "acil": {"ridge": 0.1},
    "sparcl": {"ridge": 0.1, "tau": 0.6, "refresh": 1},
    "sparcl-alg1": {"ridge": 0.1, "tau": 0.6, "refresh": 2},
    "sparcl-plus-1": {"ridge": 0.1, "tau": 0.5, "tau_map": 0.8, "width": 30, "seed": 3},
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
    "fenec": {"centroids": 4, "neighbours": 2, "seed": 3},
    "srda": {},
    "teen": {},
    "c-fecam": {"floor": 2.0},
    "c-ranpac": {"width": 40, "draws": 8, "ridge": 0.5, "seed": 3},
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
    "c-ranpac": 10_000,
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
def test_protocol(name: str) -> None:
    learner = build(name, **SMALL[name])
    for t, (Phi, y) in enumerate(STREAM):
        learner.fit_session(Phi, y)
        classes = ridge.class_list(STREAM[: t + 1])
        assert list(learner.classes) == classes
        logits = learner.logits(PROBE)
        assert logits.shape == (len(PROBE), len(classes))
        assert logits.dtype == np.float64
        assert np.isfinite(logits).all()
        if t == 0:
            score = learner.scorer(PROBE)
        assert score(30) == pytest.approx(learner.logits(PROBE[:30]), rel=1e-12, abs=1e-12)
        predicted = learner.predict(PROBE)
        assert predicted.tolist() == [classes[j] for j in logits.argmax(axis=1)]


@pytest.mark.parametrize(("kept", "times"), [(0, 2), (PROBE.nbytes * 40, 1)])
def test_rows_stay_mapped_where_that_takes_little(
    kept: int, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(composed, "MAPPED", kept)
    learner = fit(build("ranpac", **SMALL["ranpac"]), STREAM)
    mapped, expanded = [], learner._expanded
    monkeypatch.setattr(learner, "_expanded", lambda rows: mapped.append(rows) or expanded(rows))
    score = learner.scorer(PROBE)
    assert np.array_equal(score(30), score(30)) and len(mapped) == times


@pytest.mark.parametrize("name", KINDS)
def test_inputs_of_any_precision_are_neither_written_to_nor_kept(name: str) -> None:
    """Two runs agree to the bit, and float16 is summed in float64."""
    half = [(Phi.astype(np.float16), y.astype(np.int32)) for Phi, y in STREAM]
    learner, again, wide = (build(name, **SMALL[name]) for _ in range(3))
    for Phi, y in half:
        mine, labels = Phi.copy(), y.copy()
        learner.fit_session(mine, labels)
        assert np.array_equal(mine, Phi) and np.array_equal(labels, y)
        mine[:], labels[:] = 7.0, 0
        again.fit_session(Phi, y)
        assert np.array_equal(learner.logits(PROBE), again.logits(PROBE))
        wide.fit_session(Phi.astype(np.float64), y.astype(np.int64))
    rows = half[0][0]
    expected = pytest.approx(wide.logits(rows.astype(np.float64)), abs=1e-12)
    assert learner.logits(rows.astype(np.float64)) == expected
    assert learner.logits(rows) == expected


def test_the_seed_decides_the_map() -> None:
    for name in ("sparcl-plus-1", "ranpac", "klda", "randumb"):
        one, two = (
            fit(build(name, **SMALL[name] | {"seed": seed}), STREAM).expand(PROBE)
            for seed in (1, 2)
        )
        assert one.shape == two.shape
        assert not np.allclose(one, two)


@pytest.mark.parametrize(
    "name", [*LINEAR, "sparcl-plus-1", "acil-rhl", "dsal", "gkeal", "air", "foal"]
)
def test_float32_is_close_to_float64(name: str) -> None:
    single = fit(build(name, **SMALL[name], dtype="float32"), STREAM)
    double = fit(build(name, **SMALL[name]), STREAM)
    assert single.weights.dtype == np.float32
    assert single.logits(PROBE) == pytest.approx(double.logits(PROBE), abs=5e-4)


@pytest.mark.parametrize("name", ["acil", "sparcl", "sparcl-alg1", "sparcl-plus-1", "foal"])
def test_a_grid_is_its_points_one_by_one(name: str) -> None:
    ridges, taus = [10.0, 0.05, 1.0], [0.9, 0.3, 0.7] if "tau" in SMALL[name] else [None]
    rest = {key: v for key, v in SMALL[name].items() if key not in ("ridge", "tau")}

    def at(ridge: object, tau: object) -> object:
        return build(name, ridge=ridge, **rest, **({} if tau in (None, [None]) else {"tau": tau}))

    grid = at(ridges, taus)
    points = {(i, j): at(a, b) for i, a in enumerate(ridges) for j, b in enumerate(taus)}
    for Phi, y in STREAM:
        grid.fit_session(Phi, y)
        scores = grid.scores(PROBE)
        assert list(scores) == list(points)
        for key, learner in points.items():
            learner.fit_session(Phi, y)
            assert scores[key] == pytest.approx(learner.logits(PROBE), abs=1e-10)


# --- nearest class mean ---------------------------------------------------------------------------


def test_ncm_is_the_cosine_with_class_means() -> None:
    learner = build("ncm")
    for sessions in growing(learner, STREAM):
        expected = peers.ncm_logits(sessions, PROBE)
        assert learner.logits(PROBE) == pytest.approx(expected, abs=1e-12)
    assert np.array_equal(learner.logits(np.zeros((1, 16))), np.zeros((1, 12)))
    Phi, y = STREAM[0]
    whole = fit(build("ncm"), [(Phi, y)])
    cut = fit(build("ncm"), [(Phi[:20], y[:20]), (Phi[20:], y[20:])])
    averaged = pytest.approx(whole.logits(PROBE), abs=1e-12)
    assert scores_of(cut, whole.classes, PROBE) == averaged


# --- Algorithm 1 ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ridge", "tau", "refresh"),
    [(0.05, 0.4, 1), (0.05, 0.8, 2), (0.05, 0.95, 0), (1.0, 0.4, 3), (1.0, 0.8, 0), (1.0, 0.95, 1)],
)
def test_algorithm_1_is_what_the_paper_prints(ridge: float, tau: float, refresh: int) -> None:
    learner = build("sparcl-alg1", ridge=ridge, tau=tau, refresh=refresh)
    for (Phi, y), W in zip(STREAM, solver.algorithm_1(STREAM, ridge, refresh, tau), strict=True):
        learner.fit_session(Phi, y)
        assert learner.logits(PROBE) == pytest.approx(PROBE @ W, abs=1e-8)
        assert learner.weights == pytest.approx(W, abs=1e-8)


# --- RanPAC ---------------------------------------------------------------------------------------


def ranpac_map(learner: object, dimension: int) -> np.ndarray:
    """The weights of h = relu(f W), from the images of the unit vectors and their negatives."""
    return learner.expand(np.eye(dimension)) - learner.expand(-np.eye(dimension))


def test_ranpac_features_are_a_gaussian_relu_map() -> None:
    learner = build("ranpac", width=4000, seed=0)
    learner.begin(STREAM[0][0])
    W = ranpac_map(learner, 16)
    assert W.shape == (16, 4000)
    Phi = STREAM[1][0]
    assert learner.expand(Phi) == pytest.approx(np.maximum(Phi @ W, 0.0), abs=1e-12)
    # 64,000 draws of N(0, 1): mean, variance and fourth moment within five standard errors.
    assert W.mean() == pytest.approx(0.0, abs=5 / np.sqrt(W.size))
    assert W.var() == pytest.approx(1.0, abs=5 * np.sqrt(2 / W.size))
    assert np.mean(W**4) == pytest.approx(3.0, abs=5 * np.sqrt(96 / W.size))
    assert np.abs(np.corrcoef(W)[np.triu_indices(16, 1)]).max() < 5 / np.sqrt(4000)


@pytest.mark.parametrize("width", [15, 40, 90])  # below, near and above the 28 training rows
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_ranpac_is_17_primal_solves(width: int, seed: int) -> None:
    learner = build("ranpac", width=width, seed=seed)
    for t, (Phi, y) in enumerate(STREAM):
        learner.fit_session(Phi, y)
        train, val = learner.rule.holdout.split(y, t)
        assert len(train) == int(0.8 * len(y))
        assert sorted([*train, *val]) == list(range(len(y)))
        assert val.min() < len(train)  # shuffled: the last fifth of grouped rows has few classes
        W = ranpac_map(learner, 16)
        losses = peers.ranpac_losses(np.maximum(Phi @ W, 0.0), y, train, val)
        chosen = learner.report()["ridge"]
        assert chosen == pytest.approx(peers.GRID[int(np.argmin(losses))], rel=1e-12)
        expected = peers.ranpac_weights(STREAM[: t + 1], W, chosen)
        assert learner.weights == pytest.approx(expected, abs=1e-8)
        logits = np.maximum(PROBE @ W, 0.0) @ expected
        assert learner.logits(PROBE) == pytest.approx(logits, abs=1e-8)
