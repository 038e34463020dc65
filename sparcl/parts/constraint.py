"""Weights of old columns that are held on a core, at every point of a grid."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sparcl.algebra import linalg, ridge
from sparcl.algebra.backend import Factor, of
from sparcl.algebra.partition import Partition, embedded
from sparcl.algebra.sums import Sums
from sparcl.base.errors import NumericalError
from sparcl.base.types import Array
from sparcl.parts.basis import SpectralBasis
from sparcl.parts.solutions import Point


@dataclass(frozen=True)
class Constraint:
    """Which columns a core constrains in a session, and how.

    Attributes
    ----------
    held : (c,) whether a column is held; known : columns that are not new
    exact : with the coupling of core and residual; residual_only : new columns have no core coordinates
    """

    held: NDArray[np.bool_]
    known: int
    exact: bool
    residual_only: bool


def constrained_weights(
    basis: SpectralBasis,
    constraint: Constraint,
    sums: Sums,
    points: list[Point],
    previous: list[Array],
    *,
    drop: bool = False,
) -> list[Array]:
    """Return the weights (D, c) of every point by the direct path.

    A Cholesky factor serves all cores of a ridge, and ``A^-1 U_core`` of the widest core all cores of
    one decomposition: D^3 / 3 + 2 D^2 (c + k) flops a ridge.

    Parameters
    ----------
    sums : the session's among them
    previous : weights (D, c_old) of every point before the session, empty before the first
    drop : leave a point without a solution in this precision unsolved, (D, 0)
    """
    weights: dict[Point, Array] = {}
    before = dict(zip(points, previous, strict=True)) if previous else {}
    unsolved = sums.C[:, :0]
    for value in dict.fromkeys(point.value for point in points):
        alike = [point for point in points if point.value == value]
        for group in [[point] for point in alike] if basis.Qs else [alike]:
            # Features [P_res f ; Q^T f] with penalty ridge are the residual with penalty
            # ridge (I + Q Q^T)^-1 = ridge (I - Q Q^T / 2): it is halved along span(Q).
            downdate = (value / 2, basis.Qs[group[0].j]) if basis.Qs else None
            try:
                with sums.gram.factored(value, downdate=downdate) as A:
                    W_free = A.solve(sums.C)
                    V = _core_solutions(basis, A, sums.D, {point.j for point in group})
            except NumericalError:
                if not drop:
                    raise
                weights |= dict.fromkeys(group, unsolved)
                continue
            for point in group:
                W = before.get(point)
                if constraint.held.any() and W is not None and W.shape[1] == 0:
                    weights[point] = unsolved  # nothing is there to be held
                else:
                    weights[point] = _constrained(
                        constraint, basis.partitions[point.j], V, W_free, W
                    )
    return [weights[point] for point in points]


def _core_solutions(
    basis: SpectralBasis, A: Factor, D: int, numbers: set[int]
) -> dict[tuple[int, int], Array]:
    """Return ``A^-1 U_core`` of the widest core of each decomposition, by its origin."""
    widest: dict[tuple[int, int], Partition] = {}
    for j in sorted(numbers):
        part = basis.partitions[j]
        if part.origin not in widest or widest[part.origin].k < part.k:
            widest[part.origin] = part
    return {origin: A.solve(embedded(part.U_core, D)) for origin, part in widest.items()}


def _constrained(
    constraint: Constraint,
    part: Partition,
    V: dict[tuple[int, int], Array],
    W_free: Array,
    before: Array | None,
) -> Array:
    """Hold the old columns at the core coordinates that they had ``before``."""
    on = of(W_free)
    W = on.xp.asarray(W_free, copy=True)
    if part.k == 0:
        return W
    # cores of one decomposition are nested: the first k columns of the widest one
    U, V_core = embedded(part.U_core, W.shape[0]), V[part.origin][:, : part.k]
    old = np.flatnonzero(constraint.held)
    if len(old) and before is not None:
        G = linalg.product(U.T, on.take_columns(before, old))
        free = on.take_columns(W_free, old)
        held = ridge.constrained(U, V_core, free, G, coupling=constraint.exact)
        on.set_columns(W, old, held)
    new = np.arange(constraint.known, W.shape[1])
    if constraint.residual_only and len(new):
        nothing = on.array(np.zeros((part.k, len(new)), dtype=on.dtype(W)))
        free = on.take_columns(W_free, new)
        on.set_columns(W, new, ridge.constrained(U, V_core, free, nothing))
    return W
