"""Block identity of the appendix: A_rr Z = U_r^T C - A_rc W_core, W = U W_core + U_r Z.

It holds for every column of the exact form, with the core coordinates that the column has: held
ones for old classes, its own for new ones, where they solve the Schur complement of A_rr.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference.ridge import class_list, sums
from reference.solver import outside
from reference.streams import synthetic_stream

from sparcl.methods import build


@given(
    seed=st.integers(0, 10**6),
    tau=st.floats(0.2, 0.98),
    ridge=st.sampled_from([0.05, 0.5, 5.0]),
    update=st.sampled_from(["direct", "woodbury"]),
)
def test_residual_normal_equations(seed: int, tau: float, ridge: float, update: str) -> None:
    sessions = synthetic_stream(seed, sessions=3, classes=2, samples=7, dimension=11)
    learner = build("sparcl", ridge=ridge, tau=tau, refresh=0, update=update)
    for session in sessions[:2]:
        learner.fit_session(*session)
    before = learner.weights.copy()
    learner.fit_session(*sessions[2])
    assert learner.report()["update"] == update
    W, U = learner.weights, learner.core.U_core
    R, C = sums(sessions, class_list(sessions))
    A, U_r = R + ridge * np.eye(11), outside(U)
    A_cc, A_cr = U.T @ A @ U, U.T @ A @ U_r
    A_rc, A_rr = A_cr.T, U_r.T @ A @ U_r
    # old columns: frozen core coordinates and the residual that follows from them
    Z = np.linalg.solve(A_rr, U_r.T @ C[:, :4] - A_rc @ (U.T @ before))
    assert W[:, :4] == pytest.approx(U @ (U.T @ before) + U_r @ Z, abs=1e-8)
    # new columns: core coordinates from the Schur complement, residual from the same identity
    inverse = np.linalg.inv(A_rr)
    schur = A_cc - A_cr @ inverse @ A_rc
    W_core = np.linalg.solve(schur, U.T @ C[:, 4:] - A_cr @ inverse @ U_r.T @ C[:, 4:])
    Z_new = inverse @ (U_r.T @ C[:, 4:] - A_rc @ W_core)
    assert W[:, 4:] == pytest.approx(U @ W_core + U_r @ Z_new, abs=1e-8)
