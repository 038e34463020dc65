"""A session in parts: any blocks, shards or machines give what the whole session gives."""

from collections.abc import Sequence

import numpy as np
import pytest
from reference.streams import PROBE, STREAM, Session, alike, fit

from sparcl import methods
from sparcl.base.errors import InputError, NumericalError
from sparcl.learners.learner import Learner
from sparcl.methods import build

SUMS: dict[str, tuple[str, dict]] = {
    "ncm": ("ncm", {}),
    "teen": ("teen", {}),
    "acil": ("acil", {"ridge": 0.1}),
    "linear-relu": ("linear-relu", {"ridge": 0.1, "width": 40}),
    "own covariances": ("sparcl-plus", {}),
    "power": ("compose", {"transform": "power"}),
    "sparse": ("flycl", {"ridge": 3.0, "width": 40, "nonzeros": 8}),
}
WHOLE: dict[str, tuple[str, dict, str]] = {
    "core": ("sparcl", {"tau": 0.6}, "core"),
    "rule": ("linear-relu", {"ridge": "gaussian", "width": 40}, "rule"),
    "map": ("sparcl", {"k": 0, "expansion": "relu", "m": 40}, "map"),
    "bandwidth": ("sparcl", {"k": 0, "expansion": "rbf", "m": 40, "tau_map": 0.0}, "map"),
    "projection": ("sparcl", {"k": 0, "project": True}, "project"),
    "ranpac": ("ranpac", {"width": 40}, "newest"),
    "kernels": ("gkeal", {"width": 20}, "centres"),
    "balanced": ("air", {"width": 40}, "final count"),
}


def made(case: str) -> Learner:
    name, hyper = SUMS[case]
    return build(name, **hyper)


def in_parts(learner: Learner, session: Session, sizes: Sequence[int]) -> Learner:
    """Give one session in parts of these sizes, the rest last."""
    for Phi, y in zip(*(np.split(a, np.cumsum(sizes)) for a in session), strict=True):
        learner.accumulate(Phi, y)
    learner.solve()
    return learner


def counts(learner: Learner) -> np.ndarray:
    return learner.counts if hasattr(learner, "counts") else learner.sums.counts


def same(a: Learner, b: Learner) -> None:
    assert np.array_equal(a.classes, b.classes)
    assert a.session == b.session
    assert np.abs(a.weights - b.weights).max() < 1e-10
    assert np.array_equal(counts(a), counts(b))
    assert a.report().keys() == b.report().keys()


@pytest.mark.parametrize("sizes", [[], [1], [35], [1] * 35, [5, 17, 2]])
@pytest.mark.parametrize("case", SUMS)
def test_any_parts_are_the_session(case: str, sizes: list[int]) -> None:
    whole, parts = fit(made(case), STREAM[:3]), made(case)
    for session in STREAM[:3]:
        in_parts(parts, session, sizes)
    same(whole, parts)
    assert np.array_equal(whole.predict(PROBE), parts.predict(PROBE))
    # and both ways of learning go on from either
    fit(whole, STREAM[3:])
    fit(parts, STREAM[3:])
    same(whole, parts)


def test_a_grid_of_ridges_is_a_sum_too() -> None:
    def grid() -> Learner:
        return build("acil", ridge=[0.01, 0.1, 1.0])

    whole, parts = fit(grid(), STREAM[:1]).scores(PROBE), in_parts(grid(), STREAM[0], [7])
    for point, scores in parts.scores(PROBE).items():
        assert np.abs(scores - whole[point]).max() < 1e-10
    assert len(whole) == 3


def test_parts_after_the_recursive_update() -> None:
    """Few rows go through a kept inverse, which parts make stale."""

    def recursive() -> Learner:
        return build("sparcl", ridge=0.1, k=0, update="woodbury")

    parts = fit(recursive(), STREAM[:2])
    assert parts.report()["update"] == "woodbury"
    in_parts(parts, STREAM[2], [1])
    parts.fit_session(*STREAM[3])
    assert parts.report()["update"] == "woodbury"
    same(parts, fit(recursive(), STREAM))


@pytest.mark.parametrize("case", SUMS)
def test_merge_is_one_pass(case: str) -> None:
    """Two machines with different classes, one of them shared, in different orders; and all into a fresh learner."""
    (first, y1), (second, y2) = STREAM[0], STREAM[1]
    shared = (np.concatenate([second, first[20:]]), np.concatenate([y2, y1[20:]]))
    a, b = fit(made(case), [(first[:20], y1[:20])]), fit(made(case), [shared])
    before = b.state()
    a.merge(b)
    a.solve()
    assert alike(before, b.state())
    whole = fit(made(case), [(first[:20], y1[:20]), shared])
    same(a, whole)
    assert np.array_equal(a.predict(PROBE), whole.predict(PROBE))
    total = made(case)
    for session in STREAM:
        total.merge(fit(made(case), [session]))
    total.accumulate(*STREAM[0])
    total.solve()
    both = tuple(np.concatenate([s[i] for s in STREAM] + [STREAM[0][i]]) for i in range(2))
    same(total, fit(made(case), [both]))
    assert total.session == 1


@pytest.mark.parametrize("case", SUMS)
def test_an_open_session_is_kept_goes_on_and_must_be_ended(case: str) -> None:
    learner = made(case)
    with pytest.raises(InputError, match="session 1: no samples were accumulated"):
        learner.solve()
    fit(learner, STREAM[:1])
    learner.accumulate(STREAM[1][0][:5], STREAM[1][1][:5])
    with pytest.raises(InputError, match=r"session 2 is in progress.*solve"):
        learner.logits(PROBE)
    with pytest.raises(InputError, match=r"session 2 was begun in parts.*solve"):
        learner.fit_session(*STREAM[1])
    again = type(learner).from_state(learner.state())
    for one in (learner, again):
        one.accumulate(STREAM[1][0][5:], STREAM[1][1][5:])
        one.solve()
    assert np.array_equal(again.weights, learner.weights)
    same(again, fit(made(case), STREAM[:2]))


@pytest.mark.parametrize("case", WHOLE)
def test_what_is_no_sum_says_so(case: str) -> None:
    name, hyper, reason = WHOLE[case]
    learner = fit(build(name, **hyper), STREAM[:2])
    before = learner.logits(PROBE)
    calls = [
        lambda: learner.accumulate(*STREAM[2]),
        lambda: learner.merge(fit(build(name, **hyper), STREAM[2:])),
        learner.solve,
    ]
    for call in calls:
        with pytest.raises(InputError, match=f"whole.*{reason}"):
            call()
    assert learner.undivided
    assert np.array_equal(learner.logits(PROBE), before)
    fit(learner, STREAM[2:])
    same(learner, fit(build(name, **hyper), STREAM))


def test_what_cannot_be_merged_changes_neither() -> None:
    learner = fit(build("acil", ridge=0.1), STREAM[:2])
    narrow = [(Phi[:, :9], y) for Phi, y in STREAM]
    failed = build("acil", ridge=0.1)
    failed.failure = "R is not positive definite"
    others = {
        r"rule\.ridges \(\(0\.1,\) and \(1\.0,\)\)": fit(build("acil", ridge=1.0), STREAM),
        "dtype": fit(build("acil", ridge=0.1, dtype="float32"), STREAM),
        "NearestClassMean into a Composed": fit(build("ncm"), STREAM),
        "9 features into one of 16": fit(build("acil", ridge=0.1), narrow),
        "seen no sample": build("acil", ridge=0.1),
        "learner that failed": failed,
    }
    for message, other in others.items():
        before, its = learner.state(), other.state()
        with pytest.raises(InputError, match=message):
            learner.merge(other)
        for kept, now in ((before, learner.state()), (its, other.state())):
            assert alike(kept, now)


def test_bad_samples_leave_the_open_session_as_it_was() -> None:
    learner = build("acil", ridge=0.1)
    learner.accumulate(*STREAM[0])
    bad = STREAM[1][0].copy()
    bad[3, 2] = np.nan
    for Phi in (bad, STREAM[1][0][:, 1:], STREAM[1][0].astype(int)):
        with pytest.raises(InputError, match="session 1"):
            learner.accumulate(Phi, STREAM[1][1])
    learner.accumulate(*STREAM[1])
    learner.solve()
    both = tuple(np.concatenate([STREAM[0][i], STREAM[1][i]]) for i in range(2))
    same(learner, fit(build("acil", ridge=0.1), [both]))


def test_a_session_that_cannot_be_solved_stays_open() -> None:
    """Nothing was added twice, so more samples may mend it."""
    learner = build("acil", ridge=1e-4, dtype="float32")
    learner.accumulate(1e4 * STREAM[0][0][:6], STREAM[0][1][:6])
    kept = learner.state()
    with pytest.raises(NumericalError, match="session 1"):
        learner.solve()
    assert alike(kept, learner.state())
    learner.accumulate(1e4 * np.eye(16, dtype=np.float32), np.arange(16))
    learner.solve()
    assert learner.session == 1


def test_every_method_is_a_sum_or_says_why_not() -> None:
    sums = {name for name in methods.names() if not build(name).undivided}
    assert {"acil", "acil-rhl", "gacl", "foal", "real-ffb", "linear-relu", "ncm"} <= sums
    assert not sums & {"sparcl", "sparcl-alg1", "sparcl-plus-1", "ranpac", "loranpac"}
