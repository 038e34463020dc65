"""Exact forgetting: the state of a learner that never saw the samples, or a refusal that says why."""

import copy
import csv
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.streams import PROBE, STREAM, Session, alike, fit, scores_of

import study.methods  # noqa: F401  its methods are found beside those of sparcl
from sparcl import methods
from sparcl.base.errors import InputError, NumericalError
from sparcl.base.state import renewed
from sparcl.learners.composed import Composed
from sparcl.learners.learner import Learner
from sparcl.methods import build
from sparcl.parts.rules import Given

SMALL = {"width": 40, "nonzeros": 8, "blocks": 4, "cap": 30, "k": 9}
EXACT, CLASSES, REFIT, NEVER = "exact", "whole classes", "refit", "never"
# How every method forgets with its defaults, and a word of its reason, or of what a refit leaves.
TABLE = {
    "acil": (EXACT, ""),
    "acil-rhl": (EXACT, ""),
    "air": (CLASSES, ""),
    "anacp": (REFIT, ""),
    "c-fecam": (EXACT, ""),
    "c-ranpac": (NEVER, "draws"),
    "compose": (EXACT, ""),
    "derpp-head": (NEVER, "no sum"),
    "dsal": (NEVER, "second stream"),
    "fecam": (EXACT, ""),
    "fenec": (CLASSES, ""),
    "flycl": (REFIT, "'gcv'"),
    "foal": (EXACT, ""),
    "ft-head": (NEVER, "no sum"),
    "gacl": (EXACT, ""),
    "gkeal": (NEVER, "holds samples"),
    "icarl-nme": (NEVER, "no sum"),
    "klda": (REFIT, "kernel's width"),
    "klda-e": (REFIT, "kernel's width"),
    "layup": (REFIT, "scale of each block"),
    "linear-relu": (EXACT, ""),
    "loranpac": (NEVER, "order of samples"),
    "lr-rgda": (EXACT, ""),
    "ncm": (EXACT, ""),
    "randumb": (REFIT, "kernel's width"),
    "ranpac": (REFIT, "'newest'"),
    "real-ffb": (EXACT, ""),
    "ridge-lda": (NEVER, "held out"),
    "slca-frozen": (NEVER, "no sum"),
    "slda": (EXACT, ""),
    "srda": (EXACT, ""),
    "sparcl": (REFIT, ""),
    "sparcl-alg1": (REFIT, ""),
    "sparcl-plus": (REFIT, "root is taken"),
    "sparcl-plus-1": (NEVER, "held out"),
    "teen": (EXACT, ""),
    "sparcl-plus-2": (REFIT, "root is taken"),
}  # fmt: skip
# Settings with which they forget otherwise.
OTHERWISE: list[tuple[str, dict[str, Any], str, str]] = [
    ("acil", {"relative": True}, REFIT, ""),
    ("acil", {"ridge": [0.1, 1.0]}, EXACT, ""),
    ("acil", {"columns": "unit"}, EXACT, ""),
    ("air", {"columns": "unit"}, CLASSES, ""),
    ("anacp", {"nearest": True}, EXACT, ""),
    ("anacp", {"official": True}, NEVER, "covariance"),
    ("compose", {"core": "frozen"}, REFIT, ""),
    ("compose", {"core": {"beside-scatter": {"tau": 0.6}}}, REFIT, ""),
    ("compose", {"head": "ledoit-wolf"}, NEVER, "fourth moments"),
    ("compose", {"head": "oracle-shrinkage", "transform": "power"}, EXACT, ""),
    ("compose", {"row_weights": "trim"}, NEVER, "weights the rows"),
    ("klda", {"ridge": 0, "sigma": 2.0}, NEVER, "pseudo-inverse"),
    ("klda", {"sigma": 2.0}, EXACT, ""),
    ("randumb", {"embedding": "relu"}, EXACT, ""),
    ("ranpac", {"ridge": 0.1}, EXACT, ""),
    ("ranpac", {"ridge": "gaussian"}, NEVER, "held out"),
    ("slda", {"covariance": "frozen"}, NEVER, "first session"),
    ("sparcl", {"k": 0}, EXACT, ""),
    ("sparcl", {"k": 0, "project": True}, NEVER, "project"),
    ("sparcl", {"tau": 0.6, "ridge": [0.1, 1.0]}, REFIT, ""),
    ("sparcl-plus", {"filtered": True}, NEVER, "weights the rows"),
    ("sparcl-plus", {"k": 0}, REFIT, "root is taken"),
]
CASES = [(name, {}, *how) for name, how in TABLE.items()] + OTHERWISE
Phi, Y = (np.concatenate(parts) for parts in zip(*STREAM, strict=True))
SESSION = np.repeat(np.arange(len(STREAM)), [len(y) for _, y in STREAM])
RNG = np.random.default_rng(7)
SOME = RNG.permutation(len(Y))[:40]  # of all sessions and most classes
CLASS = np.flatnonzero(np.isin(Y, [Y[0], Y[-1]]))  # two classes as a whole


def made(name: str, **hyper: Any) -> Learner:
    own = {k: v for k, v in SMALL.items() if k in methods.hyperparameters(name)}
    if name.startswith("sparcl") and name != "sparcl-plus":
        own.pop("k", None)
    return build(name, **own | hyper)


def without(rows: np.ndarray, sessions: bool = True) -> list[Session]:
    """Return the stream without some rows, in its sessions or in one."""
    stay = np.setdiff1d(np.arange(len(Y)), rows)
    parts = [stay[SESSION[stay] == t] for t in range(len(STREAM))] if sessions else [stay]
    return [(Phi[part], Y[part]) for part in parts]


def never_saw(learner: Learner, rows: np.ndarray, refit: bool) -> Learner:
    """Return a learner that saw the other rows alone, with the choices of ``learner`` that a refit leaves."""
    fresh = renewed(learner)
    pairs: Sequence[tuple[Any, Any]] = [(fresh, learner)]
    for name in ("discriminants", "heads"):
        if hasattr(learner, name):
            pairs = list(zip(getattr(fresh, name), getattr(learner, name), strict=True))
    for new, old in pairs:
        if refit and isinstance(old, Composed):
            if old.rule.whole_session:
                new.rule = Given((old.solutions.points[0][2],))
            for part in ("transform", "map"):
                if getattr(old, part).whole_session:
                    setattr(new, part, copy.deepcopy(getattr(old, part)))
                    getattr(new, part).begin = lambda Phi: None
    if type(learner).__name__ == "SparclPlus":
        fresh.k = 0  # what its refit is
    return fit(fresh, without(rows, sessions=not refit))


def same(found: Learner, expected: Learner, limit: float = 1e-9) -> float:
    """Check that two learners agree; return the largest difference of scores, relative to the largest score."""
    assert len(found.classes) == len(expected.classes)
    scores, wanted = found.logits(PROBE), scores_of(expected, found.classes, PROBE)
    error = float(np.abs(scores - wanted).max() / np.abs(wanted).max())
    assert error < limit
    return error


def weights(learner: Learner, labels: np.ndarray) -> np.ndarray:
    order = [learner.classes.tolist().index(label) for label in labels]
    return learner.weights[:, order]


def test_every_method_forgets_exactly_or_says_why_not() -> None:
    """With its defaults, and for settings that change how; a refusal leaves the learner as it was."""
    assert set(TABLE) == set(methods.names())
    for name, hyper, kind, reason in CASES:
        learner = fit(made(name, **hyper), STREAM)
        before = learner.state()
        rows = CLASS if kind == CLASSES else SOME
        if kind == NEVER:
            for refit in (False, True):
                with pytest.raises(InputError, match=reason):
                    learner.forget(Phi[rows], Y[rows], refit_from_sums=refit)
        refit = kind == REFIT
        if refit:
            with pytest.raises(InputError, match="refit_from_sums"):
                learner.forget(Phi[rows], Y[rows])
        assert alike(before, learner.state()), name
        if kind == NEVER:
            continue
        told = learner.forget(Phi[rows], Y[rows], refit_from_sums=refit)
        assert told.rows == len(rows)
        assert (" ".join(told.differs) == "") == (reason == ""), name
        assert reason in " ".join(told.differs)
        expected = never_saw(learner, rows, refit)
        same(learner, expected)
        assert learner.session == expected.session
        if told.error is not None and hasattr(learner, "weights"):
            right = weights(expected, learner.classes)
            moved = np.linalg.norm(learner.weights - right) / np.linalg.norm(right)
            assert moved <= told.error < 1e-6
        if kind == EXACT:  # and it goes on as the other does
            more = (Phi[CLASS], Y[CLASS] + 100)
            same(fit(learner, [more]), fit(expected, [more]))


def test_the_page_says_what_the_code_says(monkeypatch: pytest.MonkeyPatch) -> None:
    root = Path(__file__).parents[2]
    monkeypatch.syspath_prepend(str(root / "benchmarks"))
    monkeypatch.delitem(sys.modules, "forgetting", raising=False)
    import forgetting

    with open(root / "docs/forgetting/methods.csv", encoding="utf-8", newline="") as file:
        written = list(csv.DictReader(file))
    assert written == forgetting.table(), "python benchmarks/forgetting.py writes it again"
    how = {EXACT: "yes", CLASSES: "yes", REFIT: "after a refit", NEVER: "no"}
    assert {row["method"]: row["how"] for row in written} == {
        name: how[kind] for name, (kind, _) in TABLE.items()
    }


@given(
    st.sampled_from([name for name, (kind, _) in TABLE.items() if kind == EXACT]),
    st.integers(0, 2**32 - 1),
    st.integers(1, 3),
    st.booleans(),
)
@settings(max_examples=25, deadline=None)
def test_any_samples_in_any_order_and_parts(
    tmp_path_factory: pytest.TempPathFactory, name: str, seed: int, parts: int, saved: bool
) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(Y))[: rng.integers(1, len(Y) // 2)]
    spare = {int(np.flatnonzero(y == Y)[i]) for y in np.unique(Y) for i in (0, 1)}  # two of a class
    if name == "fecam":
        rows = np.array(sorted({*rows.tolist()} - spare))
    learner = fit(made(name), STREAM)
    for part in np.array_split(rng.permutation(rows), parts):
        if len(part):
            learner.forget(Phi[part], Y[part])
        if saved:
            path = tmp_path_factory.mktemp("saved") / "a.npz"
            learner.save(path)
            learner = type(learner).load(path)
    expected = fit(made(name), [s for s in without(rows) if len(s[1])])
    same(learner, expected, 1e-8)
    assert learner._counts().sum() == len(Y) - len(rows)


@pytest.mark.parametrize("name", ["acil", "acil-rhl", "linear-relu", "ncm", "compose"])
def test_to_forget_and_to_merge_commute(name: str) -> None:
    first, second = (fit(made(name), STREAM[i : i + 2]) for i in (0, 2))
    rows = SOME[SESSION[SOME] < 2]
    late = type(first).from_state(first.state())
    late.merge(second)
    late.solve()
    late.forget(Phi[rows], Y[rows])
    first.forget(Phi[rows], Y[rows])
    first.merge(second)
    first.solve()
    same(first, late)
    same(fit(made(name), without(rows)), late)


def test_bit_for_bit_where_sums_are_exact() -> None:
    """Features on a grid q: where sum h_j^2 / q^2 < 2^53, every partial sum is a whole number of q^2."""
    grid = np.round(Phi * 2**20) / 2**20
    assert (grid**2).sum(axis=0).max() * 2.0**40 < 2**53
    fresh = {}
    for rows in (SOME, CLASS):
        for name in ("acil", "compose", "ncm"):
            learner = fit(made(name), [(grid[SESSION == t], Y[SESSION == t]) for t in range(4)])
            learner.forget(grid[rows], Y[rows])
            stay = [np.setdiff1d(np.flatnonzero(SESSION == t), rows) for t in range(4)]
            fresh = fit(made(name), [(grid[part], Y[part]) for part in stay])
            assert np.array_equal(learner.classes, fresh.classes)
            mine, wanted = learner.state(), fresh.state()
            keys = [key for key in mine if key.split("/")[-1] in ("R", "C", "counts", "sums")]
            keys += [key for key in mine if "weights" in key]
            assert len(keys) > 1
            assert all(np.array_equal(mine[key], wanted[key]) for key in keys), name


def test_classes_of_their_own_need_no_samples() -> None:
    gone = np.unique(Y[CLASS])
    for name in ("ncm", "fecam", "fenec", "lr-rgda", "srda"):
        learner = fit(made(name), STREAM)
        order = [label for label in learner.classes.tolist() if label in gone]
        told = learner.forget_classes(gone)
        assert (told.rows, told.classes, told.differs) == (len(CLASS), order, [])
        assert alike(learner.state(), fit(made(name), without(CLASS)).state())
        learner.forget_classes(learner.classes)
        assert not len(learner.classes) and learner.session == 0
    with pytest.raises(InputError, match="Give its samples"):
        fit(made("acil"), STREAM).forget_classes(gone)


def test_to_forget_all_leaves_a_new_learner() -> None:
    for name, (kind, _) in TABLE.items():
        if kind in (NEVER, CLASSES):
            continue
        learner = fit(made(name), STREAM)
        learner.forget(Phi, Y, refit_from_sums=kind == REFIT)
        assert not len(learner.classes)
        with pytest.raises(InputError, match="No session was fitted"):
            learner.predict(PROBE)
        same(fit(learner, STREAM), fit(made(name), STREAM))


OTHER = np.random.default_rng(3).standard_normal(Phi.shape)
BAD: dict[str, tuple[Callable[[Learner], object], str]] = {
    "other samples": (lambda a: a.forget(OTHER[SOME] / 3, Y[SOME]), "not learned"),
    "other labels": (lambda a: a.forget(Phi[SOME], np.roll(Y[SOME], 1)), "not learned|were learned"),
    "extracted again": (lambda a: a.forget(Phi[CLASS] + 1e-3 * OTHER[CLASS], Y[CLASS]), "learned"),
    "an unknown class": (lambda a: a.forget(Phi[:1], np.array([99])), "class 99 was never learned"),
    "twice the same": (
        lambda a: a.forget(np.repeat(Phi[:1], 13, axis=0), np.repeat(Y[:1], 13)),
        "13 samples of class .*, and 12 were learned",
    ),
    "another width": (lambda a: a.forget(Phi[:, :5], Y), "samples to be forgotten: Phi has shape .* 5\\)"),
    "not finite": (lambda a: a.forget(np.full((1, 16), np.nan), Y[:1]), "not finite"),
    "nothing": (lambda a: a.forget(Phi[:0], Y[:0]), "no samples"),
    "class twice": (lambda a: a.forget_classes([99]), "Give its samples|99 was never"),
}  # fmt: skip


def test_what_was_never_learned_is_refused_and_nothing_changes() -> None:
    for name, (kind, _) in TABLE.items():
        if kind != EXACT:
            continue
        learner = fit(made(name), STREAM)
        before = learner.state()
        for case, (attempt, message) in BAD.items():
            if name in ("ncm", "teen") and case in ("other samples", "other labels"):
                continue  # a sum alone does not know them
            with pytest.raises((InputError, NumericalError), match=message):
                attempt(learner)
            assert alike(before, learner.state())


def test_sums_that_shrink_to_nothing() -> None:
    """However little is left beside what was held: the learner is right to its error, or it is refused."""
    refused, right = 0, 0
    for name, hyper in {
        "acil": {"ridge": 1e-3}, "tiny": {"ridge": 1e-13}, "acil-rhl": {"ridge": 1e-9}, "slda": {"shrinkage": 1e-9},
        "compose": {"head": "ridge-discriminant", "ridge": 1e-9}, "sparcl-plus": {}, "lr-rgda": {},
        "ledger": {"head": "oracle-shrinkage"}, "single": {"dtype": "float32", "ridge": 1e-4},
    }.items():  # fmt: skip
        method = {"tiny": "acil", "ledger": "compose", "single": "acil"}.get(name, name)
        for left in (1, 2, 5):  # rows of each of two classes
            rng = np.random.default_rng(left)
            many = np.tile(Phi[CLASS], (8, 1)) * rng.uniform(0.5, 2, (8 * len(CLASS), 1))
            many += 0.3 * rng.standard_normal(many.shape)
            y = np.tile(Y[CLASS], 8)
            stay = np.concatenate([np.flatnonzero(y == label)[:left] for label in np.unique(y)])
            gone = rng.permutation(np.setdiff1d(np.arange(len(y)), stay))
            learner = made(method, **hyper)
            learner.fit_session(many, y)
            try:
                for part in np.array_split(gone, 5):
                    told = learner.forget(
                        many[part], y[part], refit_from_sums=method == "sparcl-plus"
                    )
            except (InputError, NumericalError):
                refused += 1
                continue
            expected = made(method, **hyper)
            if method == "sparcl-plus":
                expected.k = 0
            expected.fit_session(many[stay], y[stay])
            same(learner, expected, 1e-6 if told.error is None else max(told.error, 1e-12))
            right += 1
    assert refused and right
