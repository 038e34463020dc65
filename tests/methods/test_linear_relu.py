"""Linear + ReLU of the full feature is a joint ridge in coordinates that can be written down."""

import numpy as np
import pytest
from reference.streams import fit, synthetic_stream

from sparcl.methods import build


@pytest.mark.parametrize("ridge", [0.1, 2.0])
def test_linear_relu_is_a_joint_ridge_in_explicit_coordinates(ridge: float) -> None:
    sessions = synthetic_stream(2, sessions=4, classes=3, samples=12, noise=1.0)
    learner = fit(build("linear-relu", ridge=ridge, width=40, seed=3), sessions)
    Phi = np.concatenate([rows for rows, _ in sessions])
    y = np.concatenate([labels for _, labels in sessions])
    unit = Phi / np.linalg.norm(Phi, axis=1, keepdims=True)
    X = np.hstack([Phi, np.maximum(unit @ learner.map.weights, 0) / np.sqrt(40)])
    Y = (y[:, None] == learner.classes).astype(float)
    W = np.linalg.inv(X.T @ X + ridge * np.eye(X.shape[1])) @ X.T @ Y
    assert learner.map.basis.shape[1] == 0  # the map leaves nothing out
    assert learner.expand(Phi) == pytest.approx(X, abs=1e-12)
    assert learner.weights == pytest.approx(W, abs=1e-8)
    assert learner.report()["k"] == 0
