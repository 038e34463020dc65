"""The worked toy example of the appendix, through the learners, to its printed digits."""

import numpy as np
import pytest

from sparcl.methods import build

# R = diag(4, 1) and C_old = (2, 0)^T for class 0; class 1 carries the second mode.
OLD = np.array([[2.0, 0.0], [0.0, 1.0]]), np.array([0, 1])
# dR = diag(4, 0), all of a new class, so C_old stays.
NEW = np.array([[2.0, 0.0]]), np.array([2])


def test_joint_ridge_loses_44_percent() -> None:
    learner = build("acil", ridge=1.0)
    learner.fit_session(*OLD)
    before = learner.weights[:, 0].copy()
    learner.fit_session(*NEW)
    after = learner.weights[:, 0]
    assert [f"{value:.1f}" for value in before] == ["0.4", "0.0"]
    assert f"{after[0]:.3f}" == "0.222"
    assert after[1] == pytest.approx(0.0, abs=1e-15)
    assert f"{100 * (before[0] - after[0]) / before[0]:.0f}%" == "44%"


@pytest.mark.parametrize("name", ["sparcl", "sparcl-alg1"])
def test_sparcl_keeps_the_first_coordinate(name: str) -> None:
    learner = build(name, ridge=1.0, tau=0.7, refresh=1)  # the first mode holds 4/5
    learner.fit_session(*OLD)
    learner.fit_session(*NEW)
    assert learner.report()["k"] == 1
    assert np.abs(learner.core.U_core).ravel() == pytest.approx([1.0, 0.0], abs=1e-14)
    assert learner.weights[:, 0] == pytest.approx([0.4, 0.0], abs=1e-14)
    along_e1 = np.array([[3.0, 0.0]])
    assert learner.logits(along_e1)[0, 0] == pytest.approx(1.2, abs=1e-14)


def test_only_the_exact_form_learns_a_new_class_that_lies_in_the_core() -> None:
    weights = {}
    for name in ("acil", "sparcl", "sparcl-alg1"):
        hyper = {} if name == "acil" else {"tau": 0.7, "refresh": 1}
        learner = build(name, ridge=1.0, **hyper)
        learner.fit_session(*OLD)
        learner.fit_session(*NEW)
        weights[name] = learner.weights[:, 2]
    assert weights["acil"] == pytest.approx([2 / 9, 0.0], abs=1e-14)
    assert weights["sparcl"] == pytest.approx(weights["acil"], abs=1e-14)
    assert weights["sparcl-alg1"] == pytest.approx([0.0, 0.0], abs=1e-14)
