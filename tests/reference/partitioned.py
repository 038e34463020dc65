"""SPARCL session loops: constrained ridge, Algorithm 1 as printed, SPARCL with a residual map."""

from dataclasses import dataclass

import numpy as np

from .ridge import class_list, constrained_ridge, joint_ridge, one_hot, sums

Sessions = list[tuple[np.ndarray, np.ndarray]]


@dataclass
class State:
    """What holds after one session: W (D, c), classes, the core U (D, k) or None, R and C."""

    W: np.ndarray
    classes: list[int]
    U: np.ndarray | None
    R: np.ndarray
    C: np.ndarray


def core_basis(R: np.ndarray, tau: float | None = None, k: int | None = None) -> np.ndarray:
    """Return the leading eigenvectors of R: the fewest whose energy reaches tau, or k of them."""
    values, vectors = np.linalg.eigh((R + R.T) / 2)
    values, vectors = values[::-1], vectors[:, ::-1]
    if k is None:
        k = 0
        while sum(values[:k]) < tau * sum(values):
            k += 1
    return vectors[:, :k]


def renews(session: int, refresh: int) -> bool:
    """Whether the partition is renewed: session 2, then every `refresh` sessions (0: never)."""
    return session == 2 or (session > 2 and refresh > 0 and (session - 2) % refresh == 0)


def sparcl(
    sessions: Sessions, ridge: float, refresh: int, tau: float | None = None, k: int | None = None
) -> list[State]:
    """Constrained ridge of Lemma 1: old columns keep U^T W, new columns are free."""
    states: list[State] = []
    U = None
    for t in range(1, len(sessions) + 1):
        classes = class_list(sessions[:t])
        R, C = sums(sessions[:t], classes)
        W = joint_ridge(R, C, ridge)
        if renews(t, refresh):
            U = core_basis(states[-1].R, tau, k)
        if U is not None and U.shape[1] > 0:
            old = len(states[-1].classes)
            G = U.T @ states[-1].W
            W[:, :old] = constrained_ridge(R, C[:, :old], ridge, U, G)
        states.append(State(W, classes, U, R, C))
    return states


def algorithm_1(sessions: Sessions, ridge: float, refresh: int, tau: float) -> list[State]:
    """Algorithm 1 as printed, with d x d projectors and the inverse on the residual support."""
    states: list[State] = []
    U = None
    for t in range(1, len(sessions) + 1):
        classes = class_list(sessions[:t])
        R, C = sums(sessions[:t], classes)
        d = len(R)
        if renews(t, refresh):
            U = core_basis(states[-1].R, tau)
        P_core = np.zeros((d, d)) if U is None else U @ U.T
        P_res = np.eye(d) - P_core
        W = np.linalg.pinv(P_res @ R @ P_res + ridge * P_res, rcond=1e-11) @ (P_res @ C)
        if states:
            W[:, : len(states[-1].classes)] += P_core @ states[-1].W
        states.append(State(W, classes, U, R, C))
    return states


def algorithm_1_expanded(
    sessions: Sessions, ridge: float, U: np.ndarray, Q: np.ndarray, W_old: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """One Algorithm 1 update in explicitly expanded rows [U_res^T f ; Q^T f].

    Parameters
    ----------
    sessions : all sessions up to and with the new one
    U : (d, k) core, possibly k = 0
    Q : (d, m) orthonormal, inside the residual
    W_old : (d, c_old) classifier of the old classes on f itself, before the update

    Returns
    -------
    W : (d, c) the classifier that the expanded one amounts to on f
    Z : (r + m, c) the coefficients of the expanded rows
    """
    classes = class_list(sessions)
    Phi = np.concatenate([block for block, _ in sessions])
    Y = one_hot(np.concatenate([labels for _, labels in sessions]), classes)
    d, k = U.shape
    U_res = np.linalg.svd(U, full_matrices=True)[0][:, k:] if k else np.eye(d)
    rows = np.concatenate([Phi @ U_res, Phi @ Q], axis=1)
    Z = np.linalg.inv(rows.T @ rows + ridge * np.eye(rows.shape[1])) @ (rows.T @ Y)
    W = np.concatenate([U_res, Q], axis=1) @ Z
    W[:, : W_old.shape[1]] += U @ (U.T @ W_old)
    return W, Z
