"""The peers with a map and a closed form, against their recursions written out."""

import numpy as np
import pytest
from reference import buffers, peers, ridge
from reference.streams import (
    PROBE,
    STREAM,
    fit,
    growing,
    scores_of,
    split_again,
    synthetic_stream,
    uneven,
)

from sparcl.algebra.ridge import predicted_accuracy
from sparcl.base.errors import InputError
from sparcl.learners import composed
from sparcl.learners.learner import Learner
from sparcl.methods import build, hyperparameters
from sparcl.methods.table import FLYCL as SCRIPTS
from sparcl.parts import batch
from sparcl.parts.maps import RandomMap
from sparcl.parts.rules import WIDE


def relu_map(learner: Learner):
    return lambda Phi: buffers.relu(Phi @ learner.map.weights)


def sigmoid_map(learner: Learner):
    return lambda Phi: buffers.sigmoid(Phi @ learner.map.weights)


# --- recursion equals the sums --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "hyper", "passes", "batches"),
    [
        ("acil-rhl", {"ridge": 0.1}, 1, (1, 7, 36, 1000)),
        ("real-ffb", {"ridge": 0.1}, 1, (7,)),
        ("gacl", {"ridge": 0.7}, 3, (5, 36)),
        ("foal", {"ridge": 1.0}, 1, (10, 36)),
    ],
)
def test_a_ridge_on_a_map_is_its_recursion(
    name: str, hyper: dict, passes: int, batches: tuple[int, ...]
) -> None:
    learner = build(name, **hyper, width=60, seed=2)
    mapped = relu_map(learner) if name != "foal" else sigmoid_map(learner)
    for sessions in growing(learner, STREAM):
        for rows in batches:
            expected = buffers.recursion(sessions, mapped, hyper["ridge"], rows, passes)
            assert learner.weights == pytest.approx(expected, abs=1e-8)
    assert learner.logits(PROBE) == pytest.approx(mapped(PROBE) @ expected, abs=1e-8)
    assert learner.report()["ridge"] == pytest.approx(hyper["ridge"] / passes)


def test_gacl_when_classes_return() -> None:
    (Phi, y), (Phi_2, y_2) = STREAM[:2]
    returning = [(Phi[:20], y[:20]), (np.vstack([Phi[20:], Phi_2]), np.concatenate([y[20:], y_2]))]
    learner = fit(build("gacl", ridge=0.3, passes=1, width=50), returning)
    expected = buffers.recursion(returning, relu_map(learner), 0.3, 10)
    assert learner.weights == pytest.approx(expected, abs=1e-8)


def test_dsal_is_two_recursions() -> None:
    (Phi, y), last = STREAM[:2]
    without_new = [(Phi[:20], y[:20]), last, (Phi[20:], y[20:])]
    for stream, ridges, ratio in (
        *((STREAM, (0.1, 0.4), ratio) for ratio in (0.0, 0.6, 1.5)),
        (without_new, (0.1, 0.1), 0.6),
    ):
        both = dict(zip(("ridge", "ridge_compensation"), ridges, strict=True))
        learner = build("dsal", **both, ratio=ratio, width=50, seed=3)
        for sessions in growing(learner, stream):
            scores = buffers.dual_stream(sessions, learner.map.weights, ridges, ratio)
            assert learner.logits(PROBE) == pytest.approx(scores(PROBE), abs=1e-8)


@pytest.mark.parametrize("sigma", [0.4, 10.0])
def test_gkeal_is_ridge_on_kernels_of_base_samples(sigma: float) -> None:
    learner = fit(build("gkeal", ridge=0.1, width=20, sigma=sigma, seed=1), STREAM)
    centres = learner.map.points
    base = [tuple(row) for row in STREAM[0][0]]
    assert len({tuple(row) for row in centres}) == 20
    assert all(tuple(row) in base for row in centres)
    mapped = buffers.kernel(centres, sigma)
    expected = buffers.recursion(STREAM, mapped, 0.1, 12)
    assert learner.logits(PROBE) == pytest.approx(mapped(PROBE) @ expected, abs=1e-8)
    assert learner.keeps_samples


def test_gkeal_centres_at_and_beyond_the_base_session() -> None:
    base = STREAM[0][0]
    kept = fit(build("gkeal", width=500), STREAM).map
    assert kept.points.shape == (36, 16)
    apart = [np.linalg.norm(a - b) for i, a in enumerate(base) for b in base[:i]]
    assert kept.bandwidth == pytest.approx(np.median(apart))
    official = fit(build("gkeal", width=40, centres="official", sigma=10.0), STREAM[:1]).map
    assert official.points.shape == (40, 16)
    # each base row's coefficients sum to 1 over the new centres, so these sum to the sum of rows
    assert official.points[36:].sum(axis=0) == pytest.approx(base.sum(axis=0), abs=1e-9)


@pytest.mark.parametrize("value", [0.3, 5.0])
def test_air_keeps_one_matrix_for_all_classes(value: float) -> None:
    sessions = uneven(STREAM)
    learner = build("air", ridge=value, width=30, seed=4)
    for so_far in growing(learner, sessions):
        expected = buffers.balanced(so_far, relu_map(learner), value)
        assert learner.weights == pytest.approx(expected, abs=1e-8)
    acil = fit(build("acil-rhl", ridge=value, width=30, seed=4), sessions)
    assert np.abs(acil.weights - learner.weights).max() > 1e-3


def test_air_with_the_sum_of_each_class_lets_classes_return() -> None:
    (Phi, y), last = uneven(STREAM[:2])
    sessions = [(Phi[::2], y[::2]), last, (Phi[1::2], y[1::2])]  # each class of the first returns
    parts = {"map": {"random": {"width": 30, "draw": "uniform"}}, "head": "balanced-by-class"}
    learner = build("compose", **parts, ridge=0.3, seed=4)
    for so_far in growing(learner, sessions):
        expected = buffers.balanced(so_far, relu_map(learner), 0.3)
        assert learner.weights == pytest.approx(expected, abs=1e-8)
    with pytest.raises(InputError, match="each class apart"):
        learner.forget(Phi[:1], y[:1])
    for wrong, text in (
        ({"ridge": "newest"}, "BalancedByClass has one sum for each class.*: give a number"),
        ({"row_weights": "trim"}, "balanced-by-class"),
    ):
        with pytest.raises(InputError, match=text):
            build("compose", **parts, **wrong)


def test_air_refuses_a_class_that_returns() -> None:
    (Phi, y) = STREAM[0]
    learner = fit(build("air", width=20), [(Phi[:20], y[:20])])
    before = learner.weights.copy()
    with pytest.raises(InputError, match=r"session 2.*returned.*one session"):
        learner.fit_session(Phi[20:], y[20:])
    assert np.array_equal(learner.weights, before)
    learner.fit_session(*STREAM[1])


# --- Fly-CL and LoRanPAC --------------------------------------------------------------------------


@pytest.mark.parametrize("width", [15, 60, 200])  # fewer and more outputs than the 36 rows
@pytest.mark.parametrize("values", [SCRIPTS, WIDE], ids=["official", "wide"])
def test_flycl_is_gcv_over_a_thin_svd(width: int, values: tuple[float, ...]) -> None:
    # features of the scale that the official grid is made for
    stream = [(40.0 * Phi, y) for Phi, y in STREAM]
    learner = build("flycl", ridges=values, width=width, nonzeros=6, seed=5)
    for sessions in growing(learner, stream):
        (Phi, y), (all_Phi, all_y) = sessions[-1], map(np.concatenate, zip(*sessions, strict=True))
        mapped = lambda F: buffers.largest(0.3)(F @ learner.map.weights)  # noqa: E731
        scores = buffers.gcv_scores(mapped(Phi), ridge.one_hot(y, sorted({*y.tolist()})), values)
        chosen = learner.report()["ridge"]
        if values == SCRIPTS:
            assert chosen == values[int(np.argmin(scores))]
        else:  # with more outputs than rows the score has a limit as the ridge goes to 0: a tie
            solid = scores[[v > 1e-3 for v in values]]
            assert scores[values.index(chosen)] <= solid.min() * (1 + 1e-3)
        if chosen > 1e-3:  # below, the condition number nears 1e12 and weights mean little
            Y = ridge.one_hot(all_y, ridge.class_list(sessions))
            W = peers.primal_ridge(mapped(all_Phi), Y, chosen)
            assert learner.weights == pytest.approx(W, abs=1e-8)


def test_flycl_defaults_are_the_scripts() -> None:
    official = {"width": 10000, "nonzeros": 300, "level": 0.3, "ridge": "gcv"}
    assert official.items() <= hyperparameters("flycl").items()
    assert build("flycl").rule.ridges == (1e6, 1e7, 1e8, 1e9)


@pytest.mark.parametrize("width", [30, 50, 250])
@pytest.mark.parametrize("cap", [25, 10_000])
def test_loranpac_is_a_truncated_svd_at_every_update(width: int, cap: int) -> None:
    learner = build("loranpac", width=width, cap=cap, seed=2)
    for sessions in growing(learner, STREAM):
        expected = buffers.truncated(sessions, relu_map(learner), 0.75, cap, 10_000)
        scale = np.abs(expected).max()
        assert learner.weights / scale == pytest.approx(expected / scale, abs=1e-8)
    assert learner.report()["rank"] == min(round(0.75 * 144), cap, int(0.75 * width))


def test_loranpac_by_gram_is_one_truncation() -> None:
    learner = fit(build("loranpac", width=40, path="gram", seed=2), STREAM)
    whole = [tuple(np.concatenate(part) for part in zip(*STREAM, strict=True))]
    order = ridge.class_list(STREAM)
    expected = buffers.truncated(whole, relu_map(learner), 0.75, 10_000, 10_000)
    columns = [ridge.class_list(whole).index(c) for c in order]
    assert learner.weights == pytest.approx(expected[:, columns], rel=1e-6, abs=1e-8)
    by_svd = fit(build("loranpac", width=40, path="svd", seed=2), STREAM)
    assert np.abs(by_svd.weights - learner.weights).max() > 1e-6  # the path matters


# --- columns of unit norm -------------------------------------------------------------------------

RIDGES = {
    "acil": {"ridge": 0.3},
    "acil-rhl": {"width": 40},
    "air": {"width": 40},
    "ranpac": {"width": 40},
    "sparcl": {"tau": 0.6},
}


def test_columns_of_unit_norm() -> None:
    """The scores of the same ridge, class by class over the length of its weights; a column of zeros stays."""
    sessions = uneven(STREAM)
    sessions[1][0][sessions[1][1] == sessions[1][1][0]] = 0.0
    for name, hyper in RIDGES.items():
        plain, unit = (fit(build(name, columns=c, **hyper), sessions) for c in ("plain", "unit"))
        assert np.array_equal(unit.weights, plain.weights)
        expected = plain.logits(PROBE)
        for j, w in enumerate(plain.weights.T):
            if w.any():
                expected[:, j] /= np.linalg.norm(w)
        assert unit.logits(PROBE) == pytest.approx(expected, rel=1e-12, abs=1e-12)
        assert not plain.weights.any(axis=0).all()


def test_columns_of_unit_norm_and_the_other_parts() -> None:
    tiny = build("acil", ridge=1e300, columns="unit")  # squares of its weights are no numbers
    assert fit(tiny, STREAM).logits(PROBE).std() > 0.1
    chosen = fit(build("acil-rhl", width=40, columns="unit", ridge="gaussian"), STREAM).rule
    held = chosen.validation
    losses = []
    for W, _ in chosen.fitted.solutions:
        W = W / np.linalg.norm(W, axis=0)
        losses.append(-predicted_accuracy(W, held.R, held.C, held.counts))
    assert chosen.losses == pytest.approx(losses)
    for parts in ({"head": "ridged-scatter"}, {"core": {"beside-scatter": {"tau": 0.6}}}):
        with pytest.raises(InputError, match="columns = 'unit' scales the weights of a ridge"):
            build("compose", columns="unit", **parts)
    with pytest.raises(InputError, match="plain, unit"):
        build("sparcl-plus", columns="long")


# --- rules for the ridge --------------------------------------------------------------------------


def test_any_buffer_takes_any_rule() -> None:
    for name in ("acil-rhl", "gacl", "air"):
        for rule in ("newest", "gcv", "all", "gaussian"):
            learner = fit(build(name, ridge=rule, width=40), STREAM)
            chosen = learner.report()["ridge"]
            assert chosen in learner.rule.ridges
            passes = {"passes": 1} if name == "gacl" else {}
            fixed = fit(build(name, ridge=chosen, width=40, **passes), STREAM)
            assert fixed.weights == pytest.approx(learner.weights, abs=1e-10), (name, rule)


def test_dsal_chooses_both_ridges_on_the_session() -> None:
    learner = fit(build("dsal", ridge="newest", width=40), STREAM)
    report = learner.report()
    again = build("dsal", **report, width=40)
    # the sums do not depend on the ridges of the sessions before, the second stream's targets do
    assert fit(again, STREAM).weights == pytest.approx(learner.weights, abs=1e-10)
    assert report["ridge_compensation"] in peers.GRID
    with pytest.raises(InputError, match="one"):
        build("dsal", ridge="newest", width=20).fit_session(STREAM[0][0][:1], STREAM[0][1][:1])


# --- the invariants of the family -----------------------------------------------------------------


@pytest.mark.parametrize("name", ["acil-rhl", "air", "foal", "ncm"])
def test_the_end_depends_on_neither_sessions_nor_order(name: str) -> None:
    stream = synthetic_stream(sessions=4, classes=5, samples=6)
    hyper = {} if name == "ncm" else {"ridge": 0.2, "width": 40}
    reference = fit(build(name, **hyper), stream)
    for sessions in (1, 5, 10, 20):
        other = fit(build(name, **hyper), split_again(stream, sessions)[::-1])
        expected = pytest.approx(reference.logits(PROBE), abs=1e-8)
        assert scores_of(other, reference.classes, PROBE) == expected


def test_memory_does_not_grow_with_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fixed ridge maps ROWS samples at a time and gives the same weights."""
    (Phi, y), *_ = synthetic_stream(sessions=1, classes=4, samples=50)
    whole = fit(build("acil-rhl", width=40), [(Phi, y)])
    seen: list[int] = []
    plain = RandomMap.__call__

    def counted(self: RandomMap, rows: np.ndarray) -> np.ndarray:
        seen.append(len(rows))
        return plain(self, rows)

    monkeypatch.setattr(batch, "ROWS", 16)
    monkeypatch.setattr(composed, "ROWS", 16)
    monkeypatch.setattr(RandomMap, "__call__", counted)
    parts = fit(build("acil-rhl", width=40), [(Phi, y)])
    scores = parts.logits(Phi)
    assert max(seen) == 16
    assert parts.weights == pytest.approx(whole.weights, abs=1e-10)
    monkeypatch.undo()
    assert scores == pytest.approx(whole.logits(Phi), abs=1e-10)
