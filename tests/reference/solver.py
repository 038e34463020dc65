"""The solver in slow loops: every switch by explicit coordinates, inverses and KKT systems; Algorithm 1 as printed."""

from dataclasses import dataclass

import numpy as np

from .ridge import class_list, constrained_ridge, joint_ridge, one_hot, sums

Sessions = list[tuple[np.ndarray, np.ndarray]]


@dataclass
class Fitted:
    """After one session: W (d, c) on plain features, classes, R, C, and a core a cluster."""

    W: np.ndarray
    classes: list[int]
    R: np.ndarray
    C: np.ndarray
    cores: list[np.ndarray]


def core_basis(R: np.ndarray, tau: float | None = None, k: int | None = None) -> np.ndarray:
    """Return the leading eigenvectors of R: the fewest whose energy reaches tau, or k of them."""
    values, vectors = np.linalg.eigh((R + R.T) / 2)
    values, vectors = values[::-1], vectors[:, ::-1]
    if k is None:
        k = 0
        while sum(values[:k]) < tau * sum(values):
            k += 1
    return vectors[:, :k]


def renewals(sessions: int, refresh: int) -> set[int]:
    """Return when the partition is renewed: session 2, then every `refresh` sessions (0: never)."""
    return set(range(2, sessions + 1, refresh or sessions))


def outside(U: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis (d, d - k) of what U (d, k) leaves."""
    d, k = U.shape
    return np.linalg.svd(U, full_matrices=True)[0][:, k:] if k else np.eye(d)


def residual_ridge(R: np.ndarray, C: np.ndarray, ridge: float, U: np.ndarray) -> np.ndarray:
    """U_res (U_res^T (R + ridge I) U_res)^-1 U_res^T C."""
    U_res = outside(U)
    block = U_res.T @ R @ U_res + ridge * np.eye(U_res.shape[1])
    return U_res @ np.linalg.inv(block) @ U_res.T @ C


def without_range(Phi: np.ndarray, past: np.ndarray) -> np.ndarray:
    """Project rows Phi onto the orthogonal complement of the rows seen before."""
    if len(past) == 0:
        return Phi
    _, s, Vt = np.linalg.svd(past, full_matrices=False)
    basis = Vt[s > 1e-7 * s[0]]
    return Phi - Phi @ basis.T @ basis


def solver(
    sessions: Sessions,
    ridge: float | list[float],
    renewals: set[int],
    tau: float | None = None,
    k: int | None = None,
    freeze: bool = True,
    reappearing: str = "frozen",
    new_classes: str = "full",
    coupling: str = "exact",
    project: bool = False,
    Qs: list[np.ndarray] | None = None,
    cluster: dict[int, int] | None = None,
) -> list[Fitted]:
    """Run all sessions.

    Parameters
    ----------
    ridge : one value, or one a session
    renewals : sessions, counted from 1, before which the cores are chosen from the past
    Qs : random residual directions (d, m) of each session; rows are then [f ; Q^T f], each
        coefficient with the same penalty
    cluster : the core of each class, by number; one core where it is left out
    """
    d = sessions[0][0].shape[1]
    groups = 1 + max(cluster.values()) if cluster else 1
    cores = [np.zeros((d, 0)) for _ in range(groups)]
    rows: Sessions = []
    fitted: list[Fitted] = []
    for t, (Phi, y) in enumerate(sessions):
        lam = ridge[t] if isinstance(ridge, list) else ridge
        if t + 1 in renewals:
            for g in range(groups):
                # with one core the matrix is that of the rows as they were learned
                past = rows if cluster is None else sessions[:t]
                mine = [
                    block[[cluster is None or cluster[int(v)] == g for v in labels]]
                    for block, labels in past
                ]
                block = np.concatenate(mine)
                if len(block):
                    cores[g] = core_basis(block.T @ block, tau, k)
        if project:
            Phi = without_range(Phi, np.concatenate([b for b, _ in rows]) if rows else Phi[:0])
        rows.append((Phi, y))
        classes = class_list(rows)
        Q = Qs[t] if Qs is not None else np.zeros((d, 0))
        unfold = np.concatenate([np.eye(d), Q], axis=1)  # rows f -> [f ; Q^T f] = f unfold
        R, C = sums([(block @ unfold, labels) for block, labels in rows], classes)
        W = unfold @ joint_ridge(R, C, lam)
        old = len(fitted[-1].classes) if fitted else 0
        for j, label in enumerate(classes):
            U = cores[cluster[label] if cluster else 0]
            if U.shape[1] == 0:
                continue
            wide = np.concatenate([U, np.zeros((Q.shape[1], U.shape[1]))])
            came_back = label in set(y.tolist())
            if j >= old:
                if new_classes == "residual":
                    W[:, [j]] = unfold @ residual_ridge(R, C[:, [j]], lam, wide)
            elif freeze and not (came_back and reappearing == "free"):
                G = U.T @ fitted[-1].W[:, [j]]
                if coupling == "exact":
                    W[:, [j]] = unfold @ constrained_ridge(R, C[:, [j]], lam, wide, G)
                else:
                    W[:, [j]] = U @ G + unfold @ residual_ridge(R, C[:, [j]], lam, wide)
        plain = sums(rows, classes)
        fitted.append(Fitted(W, classes, *plain, [U.copy() for U in cores]))
    return fitted


def algorithm_1(sessions: Sessions, ridge: float, refresh: int, tau: float) -> list[np.ndarray]:
    """Return W after each session of Algorithm 1 as printed, with d x d projectors and the pseudo-inverse."""
    weights: list[np.ndarray] = []
    d = sessions[0][0].shape[1]
    P_core, past = np.zeros((d, d)), np.zeros((d, d))
    for t in range(1, len(sessions) + 1):
        R, C = sums(sessions[:t], class_list(sessions[:t]))
        if t in renewals(len(sessions), refresh):
            U = core_basis(past, tau)
            P_core = U @ U.T
        P_res = np.eye(d) - P_core
        W = np.linalg.pinv(P_res @ R @ P_res + ridge * P_res, rcond=1e-11) @ (P_res @ C)
        if weights:
            W[:, : weights[-1].shape[1]] += P_core @ weights[-1]
        weights.append(W)
        past = R
    return weights


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
    U_res = outside(U)
    rows = np.concatenate([Phi @ U_res, Phi @ Q], axis=1)
    Z = np.linalg.inv(rows.T @ rows + ridge * np.eye(rows.shape[1])) @ (rows.T @ Y)
    W = np.concatenate([U_res, Q], axis=1) @ Z
    W[:, : W_old.shape[1]] += U @ (U.T @ W_old)
    return W, Z


def largest_angle(U: np.ndarray, V: np.ndarray) -> float:
    """Return the largest canonical angle, in degrees, from the cosines."""
    cosines = np.linalg.svd(U.T @ V, compute_uv=False)
    return float(np.degrees(np.arccos(np.clip(cosines.min(), -1, 1))))


def residual_condition(R: np.ndarray, ridge: float, U: np.ndarray) -> float:
    """Return the condition number of U_res^T (R + ridge I) U_res."""
    U_res = outside(U)
    return float(np.linalg.cond(U_res.T @ (R + ridge * np.eye(len(R))) @ U_res))


def squared_error(rows: Sessions, W: np.ndarray, classes: list[int]) -> float:
    """Return sum ||f W - y||^2 over all rows."""
    return sum(float(np.sum((Phi @ W - one_hot(y, classes)) ** 2)) for Phi, y in rows)
