"""Every switch of the solver in one slow loop: explicit coordinates, inverses and KKT systems."""

from dataclasses import dataclass

import numpy as np

from .partitioned import Sessions, core_basis
from .ridge import class_list, constrained_ridge, joint_ridge, sums


@dataclass
class Fitted:
    """After one session: W (d, c) on plain features, classes, R, C, and a core a cluster."""

    W: np.ndarray
    classes: list[int]
    R: np.ndarray
    C: np.ndarray
    cores: list[np.ndarray]


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


def largest_angle(U: np.ndarray, V: np.ndarray) -> float:
    """Return the largest canonical angle, in degrees, from the cosines."""
    cosines = np.linalg.svd(U.T @ V, compute_uv=False)
    return float(np.degrees(np.arccos(np.clip(cosines.min(), -1, 1))))


def residual_condition(R: np.ndarray, ridge: float, U: np.ndarray) -> float:
    """Return the condition number of U_res^T (R + ridge I) U_res."""
    U_res = outside(U)
    return float(np.linalg.cond(U_res.T @ (R + ridge * np.eye(len(R))) @ U_res))


def squared_error(rows: Sessions, W: np.ndarray, classes: list[int]) -> float:
    """Return sum ||f W - y||^2 over all rows, one by one."""
    total = 0.0
    for Phi, y in rows:
        for f, label in zip(Phi, y, strict=True):
            target = np.array([float(c == label) for c in classes])
            total += float(np.sum((f @ W - target) ** 2))
    return total
