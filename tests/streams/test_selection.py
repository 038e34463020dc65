"""Which methods a selection can fit: any composition whose rule is given."""

import numpy as np
import pytest
from reference.streams import synthetic_stream

from sparcl.base.errors import InputError
from sparcl.learners.composed import Composed
from sparcl.methods import build
from study import selection
from study.few_rows import FewRows, in_span
from study.loop import experiment
from study.selection import pseudo_stream

OPTIONS = {"sub_sessions": 3, "fit_share": 0.6, "prefer_ridge": 1.0, "seed": 4}
RIDGES = [0.01, 0.3, 10.0]


def base() -> experiment.Split:
    sessions = synthetic_stream(3, sessions=2, classes=6, samples=15, noise=1.2)
    return experiment.Split(*(np.concatenate(part) for part in zip(*sessions, strict=True)))


@pytest.mark.parametrize(
    ("method", "hyper", "grid"),
    [
        ("acil", {}, {}),
        ("foal", {"width": 30}, {}),
        ("linear-relu", {"width": 30, "relative": True}, {}),
        ("air", {"width": 30, "relative": True}, {}),
        ("gkeal", {"width": 20}, {"kappa": [1.0, 0.5]}),
        ("dsal", {"width": 10}, {"ratio": [0.6, 1.0]}),
        ("sparcl-plus-2", {}, {}),
        ("sparcl", {}, {"tau": [0.4, 0.9]}),
        ("compose", {"map": {"random": {"width": 30}}, "core": "spectral"}, {}),
    ],
)
def test_every_point_has_the_accuracy_of_its_own_learner(
    method: str, hyper: dict, grid: dict
) -> None:
    train, grid = base(), {"ridge": RIDGES} | grid
    classes = np.unique(train.labels)[:9]
    result = selection.select(train, classes, method, hyper, grid, **OPTIONS)
    subs, fit, score = pseudo_stream(train.labels, classes, 3, 0.6, 4)
    fitted, scored = (
        experiment.Split(train.features[rows], train.labels[rows]) for rows in (fit, score)
    )
    for point in result["scores"]:
        own = {key: value for key, value in point.items() if key != "A_bar"}
        learner, accuracies = build(method, **hyper, **own), []
        for t, sub in enumerate(subs):
            part = fitted.rows(sub)
            learner.fit_session(part.features, part.labels)
            seen = scored.rows(np.concatenate(subs[: t + 1]))
            accuracies.append(np.mean(learner.predict(seen.features) == seen.labels))
        assert point["A_bar"] == pytest.approx(100 * np.mean(accuracies), abs=1e-6)
    best = max(point["A_bar"] for point in result["scores"])
    assert result["chosen"] | {"A_bar": best} in result["scores"]
    assert len(result["scores"]) == np.prod([len(values) for values in grid.values()])


@pytest.mark.parametrize(
    ("method", "hyper", "grid"),
    [
        ("ncm", {}, {"ridge": RIDGES}),
        ("slda", {}, {"ridge": RIDGES}),
        ("acil", {}, {"ridge": RIDGES, "tau": [0.5]}),
        ("sparcl", {"ridge": "all"}, {"tau": [0.5, 0.9]}),
        ("ranpac", {"width": 10, "ridge": "newest"}, {}),
    ],
)
def test_what_has_nothing_to_select_is_an_input_error(method: str, hyper: dict, grid: dict) -> None:
    train = base()
    with pytest.raises(InputError):
        selection.select(train, np.unique(train.labels), method, hyper, grid, **OPTIONS)


def test_settings_without_a_ridge_are_chosen_too_and_a_tie_goes_to_the_first() -> None:
    train = base()
    classes = np.unique(train.labels)[:9]
    grid = {"alpha": [1.0, 0.2]}
    result = selection.select(train, classes, "fecam", {}, grid, **OPTIONS)
    assert [point["alpha"] for point in result["scores"]] == [1.0, 0.2]
    best = max(point["A_bar"] for point in result["scores"])
    first = next(point for point in result["scores"] if point["A_bar"] == best)
    assert result["chosen"] == {"alpha": first["alpha"]}


@pytest.mark.parametrize(
    ("method", "hyper"),
    [
        ("slda", {}),
        ("klda", {"width": 30}),
        ("klda", {"width": 400}),
        ("sparcl-plus-2", {}),
        ("ranpac", {"width": 400, "relative": True}),
    ],
)
def test_scores_from_few_rows_are_those_from_sums(method: str, hyper: dict) -> None:
    key = "ridge_relative" if method in ("slda", "klda") else "ridge"
    train = base()
    by_sums, by_rows = (build(method, **hyper, **{key: RIDGES}) for _ in range(2))
    assert isinstance(by_rows, Composed) and FewRows.suits(by_rows)
    few = FewRows(by_rows)
    for classes in np.array_split(np.unique(train.labels), 3):
        part = train.rows(classes)
        by_sums.fit_session(part.features, part.labels)
        few.fit_session(part.features, part.labels)
        expected = by_sums.scores(train.features)
        assert few.classes.tolist() == by_sums.classes.tolist()
        for point, scores in few.scores(train.features).items():
            shift = scores - expected[point]
            # a discriminant is defined up to what all classes share
            shift -= shift.mean(axis=1, keepdims=True)
            assert np.abs(shift).max() < 1e-7 * np.abs(expected[point]).max()


def test_a_learner_that_weighs_rows_is_followed_itself() -> None:
    assert FewRows.suits(build("compose", ridge=RIDGES))
    assert not FewRows.suits(build("compose", ridge=RIDGES, row_weights="trim"))


TAUS = {"ridge": RIDGES, "tau": [0.4, 0.9]}


@pytest.mark.parametrize(
    ("method", "hyper"),
    [
        ("sparcl", {"relative": True, "refresh": 1}),
        ("sparcl", {"trust_degrees": 80.0}),
        ("sparcl", {"project": True}),
        ("sparcl", {"reappearing": "free", "new_classes": "residual"}),
        ("sparcl-alg1", {"relative": True, "refresh": 1}),
    ],
)
def test_scores_in_the_span_are_those_of_the_rows(method: str, hyper: dict) -> None:
    train, d = base(), 400
    lift = np.linalg.qr(np.random.default_rng(2).standard_normal((d, train.features.shape[1])))[0]
    rows = train.features @ lift.T + 0.1 * np.random.default_rng(3).standard_normal(
        (len(train.labels), d)
    )
    fitted = np.arange(len(rows)) % 3 > 0
    learner, turned = (build(method, **hyper, **TAUS) for _ in range(2))
    inside, others = in_span(turned, rows[fitted], rows[~fitted])
    assert inside.shape == (fitted.sum(), fitted.sum()) and others.shape[1] == fitted.sum() < d
    for classes in np.array_split(np.unique(train.labels), 3):
        part = np.isin(train.labels[fitted], classes)
        learner.fit_session(rows[fitted][part], train.labels[fitted][part])
        turned.fit_session(inside[part], train.labels[fitted][part])
        assert turned.core.report()["k"] == learner.core.report()["k"]
        expected = learner.scores(rows[~fitted])
        for point, scores in turned.scores(others).items():
            assert scores == pytest.approx(
                expected[point], abs=1e-9 * np.abs(expected[point]).max()
            )


@pytest.mark.parametrize(
    ("method", "hyper"),
    [
        ("acil", {}),
        ("slda", {}),
        ("fecam", {}),
        ("sparcl", {"k": 3}),
        ("sparcl", {"condition_limit": 10.0}),
        ("sparcl", {"expansion": "relu", "m": 20}),
        ("sparcl-alg1", {"m": 5}),
    ],
)
def test_what_goes_beyond_the_span_keeps_its_rows(method: str, hyper: dict) -> None:
    rows = np.random.default_rng(5).standard_normal((6, 40))
    assert in_span(build(method, **hyper), rows, rows)[0] is rows


def test_more_rows_than_dimensions_stay_as_they_are() -> None:
    rows = np.random.default_rng(6).standard_normal((40, 40))
    assert in_span(build("sparcl"), rows, rows)[0] is rows
