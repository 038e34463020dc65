"""Sums of each class: what they hold, how they merge, and that a sweep of them is the learner itself."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparcl import methods
from sparcl.algebra import backend, spectra, tensors
from sparcl.base.errors import InputError, NumericalError
from sparcl.base.state import copied, pack, unpack
from sparcl.learners.composed import Composed
from sparcl.parts.heads import ridge as head
from sparcl.protocol import stream
from study.loop import experiment
from study.sums import sweep
from study.sums.class_sums import ClassSums
from study.sums.sweep import learn_sums

GRID = {"ridge": [0.1, 1.0], "tau": [0.5, 0.9]}


def drawn(seed: int, n: int, d: int, classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Noisy clusters of unit norm; the first classes have more rows than the last ones."""
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(classes), rng.integers(0, classes, n)])
    y = rng.permutation(np.minimum(y, rng.integers(0, classes, len(y)) + y // 2))
    y[:classes] = np.arange(classes)
    Phi = rng.standard_normal((classes, d))[y] + rng.standard_normal((len(y), d))
    return Phi / np.linalg.norm(Phi, axis=1, keepdims=True), y


def summed(Phi: np.ndarray, y: np.ndarray, classes: int, block: int = 50) -> ClassSums:
    sums = ClassSums(Phi.shape[1], classes)
    for start in range(0, len(y), block):
        sums.accumulate(Phi[start : start + block], y[start : start + block])
    return sums


# Nine classes of 24 features, for training and as test rows.
(Phi, y), (probe, labels) = drawn(5, 500, 24, 9), drawn(6, 200, 24, 9)
SPLITS = experiment.Split(Phi, y), experiment.Split(probe, labels)


def sessions_of(number: int) -> list[np.ndarray]:
    return stream.split_sessions(stream.class_order(number, 9), 4)


def solution(learner: Composed, i: int, j: int) -> np.ndarray:
    """Return the weights at ridge number i and core number j."""
    return learner.solutions.weights[
        [point[:2] for point in learner.solutions.points].index([i, j])
    ]


def same(a: np.ndarray, b: np.ndarray, limit: float = 1e-12) -> None:
    assert a.shape == b.shape
    assert np.abs(a - b).max() <= limit * np.abs(b).max()


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(0, 200),
    d=st.integers(1, 40),
    classes=st.integers(1, 6),
    block=st.integers(1, 250),
    number=st.integers(0, 4),
)
def test_any_classes_and_groups_have_the_sums_of_their_samples(
    seed: int, n: int, d: int, classes: int, block: int, number: int
) -> None:
    """Classes apart (number 0), or in so many groups."""
    Phi, y = drawn(seed, n, d, classes)
    rng = np.random.default_rng(seed)
    groups = rng.permutation(np.arange(classes) % number) if number else None
    whole, *parts = (ClassSums(d, classes, groups) for _ in range(4))
    whole.accumulate(Phi, y)
    for i, start in enumerate(range(0, len(y), block)):
        rows = slice(start, start + block)
        parts[i % 3].accumulate(Phi[rows], y[rows])
    kept = copied(pack(parts[1]))
    for part in parts[1:]:
        parts[0].merge(part)
    # what was merged stays as it was, and the total has the form of one pass: rows or a triangle
    assert all(np.array_equal(kept[key], value) for key, value in pack(parts[1]).items())
    assert [a.shape for a in parts[0].moments] == [a.shape for a in whole.moments]
    asked = [rng.permutation(classes)[: 1 + seed % classes]]
    if groups is not None:
        asked = [np.flatnonzero(groups == group) for group in np.unique(groups)]
    for labels in asked:
        found, of_these = parts[0].of(labels), np.isin(y, labels)
        same(found.R, Phi[of_these].T @ Phi[of_these])
        same(found.C, Phi[of_these].T @ (y[of_these, None] == labels))
        assert found.counts.tolist() == [np.sum(y == label) for label in labels]
        again = unpack(pack(parts[0])).of(labels)
        assert np.array_equal(again.R, found.R) and np.array_equal(again.C, found.C)


def test_a_class_is_kept_as_the_smaller_of_rows_and_triangle() -> None:
    d, few, many = 9, 5, 6  # a triangle is 45 numbers, as are 5 rows
    y = np.repeat([0, 1], [few, many])
    sums = summed(np.random.default_rng(0).standard_normal((len(y), d)), y, 2, block=2)
    assert [array.shape for array in sums.moments] == [(5, 9), (45,)]
    assert sums.nbytes == 8 * (2 + 2 * 9 + 45 + 45)
    more = np.random.default_rng(1).standard_normal((500, d))
    sums.accumulate(more, np.arange(500) % 2)
    assert sums.nbytes == 8 * (2 + 2 * 9 + 45 + 45)


@pytest.mark.parametrize(
    ("method", "hyper"),
    [
        ("acil", {}),
        ("sparcl", {"tau": GRID["tau"]}),
        ("sparcl", {"tau": GRID["tau"], "refresh": 0, "warmup": 2, "new_classes": "residual"}),
        ("sparcl", {"tau": GRID["tau"], "refresh": 1, "condition_limit": 20.0}),
        ("sparcl", {"k": 7, "refresh": 1, "trust_degrees": 60.0}),
        ("sparcl", {"tau": GRID["tau"], "freeze": False}),
        ("sparcl-alg1", {"tau": GRID["tau"]}),
    ],
)
def test_a_sweep_is_the_learner_on_its_own(method: str, hyper: dict) -> None:
    sums = summed(Phi, y, 9)
    for number in (1993, 7):
        sessions = sessions_of(number)
        fitted = sweep.learner(method, {"ridge": GRID["ridge"], **hyper})
        found = sweep.correct(sums, probe, labels, sessions, fitted)
        assert set(found) == {(i, j) for i in range(2) for j in range(len(hyper.get("tau", [0])))}
        for (i, j), correct in found.items():
            own = hyper | {"ridge": GRID["ridge"][i]}
            own |= {"tau": hyper["tau"][j]} if "tau" in hyper else {}
            own |= {"tau": None} if "k" in hyper else {}
            record = experiment.run(*SPLITS, sessions, method, own)
            assert correct.tolist() == record["correct"]
            alone = methods.build(method, **own)
            for session in sessions:
                rows = np.isin(y, session)
                alone.fit_session(Phi[rows], y[rows])
            same(fitted.sums.R, alone.sums.R)
            same(solution(fitted, i, j), alone.weights, 1e-9)
            assert np.array_equal(fitted.classes, alone.classes)


@pytest.mark.parametrize(
    ("method", "hyper"),
    [("acil", {"ridge": 0.1}), ("sparcl", {"ridge": 0.1, "tau": 0.5, "refresh": 2})],
)
def test_a_run_from_sums_has_the_record_of_one_from_samples(method: str, hyper: dict) -> None:
    sessions = sessions_of(1993)
    # the recursive update, which runs may take, counts as another way to the same weights
    wanted = experiment.run(
        *SPLITS, sessions, method, hyper | ({"update": "direct"} if "tau" in hyper else {})
    )
    groups = np.empty(9, dtype=np.int64)
    for t, session in enumerate(sessions):
        groups[session] = t
    for by in (None, groups):
        sums = ClassSums(24, 9, by)
        sums.accumulate(Phi, y)
        found = sweep.run(sums, SPLITS[1], sessions, method, hyper)
        assert found.keys() == wanted.keys()
        for name in ("correct", "classes", "answers", "session_of_class", "test_counts"):
            assert found[name] == wanted[name]
        for name in ("drift", "drift_scaled"):
            assert found[name][0] is None
            assert found[name][1:] == pytest.approx(wanted[name][1:], rel=1e-8)
        assert [set(row) for row in found["diagnostics"]] == [set(r) for r in wanted["diagnostics"]]
        assert found["hyper"] == methods.hyperparameters(method) | hyper
    with pytest.raises(InputError, match="'ncm' does not follow from sums"):
        sweep.run(sums, SPLITS[1], sessions, "ncm", {})


def test_groups_that_differ_are_refused() -> None:
    with pytest.raises(InputError, match="class 1 is in group 0, but in 1 here"):
        ClassSums(4, 2).merge(ClassSums(4, 2, np.array([0, 0])))


def test_sums_between_samples_leave_no_stale_inverse() -> None:
    """Few rows go through a kept inverse, which the sums of another session make stale."""
    (Phi, y), d = drawn(5, 200, 60, 9), 60
    sessions = [y < 5, y == 5, y == 6, y == 7, y == 8]

    def taken(update: str) -> Composed:
        learner = methods.build("sparcl", ridge=0.1, tau=0.5, refresh=0, update=update)
        for t, rows in enumerate(sessions):
            if t == 3:
                learn_sums(learner, [7], summed(Phi, y, 9))
            else:
                few = np.flatnonzero(rows)[: None if t == 0 else 3]
                learner.fit_session(Phi[few], y[few])
            if t in (2, 4):
                assert learner.report()["update"] == (
                    "direct" if update == "direct" else "woodbury"
                )
        return learner

    auto, direct = taken("auto"), taken("direct")
    assert direct.weights.shape == (d, 9)
    same(auto.weights, direct.weights, 1e-9)


def test_one_decomposition_serves_many_ridges(monkeypatch: pytest.MonkeyPatch) -> None:
    Phi, y = drawn(8, 400, 20, 6)
    sums, ridges = summed(Phi, y, 6), np.geomspace(1e-3, 1e3, head.MANY).tolist()
    many, calls = sweep.learner("acil", {"ridge": ridges}), []
    decompose = spectra.descending_eigh
    monkeypatch.setattr(head, "descending_eigh", lambda R: calls.append(len(R)) or decompose(R))
    for t, session in enumerate(([3, 0], [1], [5, 2, 4])):
        learn_sums(many, session, sums)
        assert calls == [20] * (t + 1)
        rows = np.isin(y, many.classes)
        for i, ridge in enumerate(ridges):
            one = methods.build("acil", ridge=ridge)
            one.fit_session(Phi[rows], y[rows])
            place = np.argsort(many.classes)
            same(many.solutions.weights[i][:, place], one.weights, 1e-11)
    few = sweep.learner("acil", {"ridge": ridges[:-1]})
    learn_sums(few, [0, 1], sums)
    assert len(calls) == 3


def test_test_samples_of_classes_that_never_come_count_for_nothing() -> None:
    Phi, y = drawn(9, 300, 20, 6)
    sessions = [np.array([4, 1]), np.array([0])]
    fitted = sweep.learner("acil", {"ridge": [1.0]})
    found = sweep.correct(summed(Phi, y, 6), Phi, y, sessions, fitted)[0, 0]
    rows = np.isin(y, [4, 1, 0])
    hits = fitted.predict(Phi[rows]) == y[rows]
    assert found[1].tolist() == [np.sum(y[rows][hits] == label) for label in (1 + 3, 1, 0)]
    assert found.shape == (2, 3) and found[0, 2] == 0 < found[0].sum()


# --- what is refused ------------------------------------------------------------------------------


def test_classes_without_samples_are_refused() -> None:
    sums = summed(np.eye(4)[:2], np.arange(2), 3)
    for labels in ([], [0, 0], [3], [-1], [2]):
        with pytest.raises(InputError, match="name each once, among the 3 classes"):
            sums.of(labels)


def test_settings_that_read_samples_are_refused() -> None:
    for method, hyper, message in (
        ("sparcl", {"project": True}, "measures each session"),
        ("sparcl", {"update": "woodbury"}, "takes rows"),
        ("sparcl-alg1", {"m": 3}, "differ with the last bits"),
        ("acil", {"dtype": "float32"}, "float64, not in float32"),
        ("sparcl-plus-1", {"ridge": 1.0, "width": 5}, "map is applied to samples"),
        ("compose", {"transform": "unit"}, "map is applied to samples"),
        ("sparcl", {"ridge": "all"}, "holds samples out"),
        ("air", {"width": 5, "ridge": 1.0}, "map is applied to samples"),
        ("slda", {}, "whole sessions"),
        ("ncm", {}, "'ncm' does not follow from sums"),
        ("acil", {"tau": [0.5]}, "no hyper-parameter 'tau'"),
        ("acil", {"ridge": [0.0]}, "ridge = 0.0"),
    ):
        with pytest.raises(InputError, match=message):
            sweep.learner(method, hyper)


def test_bad_sessions_are_refused_and_change_nothing() -> None:
    Phi, y = drawn(10, 100, 8, 4)
    sums, fitted = summed(Phi, y, 4), sweep.learner("sparcl", GRID)
    learn_sums(fitted, [2, 1], sums)
    weights = fitted.weights
    for labels, message in (
        ([0, 1], "session 2: class 1 was learned before"),
        ([9], "session 2: Classes .9. .without samples"),
    ):
        with pytest.raises(InputError, match=message):
            learn_sums(fitted, labels, sums)
    assert fitted.weights is weights and fitted.classes.tolist() == [1, 2]
    learn_sums(fitted, [0, 3], sums)
    assert fitted.session == 2


@pytest.mark.parametrize("ridges", [1, head.MANY])
def test_a_ridge_that_is_too_small_is_an_error(ridges: int) -> None:
    Phi = np.random.default_rng(0).standard_normal((3, 40)) * 1e6
    fitted = sweep.learner("acil", {"ridge": [1e-12] * ridges})
    with pytest.raises(NumericalError, match=r"session 1: .* not positive definite.*raise"):
        learn_sums(fitted, [0, 1, 2], summed(Phi, np.arange(3), 3))
    with pytest.raises(NumericalError, match="build a new learner"):
        learn_sums(fitted, [0, 1, 2], summed(Phi, np.arange(3), 3))


# --- on a device ----------------------------------------------------------------------------------


def test_placed_sums_are_those_of_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows alone, triangles alone, and both."""
    monkeypatch.setattr(tensors.Tensors, "tile", 7)
    on = backend.named("torch-cpu")
    for d in (24, 9):
        Phi, y = drawn(11, 150, d, 9)
        y[y == 5] = np.where(np.arange(np.sum(y == 5)) < 4, 5, 4)  # few enough to stay rows
        sums = summed(Phi, y, 9)
        expected = sums.of([5, 2, 7])
        there = sums.placed(on)
        found = there.of([5, 2, 7])
        assert (there.d, there.classes) == (d, 9) and found.on.name == on.name
        same(backend.host(found.R), expected.R)
        same(backend.host(found.C), expected.C)
        assert np.array_equal(found.counts, expected.counts)
        same(backend.host(there.of([5, 2, 7]).R), expected.R)  # reading changed nothing
        with pytest.raises(InputError, match="name each once"):
            there.of([0, 0])
    assert sums.placed(backend.HOST).sums is sums.sums  # no copy


@pytest.mark.parametrize("entry", [(0, 0), (3, 1), (1, 3), (6, 5)])
@pytest.mark.parametrize("d", [7, 8])
def test_a_packed_triangle_is_unpacked_entry_by_entry(d: int, entry: tuple[int, int]) -> None:
    """Against LAPACK's description of the format: columns of a rectangle, the tail turned over."""
    n1 = d - d // 2
    i, j = max(entry), min(entry)
    tall = d if d % 2 else d + 1
    shift = 1 - d % 2
    place = (i + shift) + j * tall if j < n1 else (j - n1) + (i - n1 + d % 2) * tall
    assert tensors.packed_places(d)[entry] == place


def test_a_sweep_sends_its_sums_and_test_rows_once(monkeypatch: pytest.MonkeyPatch) -> None:
    sums, sent = summed(Phi, y, 9), []
    send = tensors.Tensors.array

    def array(self, values, dtype=None):
        if isinstance(values, np.ndarray):
            sent.append(values.size)
        return send(self, values, dtype)

    monkeypatch.setattr(tensors.Tensors, "array", array)
    monkeypatch.setattr(backend.named("torch-cpu"), "packed", (0, None))
    data = sweep.placed(sums, probe, "torch-cpu")
    assert sum(sent) * 8 == sums.nbytes - sums.counts.nbytes + probe.nbytes
    sent.clear()
    for number in (1993, 7, 8):
        sessions = sessions_of(number)
        there, here = (sweep.learner("sparcl", GRID, device) for device in ("torch-cpu", "cpu"))
        found = sweep.correct(*data, labels, sessions, there)
        expected = sweep.correct(sums, probe, labels, sessions, here)
        assert all(np.array_equal(found[point], expected[point]) for point in expected)
        same(there.weights, here.weights, 1e-8)
    # no matrix of sums and no test row goes there again; how a triangle is packed goes once
    assert max(sent) == 24 * 24 and sent.count(24 * 24) == 1


def test_a_sweep_that_does_not_fit_is_refused_before_anything_is_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sums = summed(Phi, y, 9)
    monkeypatch.setattr(tensors.Tensors, "array", None)  # nothing may be sent
    monkeypatch.setattr(tensors.Tensors, "free", lambda self: sums.nbytes - 1)
    with pytest.raises(
        InputError, match=r"Sums of 9 classes need .* GiB on torch-cpu, and .* free"
    ):
        sweep.placed(sums, Phi, "torch-cpu")
    monkeypatch.undo()
    monkeypatch.setattr(tensors.Tensors, "free", lambda self: 2 * Phi.nbytes - 1)
    with pytest.raises(InputError, match=f"{len(Phi)} test rows need"):
        sweep.placed(sums, Phi, "torch-cpu")
