"""Kinds of stress with a rate: what arrives, when, and under which label."""

import numpy as np
import pytest

from sparcl.base.errors import InputError
from sparcl.base.rows import unit
from study.loop.experiment import Split
from study.streams import Samples, blurry, stressed

SESSIONS = [np.array(c) for c in ([7, 2, 5], [0, 4, 8], [1, 6, 3], [9, 11, 10])]
SETTINGS = {
    **{kind: {"reserve": 0.4} for kind in ("unannotated", "bad-session", "mislabelled")},
    "returning": {"reserve": 0.4, "extreme": 0.5},
    "shifted": {"directions": 3},
    "imbalanced": {"least": 2},
    "si-blurry": {"disjoint": 50, "points": 12},
    "repetition": {"experiences": 10, "rows": 30, "first": 0.2},
}
RESERVING = ("unannotated", "bad-session", "mislabelled", "returning")


def train() -> Split:
    rng = np.random.default_rng(4)
    labels = np.repeat(np.arange(12), 20)
    means = rng.standard_normal((12, 6))
    return Split(unit(means[labels] + 0.3 * rng.standard_normal((240, 6))), labels)


def made(seed: int = 1993, **rates: float) -> Samples:
    rates = {kind.replace("_", "-"): rate for kind, rate in rates.items()}
    return stressed(train(), SESSIONS, rates, SETTINGS, seed)


def truth(samples: Samples) -> np.ndarray:
    """Return the row of the training split that each sample is."""
    known = {row.tobytes(): i for i, row in enumerate(train().features)}
    return np.array([known[row.tobytes()] for row in samples.features])


def keys(samples: Samples) -> set[tuple[int, int, int]]:
    return set(
        zip(truth(samples).tolist(), samples.session.tolist(), samples.labels.tolist(), strict=True)
    )


def test_without_stress_a_stream_is_its_training_split() -> None:
    samples = made()
    assert np.array_equal(samples.features, train().features)
    for t, classes in enumerate(SESSIONS):
        assert set(samples.arriving(t).labels) == set(classes)
    assert Samples.of(train(), SESSIONS[:2]).session.max() == 1


@pytest.mark.parametrize("kind", RESERVING)
def test_fresh_images_of_old_classes_arrive_beside_the_clean_ones(kind: str) -> None:
    y = train().labels
    clean, half, full = (stressed(train(), SESSIONS, {kind: r}, SETTINGS, 1) for r in (0, 0.5, 1.0))
    assert np.array_equal(np.bincount(clean.labels), np.full(12, 12))
    assert np.array_equal(clean.labels, y[truth(clean)])
    # one clean stream at every rate and for every kind, and a rate holds what a lower one has
    assert keys(clean) <= keys(half) <= keys(full)
    other = stressed(train(), SESSIONS, {"unannotated": 0.0}, SETTINGS, 1)
    assert keys(other) == keys(clean)
    added = keys(full) - keys(clean)
    assert not {row for row, _, _ in added} & set(truth(clean))
    home = {int(c): t for t, classes in enumerate(SESSIONS) for c in classes}
    for row, session, label in added:
        assert home[int(y[row])] < session
        if kind in ("unannotated", "bad-session"):
            assert label in SESSIONS[session]
        elif kind == "mislabelled":
            assert home[label] < session and label != y[row]
        else:
            assert label == y[row]
    arrived = np.bincount([t for _, t, _ in added], minlength=4)
    own = 36
    if kind == "bad-session":
        assert arrived.tolist() == [0, 0, own, 0]
    elif kind == "returning":  # half of the reserve, which is 8 a class
        assert arrived.tolist() == [0, 12, 24, 36]
    else:  # 24 fresh images of the first session's classes, then as many as the session has
        assert arrived.tolist() == [0, 24, own, own]


def test_what_returns_lies_at_one_end_of_its_class() -> None:
    samples, y = made(returning=1.0), train().labels
    clean, back = truth(samples)[:144], truth(samples)[144:]
    for label in SESSIONS[0]:  # in the last session at the latest all that may return have returned
        rows = np.flatnonzero(y == label)
        centred = train().features[rows] - train().features[rows].mean(axis=0)
        along = centred @ np.linalg.svd(centred)[2][0]
        returned, fresh = np.isin(rows, back), ~np.isin(rows, clean)
        assert returned.sum() == 4 and fresh.sum() == 8
        stays = along[fresh & ~returned]
        assert along[returned].min() > stays.max() or along[returned].max() < stays.min()


def test_symmetric_noise_flips_its_share_inside_the_session() -> None:
    clean, some, more = made(), made(symmetric=0.2), made(symmetric=0.4)
    assert np.array_equal(clean.features, more.features)
    flipped = [s.labels != clean.labels for s in (some, more)]
    assert not (flipped[0] & ~flipped[1]).any()
    assert np.array_equal(some.labels[flipped[0]], more.labels[flipped[0]])
    assert 0.12 < flipped[0].mean() < 0.28 and 0.3 < flipped[1].mean() < 0.5
    for t, classes in enumerate(SESSIONS):
        assert set(more.arriving(t).labels) == set(classes)
    alone = [np.array([c]) for c in range(12)]
    assert np.array_equal(
        stressed(train(), alone, {"symmetric": 1.0}, SETTINGS, 0).labels, train().labels
    )


def test_similar_noise_goes_to_the_nearest_mean() -> None:
    samples, data = made(similar=1.0), train()
    for classes in SESSIONS:
        for label in classes:
            means = {
                int(c): data.features[data.labels == c].mean(axis=0) for c in classes if c != label
            }
            own = data.features[data.labels == label].mean(axis=0)
            nearest = min(means, key=lambda c: np.linalg.norm(means[c] - own))
            assert set(samples.labels[data.labels == label]) == {nearest}


def test_a_shift_moves_one_session_by_its_rate() -> None:
    clean, small, large = made(), made(shifted=1.0), made(shifted=3.0)
    moved = [np.linalg.norm(s.features - clean.features, axis=1) for s in (small, large)]
    inside = clean.session == 2
    assert not moved[0][~inside].any() and (moved[1][inside] > moved[0][inside]).all()
    assert np.linalg.norm(large.features, axis=1) == pytest.approx(1)
    assert np.array_equal(made(shifted=0.0).labels, clean.labels)


def test_few_and_imbalanced_thin_out() -> None:
    assert np.bincount(made(few=5).labels).tolist() == [5] * 12
    assert keys(made(few=5)) <= keys(made(few=10))
    counts = np.bincount(made(imbalanced=10.0).labels)
    assert sorted(counts) == sorted(max(round(20 * 10 ** (-j / 11)), 2) for j in range(12))
    assert counts.tolist() != sorted(counts)


def test_si_blurry_follows_its_draws() -> None:
    """Classes 0 and 1 come once; of 2 and 3, which have rows 4 to 7, two rows move."""
    labels, order = np.repeat(np.arange(4), 2), np.array([1, 0, 3, 2])

    def tasks(*cuts: int, moving: int = 2) -> list[list[int]]:
        found = blurry.blurred(labels, order, 2, moving, [np.array([c]) for c in cuts], np.flip)
        return [rows.tolist() for rows in found]

    # task 1: class 1, class 3 as rows 7, 6; task 2: class 0, class 2 as rows 5, 4.  Row 7 and row 5 are
    # pooled, and come back in the order 5, 7; each task is turned round
    assert tasks(1, 1, 1) == [[5, 6, 3, 2], [7, 4, 1, 0]]
    # nothing moves: a blurry class is in one task
    assert tasks(1, 1, 0, moving=0) == [[6, 7, 3, 2], [4, 5, 1, 0]]
    # a quota of two or four where a task has no blurry row, or two: the pool is short, and no row is lost
    assert tasks(1, 0, 2) == [[3, 2], [4, 5, 6, 7, 1, 0]]
    assert tasks(1, 1, 4, moving=4) == [[7, 6, 3, 2], [4, 5, 1, 0]]
    # the second task has every class, and the first is empty
    assert tasks(0, 0, 0, moving=0) == [[], [4, 5, 6, 7, 3, 2, 1, 0]]


@pytest.mark.parametrize("rate", [0, 10, 100])
def test_si_blurry_gives_every_row_once_in_blocks(rate: float) -> None:
    for seed in range(4):
        samples = stressed(train(), SESSIONS, {"si-blurry": rate}, SETTINGS, seed)
        assert sorted(truth(samples)) == list(range(240))
        assert np.array_equal(samples.labels, train().labels[truth(samples)])
        sizes = np.bincount(samples.session)
        assert (sizes > 0).all() and (np.diff(samples.session) >= 0).all()
        after = np.cumsum(sizes)
        assert after[list(samples.points)].tolist() == list(range(20, 240, 20))
        assert samples.ends[-1] == len(sizes) - 1 and 1 < len(samples.ends) <= 4
        assert len(sizes) == len({*samples.points, *samples.ends})
        task = np.searchsorted(samples.ends, samples.session)
        order, spread = np.concatenate(SESSIONS), {}
        for label in order:
            spread[label] = len(np.unique(task[samples.labels == label]))
            assert label in samples.classes[samples.session[samples.labels == label].min()]
        assert all(spread[label] == 1 for label in (order if rate == 0 else order[:4]))
        assert sorted(np.concatenate(samples.classes)) == list(range(12))
        if rate == 100:
            assert max(spread.values()) > 1


def test_repetition_follows_its_draws() -> None:
    labels = np.repeat([3, 8], [4, 2])
    present = np.array([[1, 1, 0], [0, 1, 0]], dtype=bool)
    # rows are shared equally, the rest goes to the first class after the shuffle; class 8 has two rows alone
    found = blurry.repeated(labels, np.array([3, 8]), present, 3, np.flip)
    assert [rows.tolist() for rows in found] == [[3, 2, 1], [5, 4, 3], []]
    assert blurry.repeated(labels, np.array([3, 8]), present, 10, np.flip)[1].tolist() == [
        *(5, 4),
        *(3, 2, 1, 0),
    ]


def test_repetition_brings_classes_and_rows_again() -> None:
    for rate in (0.0, 0.4, 1.0):
        samples = made(repetition=rate)
        assert np.array_equal(samples.labels, train().labels[truth(samples)])
        assert samples.points == samples.ends == tuple(range(samples.session[-1] + 1))
        first = {label: t for t, new in enumerate(samples.classes) for label in new.tolist()}
        assert sorted(first) == list(range(12))
        for t in samples.points:
            rows = truth(samples)[samples.session == t]
            assert len(set(rows)) == len(rows) <= 30
            counts = np.unique(train().labels[rows], return_counts=True)
            assert np.ptp(counts[1]) <= 1 or counts[1].max() == 20
            assert min(t - first[label] for label in counts[0]) >= 0
        visits = [len(np.unique(samples.session[samples.labels == c])) for c in range(12)]
        if rate == 0:
            assert visits == [1] * 12 and len(samples.points) < 10
        else:
            assert max(visits) > 1 and len(set(truth(samples))) < len(samples.labels)
        if rate == 1:
            assert visits == [len(samples.points) - first[c] for c in range(12)]
    settings = {"repetition": SETTINGS["repetition"] | {"rows": 11}}
    with pytest.raises(InputError, match="Raise `rows`"):
        stressed(train(), SESSIONS, {"repetition": 0.5}, settings, 0)


def test_kinds_lie_on_each_other() -> None:
    samples = made(few=5, unannotated=1.0, symmetric=0.4)
    assert truth(samples).size > 12 * 3
    wrong = samples.labels != train().labels[truth(samples)]
    assert wrong[samples.session == 0].any()
    assert (samples.session[36:] > 0).all()


def test_draws_belong_to_kind_and_number() -> None:
    assert keys(made(seed=1, unannotated=0.5)) == keys(made(seed=1, unannotated=0.5))
    assert keys(made(seed=1, unannotated=0.5)) != keys(made(seed=2, unannotated=0.5))
