"""Ridge learners whose old classes may be frozen on a spectral core: SPARCL and joint ridge."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparcl import expansion, linalg, partition, ridge
from sparcl.checks import positive, precision, whole
from sparcl.learner import Array, Learner
from sparcl.randomness import generator
from sparcl.statistics import Statistics


class SpectralRidge(Learner):
    """Cumulative ridge with the old classes' core coordinates frozen (paper, section 4).

    In session t the core is spanned by the leading eigenvectors U_core of the *previous* sessions'
    R, renewed every ``refresh`` sessions; with ``G = U_core^T W_{t-1}`` the columns of all classes
    seen before minimise the cumulative ridge objective subject to ``U_core^T W = G`` (Lemma 1)
    and new columns are the free ridge solution.  An empty core gives the joint ridge.

    A grid of ridges and core rules is fitted at once: statistics and eigendecomposition are
    shared by all points, and the Cholesky factor and ``A^-1 U_core`` by all cores of a ridge.
    Cost per session, D = d (+ M): n D^2 + per ridge D^3 / 3 + 2 D^2 (c + k), and O(d^2 k) to
    O(d^3) where the core is renewed.

    Parameters
    ----------
    ridges : values of lambda
    rules : core rules; ``Rule(k=0)`` is the joint ridge
    refresh : sessions between partitions; 0 keeps the first one (from the base session)
    coupling, new_in_core : False, False is Algorithm 1 as printed: the coupling block is dropped
        and new classes get residual coordinates only
    directions : width m of the paper's linear expansion of the residual, redrawn at each partition
    make_map : from the base session's R_1 (d, d) to a frozen map (n, d) -> (n, d + M) whose first
        d coordinates are the features; the core lies in these
    seed : of the random directions
    dtype : working precision of statistics and weights
    """

    def __init__(
        self,
        *,
        ridges: Sequence[float],
        rules: Sequence[partition.Rule],
        refresh: int = 1,
        coupling: bool = True,
        new_in_core: bool = True,
        directions: int = 0,
        make_map: Callable[[Array], Callable[[Array], Array]] | None = None,
        seed: int = 0,
        dtype: str = "float64",
    ) -> None:
        super().__init__()
        self.ridges = [positive("ridge", value) for value in ridges]
        self.rules = list(rules)
        self.refresh = whole("refresh", refresh, least=0)
        self.coupling = coupling
        self.new_in_core = new_in_core
        self.directions = whole("m", directions, least=0)
        self.make_map = make_map
        self.map: Callable[[Array], Array] | None = None
        self.seed = whole("seed", seed, least=0)
        self.dtype = precision(dtype)
        self.statistics: Statistics | None = None
        self.partitions: list[partition.Partition] = []
        self.Qs: list[Array] = []
        self._weights: dict[tuple[int, int], Array] = {}

    @property
    def weights(self) -> Array:
        """W (D, c) of the first grid point."""
        return self._weights[0, 0]

    @property
    def core(self) -> Array:
        """Core basis (d, k) of the first rule in the session fitted last."""
        return self.partitions[0].U_core

    @property
    def Q(self) -> Array:
        """Random residual directions (d, m) of the first rule."""
        return self.Qs[0]

    def expand(self, Phi: Array) -> Array:
        """Return the learner's own coordinates (n, D) of features Phi (n, d)."""
        Phi = np.asarray(Phi, dtype=self.dtype)
        return Phi if self.map is None else self.map(Phi)

    def report(self) -> dict[str, Any]:
        """Return ridge, k, r and energies of the first grid point."""
        part = self.partitions[0]
        return {
            "ridge": self.ridges[0],
            "k": part.k,
            "r": part.r,
            "energy": part.energy,
            "energy_before": part.energy_before,
        }

    def scores(self, Phi: Array) -> dict[tuple[int, int], Array]:
        """Return scores (n, c) of Phi (n, d) at every grid point (ridge index, rule index)."""
        H = self.expand(Phi)
        return {point: H @ W for point, W in self._weights.items()}

    def _logits(self, Phi: Array) -> Array:
        return self.expand(Phi) @ self.weights

    def _fit(self, Phi: Array, columns: NDArray[np.integer], old: int, classes: int) -> None:
        d = Phi.shape[1]
        if self.statistics is None:
            if self.make_map is not None:
                base = Statistics(d, self.dtype)
                base.grow(classes)
                base.accumulate(Phi, columns)
                self.map = self.make_map(base.R)
            self.statistics = Statistics(self.expand(Phi[:1]).shape[1], self.dtype)
        self._renew_partitions(d)
        self.statistics.grow(classes)
        self.statistics.accumulate(self.expand(Phi), columns)
        weights: dict[tuple[int, int], Array] = {}
        for i in range(len(self.ridges)):
            weights |= self._solve(i, old)
        self._weights = weights

    def _renew_partitions(self, d: int) -> None:
        """Split the space by R of the previous sessions, when the refresh rule says so."""
        if self.session == 0:
            partitions = [partition.empty(d, self.dtype) for _ in self.rules]
        elif self.session == 1 or (self.refresh and (self.session - 1) % self.refresh == 0):
            partitions = partition.partition(self.statistics.R[:d, :d], self.rules)
        else:
            return
        if self.directions:
            rng = generator("residual-directions", self.seed, self.session)
            self.Qs = [
                expansion.residual_directions(part.U_core, self.directions, rng).astype(self.dtype)
                for part in partitions
            ]
        self.partitions = partitions

    def _solve(self, i: int, old: int) -> dict[tuple[int, int], Array]:
        """Return the new weights of ridge number ``i`` under every rule."""
        statistics, value = self.statistics, self.ridges[i]
        weights: dict[tuple[int, int], Array] = {}
        if not self.directions:
            widest = max(self.partitions, key=lambda part: part.k)
            with linalg.shifted_cholesky(statistics.R, value) as A:
                W_free = ridge.joint(A, statistics.C)
                V = A.solve(self._embedded(widest.U_core))
            for j, part in enumerate(self.partitions):
                # cores of different rules are nested: the first k columns of the widest one
                weights[i, j] = self._constrain(i, j, part, V[:, : part.k], W_free, old)
            return weights
        for j, (part, Q) in enumerate(zip(self.partitions, self.Qs, strict=True)):
            # Features [P_res f ; Q^T f] with penalty ridge are the residual with penalty
            # ridge (I + Q Q^T)^-1 = ridge (I - Q Q^T / 2): it is halved along span(Q).
            with linalg.shifted_cholesky(statistics.R, value, downdate=(value / 2, Q)) as A:
                W_free = ridge.joint(A, statistics.C)
                V = A.solve(part.U_core)
            weights[i, j] = self._constrain(i, j, part, V, W_free, old)
        return weights

    def _constrain(
        self, i: int, j: int, part: partition.Partition, V: Array, W_free: Array, old: int
    ) -> Array:
        if part.k == 0:
            return W_free
        U = self._embedded(part.U_core)
        frozen = U.T @ self._weights[i, j][:, :old]
        W = np.empty_like(W_free)
        W[:, :old] = ridge.constrained(U, V, W_free[:, :old], frozen, coupling=self.coupling)
        if self.new_in_core:
            W[:, old:] = W_free[:, old:]
        else:
            nothing = np.zeros((part.k, W_free.shape[1] - old), dtype=W.dtype)
            W[:, old:] = ridge.constrained(U, V, W_free[:, old:], nothing)
        return W

    def _embedded(self, U_core: Array) -> Array:
        """Pad a core basis (d, k) with zero rows to the learner's coordinates (D, k)."""
        D = len(self.statistics.R)
        if len(U_core) == D:
            return U_core
        padded = np.zeros((D, U_core.shape[1]), dtype=U_core.dtype, order="F")
        padded[: len(U_core)] = U_core
        return padded
