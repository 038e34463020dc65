"""Class orders from class means: consecutive sessions that overlap little or much, or are alike little or much.

With ``m_c`` the mean training feature of class c minus the mean over all class means, and U_s an
orthonormal basis of the span of session s's ``m_c``, the overlap of two sessions is
``||U_s^T U_t||_F^2 / min(rank U_s, rank U_t)``, between 0 and 1.  A hard order makes it large
between consecutive sessions, a mild one small.  The means are centred because raw ones share a
direction, the mean feature, which would hide all other overlap.

The similarity of two classes is the cosine of their ``m_c``; that of two sessions is its mean over their pairs of
classes, and the adjacent similarity of an order its mean over consecutive sessions.  An order of EDGE (ICLR 2026)
makes it small (``adjacent-least``, EDGE's *hard*) or large (``adjacent-most``, its *easy*).
"""

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

from sparcl.algebra.spectra import orthonormal_span
from sparcl.base.rows import unit
from sparcl.base.types import Array, Ints


def centred_means(Phi: Array, labels: Ints, classes: int) -> Array:
    """Return the centred class means (d, classes) of features Phi (n, d) with labels (n,), some of each class."""
    counts = np.bincount(labels, minlength=classes)
    sums = np.zeros((classes, Phi.shape[1]))
    np.add.at(sums, labels, Phi)
    means = sums / counts[:, None]
    return (means - means.mean(axis=0)).T


def greedy(
    Phi: Array,
    labels: Ints,
    sessions: Sequence[Ints],
    *,
    hard: bool,
) -> list[Ints]:
    """Return sessions of the same sizes, chosen greedily after the first, which is kept.

    Each next session takes, of the classes that remain, those whose centred mean lies most
    (``hard``) or least in the span U of the previous session's means, by
    ``||U^T m_c||^2 / ||m_c||^2``; ties go by label.

    Parameters
    ----------
    Phi : (n, d) training features; labels : (n,)
    sessions : classes of each session, in any order; their sizes are kept
    """
    means = centred_means(Phi, labels, sum(map(len, sessions)))
    energy = np.square(means).sum(axis=0)
    remaining = np.setdiff1d(np.arange(means.shape[1]), sessions[0])
    result: list[Ints] = [np.asarray(sessions[0], dtype=np.int64)]
    for session in sessions[1:]:
        U = orthonormal_span(means[:, result[-1]])
        inside = np.square(U.T @ means[:, remaining]).sum(axis=0)
        fraction = inside / np.where(energy[remaining] > 0, energy[remaining], 1)
        ranked = np.argsort(-fraction if hard else fraction, kind="stable")[: len(session)]
        result.append(remaining[ranked])
        remaining = np.delete(remaining, ranked)
    return result


def similarities(Phi: Array, labels: Ints, classes: int) -> Array:
    """Return the cosines (classes, classes) of centred class means."""
    U = unit(centred_means(Phi, labels, classes).T)
    return np.asarray(U @ U.T)


def adjacent_similarity(s: Array, sessions: Sequence[Ints]) -> float:
    """Return the mean over consecutive sessions of the mean of s (K, K) over their pairs; nan for one session."""
    means = [s[np.ix_(a, b)].mean() for a, b in pairwise(sessions)]
    return float(np.mean(means)) if means else float("nan")


def by_similarity(s: Array, sessions: Sequence[Ints], *, most: bool) -> list[Ints]:
    """Return sessions of the same sizes whose adjacent similarity is the least, or the ``most``, of some orders.

    Source: EDGE, AIGNLAI/EDGE, commit a60c117, ``PILOT/utils/edge.py``, whose s is that of CLIP's embeddings of class
    names.  An order for g groups: complete linkage cuts the classes into g clusters of classes that are alike (least),
    or unlike (most); the clusters, large ones first, fill groups of nearly equal size; then groups come one after
    the other, each the least or most similar to all before it.  The orders that are compared, once they are cut
    into the sessions, have g = T and every g that divides K.

    What differs.  The code takes its *hard* order from the ``most`` builder and its *easy* one from the other, the last
    candidate for the best, and starts with the group that is the most similar to all others: one order for a
    data set.  Here it starts with that of the first class of ``sessions``, so that orders can be repeated.

    Parameters
    ----------
    s : (K, K) similarities; sessions : classes of each session, in a drawn order, by which ties go
    """
    drawn = np.concatenate(sessions)
    K, cuts = len(drawn), np.cumsum([len(part) for part in sessions])[:-1]
    own = s[np.ix_(drawn, drawn)]
    counts = sorted({len(sessions), *(g for g in range(2, K + 1) if K % g == 0)})
    found = [np.split(drawn[_grouped(own, g, most)], cuts) for g in counts]
    best: Callable[..., list[Ints]] = max if most else min
    return best(found, key=lambda order: adjacent_similarity(s, order))


def _grouped(s: Array, g: int, most: bool) -> NDArray[np.intp]:
    """Return the classes (K,) of s (K, K) group by group, g of them."""
    apart = s - s.min() if most else 1 - s
    np.fill_diagonal(apart, 0)
    tree = linkage(squareform(np.maximum(apart, 0), checks=False), method="complete")
    cluster = fcluster(tree, g, criterion="maxclust")
    clusters = [np.flatnonzero(cluster == label).tolist() for label in np.unique(cluster)]
    groups: list[list[int]] = [[] for _ in range(g)]
    room = [len(part) for part in np.array_split(np.arange(len(s)), g)]

    def roomiest() -> int:
        return max(range(g), key=lambda i: room[i] - len(groups[i]))

    for members in sorted(clusters, key=len, reverse=True):
        for start in range(0, len(members), room[0]):
            groups[roomiest()] += members[start : start + room[0]]
    for group, size in zip(groups, room, strict=True):
        while len(group) > size:
            excess = group.pop()
            groups[roomiest()].append(excess)
    member = np.zeros((g, len(s)))
    for i, group in enumerate(groups):
        member[i, group] = 1 / len(group)
    between = member @ s @ member.T
    rest = set(range(g))
    order = [next(i for i, group in enumerate(groups) if 0 in group)]
    pick: Callable[..., int] = max if most else min
    while rest := rest - {*order}:
        order.append(pick(sorted(rest), key=lambda i: between[i, order].sum()))
    return np.concatenate([groups[i] for i in order]).astype(np.intp)
