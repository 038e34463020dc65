"""The ridge chosen in each session: on the newest session, and over all from held-out sums."""

from itertools import product

import numpy as np
import pytest
from reference import ridge as plain
from reference import solver as naive
from reference.peers import primal_ridge
from reference.solver import core_basis
from reference.streams import PROBE, STREAM, Session, fit, growing, synthetic_stream

from sparcl import methods
from sparcl.algebra import ridge
from sparcl.base.errors import InputError, NumericalError
from sparcl.base.randomness import generator
from sparcl.methods import build
from study.loop import old_classes

RIDGES = (0.03, 0.1, 0.3, 1.0, 3.0)


def split(y: np.ndarray, session: int, seed: int, seen: list[int]) -> tuple[list, list]:
    """A random fifth of each class validates, one row at least; a class of one row fits."""
    rng, held = generator("holdout", seed, session), []
    new = sorted(set(y.tolist()) - set(seen))
    for label in [c for c in [*seen, *new] if c in y]:
        rows = rng.permutation([i for i, v in enumerate(y) if v == label])
        if len(rows) > 1:
            held += [int(i) for i in rows[: max(round(0.2 * len(rows)), 1)]]
    held = sorted(held) or [len(y) - 1]
    return [i for i in range(len(y)) if i not in held], held


def parts(sessions: list[Session], seed: int) -> tuple[list[Session], list[Session]]:
    fitted, validation = [], []
    for t, (Phi, y) in enumerate(sessions):
        seen = plain.class_list(sessions[:t]) if t else []
        fit_rows, held_rows = split(y, t, seed, seen)
        fitted.append((Phi[fit_rows], y[fit_rows]))
        validation.append((Phi[held_rows], y[held_rows]))
    return fitted, validation


@pytest.mark.parametrize("seed", [0, 1, 5])
@pytest.mark.parametrize("hyper", [{"tau": 0.7}, {"k": 0, "tau": None}])
def test_newest_session(hyper: dict, seed: int) -> None:
    sessions = synthetic_stream(seed, sessions=4, classes=3, samples=12, noise=1.5)
    learner = build("sparcl", ridge="newest", refresh=1, seed=seed, **hyper)
    chosen = []
    for t, (Phi, y) in enumerate(sessions):
        learner.fit_session(Phi, y)
        fit_rows, validation = split(y, t, seed, plain.class_list(sessions[:t]) if t else [])
        Y = plain.one_hot(y, sorted(set(y.tolist())))  # in other columns targets and scores are 0
        errors = [
            np.mean(
                (Phi[validation] @ primal_ridge(Phi[fit_rows], Y[fit_rows], r) - Y[validation]) ** 2
            )
            for r in RIDGES
        ]
        report = learner.report()
        assert report["validation_losses"] == pytest.approx(errors, rel=1e-9)
        chosen.append(RIDGES[int(np.argmin(errors))])
        assert report["ridge"] == chosen[-1]
        expected = naive.solver(sessions[: t + 1], chosen, {2, 3, 4}, **hyper)[-1]
        assert learner.weights == pytest.approx(expected.W, abs=1e-8)


def losses_of_rows(
    rule: str, sessions: list[Session], seed: int, points: list[tuple]
) -> np.ndarray:
    """Return the loss of each ridge, tau and k on every row held out: the rules restated."""
    fitted, validation = parts(sessions, seed)
    classes, renewals = plain.class_list(sessions), set(range(2, len(sessions) + 1))
    solved = [naive.solver(fitted, r, renewals, tau=tau, k=k)[-1].W for r, tau, k in points]
    if rule == "all":  # sums leave out ||Y||^2, which is one a held-out row
        held = sum(len(y) for _, y in validation)
        return np.array([naive.squared_error(validation, W, classes) - held for W in solved])
    rows = np.concatenate([rows for rows, _ in validation])
    columns = np.array([classes.index(label) for _, y in validation for label in y])
    return -np.array([plain.predicted_accuracy(W, rows, columns) for W in solved])


@pytest.mark.parametrize("seed", [0, 4])
@pytest.mark.parametrize(
    ("rule", "taus", "k"),
    [
        ("all", [0.7], None),
        ("all", [None], 0),
        ("all", [0.4, 0.9], None),
        ("gaussian", [0.7], None),
    ],
)
def test_losses_from_sums_are_those_of_every_held_out_row(
    rule: str, taus: list, k: int | None, seed: int
) -> None:
    sessions = synthetic_stream(seed, sessions=4, classes=3, samples=15, noise=1.5)
    tau = taus if len(taus) > 1 else taus[0]
    learner = build("sparcl", ridge=rule, refresh=1, seed=seed, tau=tau, k=k)
    points, chosen = [(r, tau, k) for r in RIDGES for tau in taus], []
    for so_far in growing(learner, sessions):
        losses, report = losses_of_rows(rule, so_far, seed, points), learner.report()
        assert report["validation_losses"] == pytest.approx(losses, rel=1e-8, abs=1e-7)
        chosen.append(points[int(np.argmin(losses))])
        assert (report["ridge"], report["tau"]) == chosen[-1][:2]
        if len(taus) == 1:  # the final weights use all rows
            ridges = [ridge for ridge, _, _ in chosen]
            W = naive.solver(so_far, ridges, {2, 3, 4}, tau=tau, k=k)[-1].W
            assert learner.weights == pytest.approx(W, abs=1e-8)


@pytest.mark.parametrize("rule", ["all", "gaussian"])
@pytest.mark.parametrize("how", ["other features", "labels changed about"])
def test_what_is_fitted_for_validation_never_sees_a_held_out_row(how: str, rule: str) -> None:
    """What is done to held-out rows leaves the second learner's weights as they are, to the bit."""
    rng = np.random.default_rng(0)
    honest, spoiled = (build("sparcl", ridge=rule, tau=0.7, refresh=1) for _ in range(2))
    for t, (Phi, y) in enumerate(STREAM):
        _, validation = split(y, t, 0, plain.class_list(STREAM[:t]) if t else [])
        other = Phi.copy()
        if how == "other features":
            other[validation] = rng.standard_normal((len(validation), 16))
        else:  # rows changed about under their labels: which rows are held out follows the labels
            other[validation] = Phi[np.roll(validation, 3)]
        honest.fit_session(Phi, y)
        spoiled.fit_session(other, y)
        pairs = zip(
            honest.rule.fitted.solutions.weights, spoiled.rule.fitted.solutions.weights, strict=True
        )
        assert all(np.array_equal(W, other) for W, other in pairs)
        assert honest.report()["validation_losses"] != spoiled.report()["validation_losses"]
        assert not np.array_equal(honest.weights, spoiled.weights)


def test_a_class_whose_rows_are_all_held_out() -> None:
    """One-sample classes: the learner that is validated has a column for each."""
    rng, labels = np.random.default_rng(0), np.array([0, 0, 1, 2, 3, 4])
    sessions = [(rng.standard_normal((6, 10)), 9 * t + labels) for t in range(3)]
    for name, rule in product(("sparcl", "sparcl-plus-1"), ("newest", "all")):
        rest = {"width": 20} if name == "sparcl-plus-1" else {}
        learner = fit(build(name, ridge=rule, tau=0.6, **rest), sessions)
        assert np.isfinite(learner.logits(sessions[0][0])).all()
        assert len(learner.classes) == 15 and learner.report()["ridge"] in RIDGES
        if rule == "all":
            assert all(W.shape[1] == 15 for W in learner.rule.fitted.solutions.weights)


def test_one_sample_cannot_be_split() -> None:
    Phi, y = STREAM[2]
    for rule in ("newest", "all"):
        learner = fit(build("sparcl", ridge=rule, tau=0.7), STREAM[:2])
        before = learner.logits(PROBE)
        with pytest.raises(InputError, match=rf"session 3: ridge = '{rule}'"):
            learner.fit_session(Phi[:1], y[:1])
        assert np.array_equal(learner.logits(PROBE), before)
        learner.fit_session(Phi[:2], y[:2])
        assert np.isfinite(learner.logits(PROBE)).all()


def test_the_seed_decides_what_is_held_out() -> None:
    a, b, c = (
        fit(build("sparcl", ridge="all", tau=0.7, seed=seed), STREAM).report()["validation_losses"]
        for seed in (0, 0, 1)
    )
    assert a == b != c


def test_every_method_takes_the_rules_that_it_offers() -> None:
    every, of_scores = ("newest", "gcv", "all", "gaussian"), ("gaussian",)
    offered = dict.fromkeys(("klda-e", "sparcl-plus-2", "slda"), of_scores)
    offered |= {"dsal": ("newest",), "klda": of_scores, "c-ranpac": ()}
    fixed = {"klda": ["ridge"]}  # numbers alone
    fitted = 0
    for name in methods.names():
        known = methods.hyperparameters(name)
        few = {"width": 30, "members": 2, "draws": 5, "nonzeros": 5, "blocks": 2}
        small = {key: value for key, value in few.items() if key in known}
        for key in {*known} & {"ridge", "ridge_relative", "ridge_compensation"}:
            for rule in every:
                if key in fixed.get(name, []) or rule not in offered.get(name, every):
                    with pytest.raises(InputError, match=r"number|newest"):
                        build(name, **small, **{key: rule})
                    continue
                learner = fit(build(name, **small, **{key: rule}), STREAM[:2])
                assert len(learner.classes) == len(np.unique(STREAM[0][1])) + len(
                    np.unique(STREAM[1][1])
                )
                fitted += 1
    assert fitted > 50
    for hyper in ({"ridges": []}, {"ridge": []}):
        with pytest.raises(InputError, match=r"(ridges|ridge) = \[\]: give at least one number"):
            build("ranpac", **hyper)


# --- what cannot be chosen ------------------------------------------------------------------------


@pytest.mark.parametrize("rule", ["newest", "gcv", "all", "gaussian"])
def test_no_finite_loss_is_an_error_that_names_the_grid(
    rule: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def losses(*args: object) -> np.ndarray:
        return np.array([np.inf, np.nan])

    monkeypatch.setattr(ridge, "holdout", losses)
    monkeypatch.setattr(ridge, "gcv", losses)
    monkeypatch.setattr(ridge, "squared_error", lambda *args: np.nan)
    monkeypatch.setattr(ridge, "predicted_accuracy", lambda *args: np.nan)
    learner = build("ranpac", ridge=rule, ridges=(0.25, 8.0), width=20)
    with pytest.raises(
        NumericalError, match=r"session 1: .*among 0\.25 to 8 .*finite.*raise.*ridges"
    ):
        learner.fit_session(*STREAM[0])


RANPAC_MAP = {"map": {"random": {"width": 40}}}


@pytest.mark.parametrize("rule", ["all", "gaussian"])
@pytest.mark.parametrize(
    "parts",
    [RANPAC_MAP, {"core": "spectral"}, RANPAC_MAP | {"core": {"spectral": {"k": 0}}}],
    ids=["map", "core", "map and empty core"],
)
def test_a_candidate_without_a_solution_is_dropped(rule: str, parts: dict) -> None:
    """Rows of length 1e3: float32 cannot tell R + 1e-6 I from a singular R, but R + 1e3 I it can."""
    huge = [(1e3 * Phi[:8], y[:8]) for Phi, y in STREAM]
    given = {"ridge": rule, "ridges": (1e-6, 1e3), "dtype": "float32"} | parts
    learner = build("compose", **given)
    for session in huge:
        learner.fit_session(*session)
        losses = learner.report()["validation_losses"]
        assert np.isinf(losses[0]) and np.isfinite(losses[1])
        assert learner.report()["ridge"] == 1e3
    with pytest.raises(NumericalError, match=r"session 1: .*among 1e-06 to 1e-05"):
        build("compose", **given | {"ridges": (1e-6, 1e-5)}).fit_session(*huge[0])


def test_report_core_and_bound_speak_of_the_chosen_core() -> None:
    """Several thresholds: everything that is told is about the core whose weights are taken."""
    sessions, chosen = synthetic_stream(0, sessions=4, classes=3, samples=15, noise=1.0), []
    for taus in ((0.4, 0.9), (0.9, 0.4)):
        learner = build("sparcl", ridge="all", tau=taus, refresh=1)
        for t, (Phi, y) in enumerate(sessions):
            before = learner.weights if t else None
            old = np.concatenate([rows for rows, _ in sessions[: max(t, 1)]])
            scores = learner.logits(old) if t else None
            learner.fit_session(Phi, y)
            if t:
                report, U = learner.report(), learner.core.U_core
                expected = core_basis(old.T @ old, report["tau"])
                assert report["k"] == U.shape[1] == expected.shape[1]
                assert U @ U.T == pytest.approx(expected @ expected.T, abs=1e-8)
                assert report["energy"] == pytest.approx(
                    np.sum((old @ U) ** 2) / np.sum(old**2), abs=1e-10
                )
                c_old = before.shape[1]
                # the weights are those of this core: its coordinates are held
                held = U.T @ (learner.weights[:, :c_old] - before)
                assert np.abs(held).max() < 1e-10
                change = learner.logits(old)[:, :c_old] - scores
                measured = old_classes.measure(learner, before, old, change)
                assert 0 < measured["bound_ratio"] <= 1 + 1e-9
                chosen.append(report["tau"])
    assert chosen == [0.9, 0.4, 0.4] * 2
