"""sparcl.Classifier keeps scikit-learn's conventions, and counts what the command line and the workflow count."""

import json
import os
import subprocess
import sys
from pathlib import Path

import headers
import joblib
import numpy as np
import pandas as pd
import pytest
from commands import main
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import sparcl
from sparcl.base.errors import ArgumentError, InputError
from sparcl.base.npz import read_npz, write_npz
from sparcl.features import store
from sparcl.learners.composed import Composed
from sparcl.protocol import stream
from study import streams as stress
from study.loop import experiment

ROOT = Path(__file__).resolve().parents[2]
CUB = ROOT / "data/features/cub-50/vit-s14-focus"
NAMES = np.array(["wren", "auk", "tern", "gull"])


def drawn(seed: int = 0, n: int = 80, d: int = 8) -> tuple[np.ndarray, np.ndarray]:
    """Noisy clusters with text labels that are not in the order of their columns."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % len(NAMES)
    centres = np.random.default_rng(5).standard_normal((len(NAMES), d))
    return 3 * centres[y] + rng.standard_normal((n, d)), NAMES[y]


@pytest.mark.parametrize("method", ["sparcl-plus", "sparcl", "ncm", "raw acil"])
@pytest.mark.filterwarnings("ignore")  # of scikit-learn on what it tries
def test_scikit_learns_own_checks(method: str) -> None:
    from sklearn.utils.estimator_checks import check_estimator  # which takes long to load

    done = check_estimator(
        sparcl.Classifier(method.removeprefix("raw "), normalize="raw" not in method)
    )
    assert [check["check_name"] for check in done if check["status"] != "passed"] == [
        "check_array_api_input"  # SciPy reads its switch at import: the next test
    ]


EVERY_CHECK = """
import warnings

from sklearn.utils.estimator_checks import check_estimator

import sparcl

warnings.simplefilter("ignore")
done = check_estimator(sparcl.Classifier("acil"))
print(len(done), [check["check_name"] for check in done if check["status"] != "passed"])
"""


def test_none_of_scikit_learns_checks_is_left_out() -> None:
    """In a process of its own, where SciPy takes arrays of other libraries."""
    done = subprocess.run(
        [sys.executable, "-c", EVERY_CHECK],
        env=os.environ | {"SCIPY_ARRAY_API": "1", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    number, others = done.stdout.split(" ", 1)
    assert int(number) > 50 and others == "[]\n"


# --- three ways in ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "hyper", "sessions"),
    [
        ("acil", {"ridge": 0.1}, 1),
        ("sparcl", {"ridge": 0.1, "tau": 0.5, "refresh": 1}, 3),
        ("sparcl-plus", {"k": 4}, 2),
    ],
)
def test_every_way_in_counts_what_the_workflow_counts(
    method: str, hyper: dict, sessions: int, tmp_path: Path
) -> None:
    """Features as they lie in the file, labels as numbers and as text."""
    data = [store.read(CUB / f"{split}.h5") for split in ("train", "test")]
    plan = stream.split_sessions(stream.class_order(1993, 50), sessions)
    spec = {"normalize": True, "stress": {}}
    train, test = stress.splits(spec, [part.tolist() for part in plan], *data)
    record = experiment.run(train, test, plan, method, hyper)
    expected = dict(zip(record["classes"], record["correct"][-1], strict=True))

    learner = sparcl.build(method, **hyper)
    classifier = sparcl.Classifier(method, **hyper)
    names = np.array([f"{label:02d}" for label in range(50)])  # ascending, as the file's classes
    for classes in plan:
        rows = stream.rows_of(data[0].labels, classes)
        learner.fit_session(data[0].features[rows], data[0].labels[rows])
        classifier.partial_fit(data[0].features[rows], names[data[0].labels[rows]])
    X, y = data[1].features, data[1].labels
    hits = {
        "build": learner.predict(X) == y,
        "Classifier": classifier.predict(X) == names[y],
    }
    for way, hit in hits.items():
        found = np.bincount(y[hit], minlength=50)
        assert {label: found[label] for label in expected} == expected, way
    assert classifier.score(X, names[y]) == sum(expected.values()) / len(y)

    options = [o for key, value in hyper.items() for o in ("--set", f"{key}={value}")]
    if sessions == 2:
        options += ["--order", "1993", "--sessions", "2"]
    elif sessions == 3:
        content = json.dumps({"sessions": [classes.tolist() for classes in plan]})
        (tmp_path / "order.json").write_text(content)
        options += ["--order-file", str(tmp_path / "order.json")]
    out = str(tmp_path / "model.npz")
    fit = ["fit", "--method", method, *options, "--features", str(CUB / "train.h5"), "--out", out]
    assert main(fit) == 0
    model = sparcl.load(out)
    predicted = model.predict(X)
    found = np.bincount(y[predicted == np.array(data[1].class_names)[y]], minlength=50)
    assert {label: found[label] for label in expected} == expected
    scores = model.scores(X)
    assert np.abs(scores - learner.logits(X)).max() < 1e-9


# --- labels and containers ------------------------------------------------------------------------


def test_text_labels_data_frames_and_tensors_are_the_arrays() -> None:
    torch = pytest.importorskip("torch")
    X, y = drawn()
    plain = sparcl.Classifier("acil").fit(X, y)
    assert plain.classes_.tolist() == sorted(NAMES)
    frame = pd.DataFrame(X, columns=[f"f{i}" for i in range(8)])
    framed = sparcl.Classifier("acil").fit(frame, pd.Series(y, dtype="category"))
    assert framed.feature_names_in_.tolist() == list(frame.columns)
    numbers = np.searchsorted(plain.classes_, y)
    tensor = torch.tensor(X, requires_grad=True)
    given = sparcl.Classifier("acil").fit(tensor, torch.tensor(numbers))
    assert np.array_equal(framed.decision_function(frame), plain.decision_function(X))
    assert np.array_equal(given.decision_function(tensor), plain.decision_function(X))
    assert np.array_equal(plain.classes_[given.predict(tensor)], plain.predict(X))
    half = sparcl.Classifier("acil").fit(tensor.bfloat16(), y)
    rounded = tensor.bfloat16().detach().float().numpy()
    assert np.array_equal(half.predict(tensor.bfloat16()), half.predict(rounded))


def test_columns_are_those_of_classes_whatever_the_order_of_sessions() -> None:
    X, y = drawn()
    classifier = sparcl.Classifier("acil")
    for part in (["wren", "gull"], ["tern"], ["auk"]):
        rows = np.isin(y, part)
        classifier.partial_fit(X[rows], y[rows])
    assert classifier.labels_.tolist() == ["gull", "wren", "tern", "auk"]
    assert classifier.classes_.tolist() == ["auk", "gull", "tern", "wren"]
    scores = classifier.decision_function(X)
    assert np.array_equal(classifier.predict(X), classifier.classes_[scores.argmax(axis=1)])
    assert classifier.score(X, y) > 0.9
    assert np.abs(scores - sparcl.Classifier("acil").fit(X, y).decision_function(X)).max() < 1e-9


def test_sessions_that_do_not_fit_leave_what_was_learned() -> None:
    X, y = drawn()
    rows = y != "auk"
    classifier = sparcl.Classifier("acil").partial_fit(
        X[rows], y[rows], classes=NAMES[NAMES != "auk"]
    )
    before = classifier.decision_function(X)
    for bad, message in (
        ((X, y), r"1 labels are not among the 3 of `classes` \(first: 'auk'"),
        ((X, y, NAMES), "4 labels that are not the 3 of an earlier call"),
        ((X, np.arange(80) % 3), "numbers here, text there"),
        ((X[:, :3], y), "3 features"),
        ((X * np.nan, y), "NaN"),
    ):
        with pytest.raises(ValueError, match=message):
            classifier.partial_fit(*bad)
        assert np.array_equal(classifier.decision_function(X), before)
    with pytest.raises(
        ArgumentError, match=r"has no hyper-parameter 'tau'\. It has: ridge, relative, dtype"
    ):
        classifier.set_params(tau=0.5)
    with pytest.raises(ArgumentError, match="Unknown method 'best'"):
        sparcl.Classifier("best").fit(X, y)
    for wrong in ("ridge_", "_ridge", "fit"):  # not a parameter in scikit-learn's eyes
        with pytest.raises(ArgumentError, match=f"{wrong} = 1e-06: no hyper-parameter"):
            sparcl.Classifier("acil", **{wrong: 1e-6})
    assert issubclass(ArgumentError, InputError)


def test_labels_that_numpy_would_join_inexactly() -> None:
    """uint64 with int64, and integers with floats beyond 2^53, become floats in which neighbours are one."""
    X, rows = drawn(n=60)[0], np.arange(60)
    large, small = np.array([2**63, 2**63 + 1], dtype=np.uint64), np.array([-1, 5])
    classifier = sparcl.Classifier("ncm").fit(X, large[rows % 2])
    assert classifier.classes_.tolist() == large.tolist()  # Python's integers, exact
    for y, classes in (
        (small[rows % 2], None),
        (np.array([2.0**60, 0.0])[rows % 2], None),
        (large[rows % 2], small),
    ):
        other = sparcl.Classifier("ncm")
        with pytest.raises(ArgumentError, match=r"is not exact as .* one with its neighbours"):
            (classifier if classes is None else other).partial_fit(X, y, classes)
        assert classifier.classes_.tolist() == large.tolist()
    precise = np.array([2**53, 2**53 + 1])
    with pytest.raises(ArgumentError, match="9007199254740993 is not exact as float64"):
        sparcl.Classifier("ncm").fit(X, precise[rows % 2]).partial_fit(X, rows % 2 + 0.0)
    joined = sparcl.Classifier("ncm").fit(X, np.array([7, 8], dtype=np.uint64)[rows % 2])
    joined.partial_fit(X, small[rows % 2])
    assert joined.classes_.dtype == np.int64 and joined.classes_.tolist() == [-1, 5, 7, 8]
    assert {*joined.predict(X).tolist()} <= {-1, 5, 7, 8}


# --- scikit-learn's tools -------------------------------------------------------------------------


def test_searches_pipelines_and_copies(tmp_path: Path) -> None:
    X, y = drawn(n=120)
    classifier = sparcl.Classifier("sparcl", ridge=0.5)
    assert classifier.get_params() == {"method": "sparcl", "normalize": True, "ridge": 0.5}
    copied = clone(classifier).set_params(tau=0.6)
    assert copied.get_params() == classifier.get_params() | {"tau": 0.6}
    pipeline = make_pipeline(StandardScaler(), clone(classifier))
    grid = {"classifier__ridge": [1e-3, 1e4], "classifier__k": [0, 3]}
    with joblib.parallel_config("threading", n_jobs=2):
        search = GridSearchCV(pipeline, grid, cv=3, error_score="raise").fit(X, y)
        shares = cross_val_score(classifier, X, y, cv=3, error_score="raise")
    assert search.best_params_["classifier__ridge"] == 1e-3 and search.best_score_ > 0.9
    assert shares.min() > 0.9
    several = GridSearchCV(sparcl.Classifier(), {"method": ["acil", "ncm"]}, cv=3).fit(X, y)
    assert several.best_params_["method"] in ("acil", "ncm")
    joblib.dump(search.best_estimator_, tmp_path / "search.joblib")
    again = joblib.load(tmp_path / "search.joblib")
    assert np.array_equal(again.decision_function(X), search.decision_function(X))


# --- probabilities --------------------------------------------------------------------------------


def test_probabilities_are_those_of_the_gaussians_that_the_method_fits() -> None:
    """Against Bayes' rule on densities of Gaussians with the same means and covariance."""
    X, y = drawn(n=60)
    classifier = sparcl.Classifier("randumb", width=12, normalize=False).fit(X, y)
    learner = classifier.learner_
    assert isinstance(learner, Composed) and learner.sums is not None
    H = learner.expand(X)
    groups = [H[y == name] for name in classifier.classes_]
    scatter = sum((g - g.mean(axis=0)).T @ (g - g.mean(axis=0)) for g in groups)
    rho = learner.head.shrinkage
    D = H.shape[1]
    covariance = (1 - rho) * scatter / 60 + rho * np.trace(scatter) / 60 / D * np.eye(D)
    gaps = [H - g.mean(axis=0) for g in groups]
    distances = np.stack(
        [np.einsum("nd,nd->n", gap, np.linalg.solve(covariance, gap.T).T) for gap in gaps], axis=1
    )
    density = np.exp(-0.5 * (distances - distances.min(axis=1, keepdims=True)))
    density *= [len(g) / 60 for g in groups]
    expected = density / density.sum(axis=1, keepdims=True)
    assert classifier.predict_proba(X) == pytest.approx(expected, abs=1e-8)


def test_only_methods_whose_scores_are_probabilities_have_them() -> None:
    having = {"slda", "randumb", "derpp-head"}
    for method in sparcl.methods.names():
        assert hasattr(sparcl.Classifier(method), "predict_proba") == (method in having), method
    assert not hasattr(sparcl.Classifier("slda", shrinkage=7), "predict_proba")


# --- files ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["text", "object", "int", "float", "bool"])
def test_what_is_saved_goes_on(kind: str, tmp_path: Path) -> None:
    X, y = drawn()
    numbers = np.searchsorted(np.sort(NAMES), y)
    labels = {
        "text": y,
        "object": y.astype(object),
        "int": numbers * 10 - 5,
        "float": numbers.astype(float),
        "bool": numbers > 1,
    }[kind]
    frame = pd.DataFrame(X, columns=list("abcdefgh"))
    classifier = sparcl.Classifier("sparcl", tau=[0.4, 0.6], ridge="gaussian").partial_fit(
        frame[:40], labels[:40], classes=np.unique(labels)
    )
    classifier.save(tmp_path / "c.npz")
    again = sparcl.load(tmp_path / "c.npz")
    assert type(again) is sparcl.Classifier
    assert repr(again) == repr(clone(classifier).set_params(tau=(0.4, 0.6)))
    for each in (classifier, again):
        each.partial_fit(frame[40:], labels[40:])
    assert np.array_equal(again.predict(frame), classifier.predict(frame))
    assert np.array_equal(again.decision_function(frame), classifier.decision_function(frame))
    assert again.predict(frame).tolist() == classifier.predict(frame).tolist()


def test_each_saved_file_opens_as_what_it_is_and_another_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    X, y = drawn()
    classifier = sparcl.Classifier("acil").fit(X, y)
    classifier.save("classifier.npz")
    classifier.learner_.save("learner.npz")
    np.savez("arrays.npz", features=X, labels=y)
    Path("notes.npz").write_text("no archive")
    assert main(["sums", "--features", str(CUB / "test.h5"), "--out", "sums.npz"]) == 0
    learner = sparcl.load("learner.npz")
    assert np.array_equal(learner.logits(X), classifier.learner_.logits(X))
    truncated = sparcl.build("loranpac", width=20)
    truncated.fit_session(X, np.arange(80) % 4)
    truncated.save("truncated.npz")
    files = ["--features", str(CUB / "test.h5"), "--out", "model.npz"]
    assert main(["fit", "--method", "acil", *files]) == 0
    for name in ("learner.npz", "truncated.npz", "classifier.npz", "model.npz"):
        program = [sys.executable, "-c", "import sys, sparcl; sparcl.load(sys.argv[1])", name]
        subprocess.run(program, env=os.environ | {"PYTHONPATH": str(ROOT)}, check=True)
    assert "normalize=True" in repr(learner)
    for name, message in {
        "arrays.npz": r"but a file of 2 arrays \(features, labels\)",
        "sums.npz": "but sums of `study.sums`",
        "notes.npz": "not an npz file of this project",
        "absent.npz": "no such file",
    }.items():
        with pytest.raises(InputError, match=f"{name}: .*{message}"):
            sparcl.load(name)
    state = read_npz("classifier.npz")
    changes = [{"labels": state["labels"][:3]}, {"labels": state["labels"][[0, 0, 1, 2]]}]
    for path, value, text in headers.changed(str(state["card"])):
        if (path, value) not in ((("params", "normalize"), True), (("classes",), [])):
            changes.append({"card": np.array(text)})
    for change in changes:
        write_npz("changed.npz", state | change)
        with pytest.raises(
            InputError,
            match=r"changed\.npz: not a classifier of sparcl.Classifier.save, as written",
        ):
            sparcl.load("changed.npz")
