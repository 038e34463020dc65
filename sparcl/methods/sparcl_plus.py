"""SPARCL+: a Gaussian for each class, its covariance its own in a core and shared in the residual, and the ridge.

Rows h have unit norm, after the root where no feature is negative.  With S the pooled covariance inside the
classes, s = tr S / D, U (D, k) the core, S_c^(r) the r leading eigenpairs of a class's covariance in the core, and
o_c = own n_c / (n_c + prior),

    Sigma_c = S + a s I + o_c U S_c^(r) U^T
    score_c = (-(h - m_c)^T Sigma_c^-1 (h - m_c) / 2 - log |Sigma_c| / 2) / s_l + weight h (R + n a s I)^-1 C_c / s_r

with s_l and s_r the noise of the linear discriminant's and of the ridge's scores inside the classes, as in
:class:`sparcl.parts.heads.RidgeDiscriminant`.  ``a = min(alpha, D / n) + rho / (1 - rho)``: what plain LDA adds, tr S /
n, at most alpha times the mean variance, and more where the scatter looks like noise, rho by oracle approximating
shrinkage (:meth:`sparcl.algebra.scatter.Scatter.oas`).  One Cholesky factor of R + n a s I gives both heads
(:mod:`sparcl.algebra.paired`) and ``A^-1 U``; a class's own part then takes k x k matrices alone.  The core holds the
directions in which single classes spread most: the leading eigenvectors of ``sum_c S_c^2``, each S_c by its leading
pairs.  This project's own; docs/search.md has the search.

State: R, C, n, U and a thin factor (r_c, k) of each class's scatter in the core.  A session in batches gives the
state of the whole session, to rounding.  A renewed core is the leading part of what the old one and the session's
classes span.  Old factors are projected on it: what it leaves of them is lost, also for a class that returns
afterwards and for one merged from another core.  Where the core stays (``refresh = 0``, or k at least D) a class that
returns is exact too.  R, C and n, and so all that classes share, are exact in any case.
"""

from dataclasses import InitVar, dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from sparcl.algebra.backend import Backend, host, of, product
from sparcl.algebra.gaussians import Gaussians, axes, stacked_excess, thin
from sparcl.algebra.host import HOST
from sparcl.algebra.scatter import Scatter
from sparcl.algebra.spectra import energy_rank, principal_span
from sparcl.algebra.sums import Sums, check_lengths, squared_lengths
from sparcl.base.checks import check_choice, check_fraction, check_int, check_positive
from sparcl.base.errors import InputError
from sparcl.base.rows import unit
from sparcl.base.state import Shape, Stateful, nodes, send
from sparcl.base.types import Array
from sparcl.learners.summed import Summed
from sparcl.parts.batch import Batch, column_scales
from sparcl.parts.heads.ridge import Head
from sparcl.parts.row_weights import AllRows, ContaminationFilter

LARGEST_RHO = 0.99  # of a scatter without structure: about class means
TAKEN = 8  # leading pairs of a class among which a core is chosen, where classes are many
BLOCK = 256  # rows, which stay in the cache


class Arrival(NamedTuple):
    """New samples of one class.

    Attributes
    ----------
    column, n : which class, and how many; mean : (D,)
    factor : (m, D) of the scatter about it; axes : E (m, r), ``E^T factor`` its thin form
    """

    column: int
    n: int
    mean: Array
    factor: Array
    axes: Array

    @classmethod
    def of(cls, column: int, rows: Array) -> "Arrival":
        """Return the class from its rows (n, D): 2 n^2 D flops."""
        mean = rows.mean(axis=0)
        factor = rows - mean
        if len(rows) <= len(mean):
            return cls(column, len(rows), mean, factor, axes(factor))
        factor = thin(factor)
        return cls(column, len(rows), mean, factor, np.eye(len(factor)))

    def pairs(self, r: int) -> Array:
        """Return B (D, r), with ``B B^T`` the square of the covariance by its r leading pairs."""
        F = product(self.axes[:, :r].T, self.factor) / np.sqrt(max(self.n - 1, 1))
        return F.T * np.sqrt(squared_lengths(F))


@dataclass(eq=False)
class OwnCore(Stateful):
    """Directions in which classes have a covariance of their own.

    Attributes
    ----------
    U : (D, k) orthonormal; strengths : (k,), roots of the eigenvalues of ``sum_c S_c^2`` in it
    factors : F (r_c, k) of each class, ``F^T F`` its scatter in the core
    """

    D: int
    kept: ClassVar[dict[str, Shape | None]] = {
        "U": ("D", "k"),
        "strengths": ("k",),
        "factors": (None, "k"),
    }

    def __post_init__(self) -> None:
        self.U = np.zeros((self.D, 0))
        self.strengths = np.zeros(0)
        self.factors: list[Array] = []


@dataclass(eq=False)
class SeenRows(Stateful):
    """Sums of all rows, and a Gaussian of each class over the rows of a session that comes in parts.

    The sums lie ``on`` a backend, and the Gaussians on the host.
    """

    D: int
    on: InitVar[Backend] = HOST
    kept: ClassVar[dict[str, Shape | None]] = {"sums": Sums, "arrived": Gaussians}

    def __post_init__(self, on: Backend) -> None:
        self.sums = Sums(self.D, on=on)
        self.arrived = Gaussians(self.D)

    def sum(self, H: Array, columns: NDArray[np.integer], classes: int) -> None:
        """Add rows H (n, D) of class ``columns`` (n,) to the sums."""
        check_lengths(squared_lengths(H), self.sums.mean_square)
        self.sums.grow(classes)
        self.sums.accumulate(H, columns)

    def arrivals(self) -> list[Arrival]:
        """Return the classes of the session in progress."""
        here = self.arrived
        return [
            Arrival(j, int(here.counts[j]), here.means[j], F, np.eye(len(F)))
            for j, F in enumerate(here.factors)
            if here.counts[j]
        ]

    def merge(
        self, other: "SeenRows", core: OwnCore, columns: NDArray[np.integer], classes: int
    ) -> None:
        """Add what another learner has seen; of its sessions that ended, ``core`` holds the covariances."""
        arrived = {arrival.column: arrival for arrival in other.arrivals()}
        self.sums.grow(classes)
        self.sums.merge(other.sums, columns)
        self.arrived.grow(classes)
        for j, column in enumerate(columns):
            n, C = int(other.sums.counts[j]), host(other.sums.C[:, j])
            if j in arrived:
                _, new, mean, factor, _ = arrived[j]
                self.arrived.join(column, new, mean, factor)
                n, C = n - new, C - new * mean
            if n:
                self.arrived.join(column, n, C / n, core.factors[j] @ core.U.T)


@dataclass(frozen=True)
class Solved:
    """Scores of all classes: ``h W + b``, and ``|P_c [h V, 1]|^2 / 2`` of each.

    Attributes
    ----------
    W : (D, c); b : (c,), on the host; V : (D, k); P : (c, r, k + 1)
    """

    W: Array
    b: Array
    V: Array
    P: Array

    def __call__(self, H: Array) -> Array:
        """Return scores (n, c), on the host, of rows H (n, D): 2 n (D (c + k) + c r k) flops."""
        on, (c, r, k) = of(self.W), self.P.shape
        H = on.array(H)
        T = on.xp.concat([product(H, self.V), on.xp.ones_like(H[:, :1])], axis=1)
        Y = product(T, self.P.reshape(c * r, k).T).reshape(len(H) * c, r)
        own = on.squared_lengths(Y).reshape(len(H), c)
        return host(product(H, self.W)) + self.b + 0.5 * own


@dataclass(eq=False)
class SparclPlus(Summed):
    """Keeps R, C, n, a core and a thin factor per class: n D^2 + D^3 / 3 + 2 D^2 (2 c + k) flops per session.

    No setting depends on the scale of the features.

    Parameters
    ----------
    k : directions of the core at most; 0 shares one covariance, and D or more keeps each class's whole one
    tau : share in (0, 1) of the energy ``sum_c |S_c|_F^2`` that the core holds; None: k directions
    rank : r, eigenpairs of a class's own covariance
    refresh : the core is renewed every so many sessions; 0 keeps the first one
    own : weight of a class's own covariance with many samples; 0 is linear discriminant analysis
    prior : samples at which it is half of that
    alpha : shrinkage of the pooled covariance in units of its mean variance, at most
    weight : of the ridge's scores beside the discriminant's; 0: none
    columns : ``plain``, or ``unit``: each class's weights of the ridge are scaled to unit norm first
    filtered : leave out rows that look like those of old classes, where sums say that there are some
        (:class:`sparcl.parts.row_weights.ContaminationFilter`); a session must then come whole

    Attributes
    ----------
    power : exponent of the features, 1/2 or 1, as the first session decides; 0 before its end
    seen : sums of the rows so transformed; plain : of rows that are not rooted, while the first session may still
        show a negative feature
    core : of the sessions that have ended
    row_weights : which rows of a session count
    """

    k: int = 128
    tau: float | None = None
    rank: int = 16
    refresh: int = 1
    own: float = 0.4
    prior: float = 20.0
    alpha: float = 1.0
    weight: float = 0.5
    columns: str = "plain"
    filtered: bool = False
    kept: ClassVar[dict[str, Shape | None]] = {
        "power": float,
        "seen": SeenRows | None,
        "plain": SeenRows | None,
        "core": OwnCore | None,
        "row_weights": AllRows,
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, least in (("k", 0), ("rank", 1), ("refresh", 0)):
            check_int(name, getattr(self, name), least=least)
        if self.tau is not None:
            check_fraction("tau", self.tau)
        check_positive("alpha", self.alpha)
        for name in ("own", "prior", "weight"):
            if getattr(self, name) != 0:
                check_positive(name, getattr(self, name))
        check_choice("columns", self.columns, ("plain", "unit"))
        self.power = 0.0
        self.seen: SeenRows | None = None
        self.plain: SeenRows | None = None
        self.core: OwnCore | None = None
        self.row_weights = ContaminationFilter() if self.filtered else AllRows()
        self._solved: Solved | None = None

    @property
    def undivided(self) -> str:
        """Why a session must come whole, if it must."""
        return self.row_weights.whole_session

    @property
    def sums(self) -> Sums | None:
        """R, C and n of all sessions; None before the first."""
        return None if self.seen is None else self.seen.sums

    def flops(self, n: int, d: int, c: int) -> float:
        """Return about how many operations a session of n rows takes."""
        return n * d**2 + d**3 / 3 + 2.0 * d**2 * (2 * c + min(self.k, d))

    @property
    def host_only(self) -> str:  # type: ignore[override]
        """Why it computes on the host alone; empty where it can elsewhere."""
        return "row weights are written for NumPy" if self.filtered else ""

    def move(self, on: Backend) -> None:
        """Compute elsewhere from now on: what has D x D numbers.  A class's own part stays on the host."""
        self.check_device(on)
        self.on, self._solved = on, None
        for node in nodes(self):
            if isinstance(node, Sums):
                send(node, on.array)

    # --- rows --------------------------------------------------------------------------------

    def _begun(self, d: int) -> SeenRows:
        """Return what was seen, which begins with the first row."""
        if self.seen is None:
            self.seen, self.core = SeenRows(d, self.on), OwnCore(d)
            self.plain = None if self.power else SeenRows(d, self.on)
        return self.seen

    def _decide(self, power: float) -> None:
        """Take the root of features, or none, for good; 0 leaves it open."""
        if power == 1 and self.plain is not None:
            self.seen = self.plain
        if power:
            self.power, self.plain = power, None

    def _fit(self, Phi: Array, columns: NDArray[np.integer], old: int, classes: int) -> None:
        self._decide(self.power or (1.0 if Phi.min() < 0 else 0.5))
        H, seen = _rows(Phi, self.power), self._begun(Phi.shape[1])
        if self.filtered:
            batch = Batch(columns, old, classes, self.session, H, lambda rows: rows)
            batch = self.row_weights.judge(batch, seen.sums, Head(), self.alpha)
            H, columns = batch.H, batch.columns
        seen.sum(H, columns, classes)
        arrivals = [Arrival.of(int(j), H[columns == j]) for j in np.unique(columns)]
        self._close(arrivals, np.arange(classes))

    def _add_samples(self, Phi: Array, columns: NDArray[np.integer], classes: int) -> None:
        self._begun(Phi.shape[1])
        if not self.power and Phi.min() < 0:
            self._decide(1.0)
        for seen, power in ((self.seen, self.power or 0.5), (self.plain, 1.0)):
            if seen is not None:
                H = _rows(Phi, power)
                seen.sum(H, columns, classes)
                seen.arrived.add(H, columns, classes)

    def _add_sums(self, other: Self, columns: NDArray[np.integer], classes: int) -> None:
        if self.power and other.power and self.power != other.power:
            raise InputError(
                "Cannot merge learners of which one takes the root of its features and the other does not: only "
                "one has seen a negative feature in its first session. Let both learn such a sample first."
            )
        self._decide(other.power if not self.power else 0.0)
        mine, given, core = self._begun(other.d), other.seen, other.core
        if given is None or core is None:
            raise InputError("Cannot merge a learner that has seen no sample.")
        if self.plain is not None and other.plain is not None:
            self.plain.merge(other.plain, core, columns, classes)
        elif self.power == 1 and other.plain is not None:
            given = other.plain
        mine.merge(given, core, columns, classes)

    # --- the end of a session ----------------------------------------------------------------

    def _solve_sums(self, order: NDArray[np.integer]) -> None:
        self._close([] if self.seen is None else self.seen.arrivals(), order)

    def _close(self, arrivals: list[Arrival], order: NDArray[np.integer]) -> None:
        """Take in the classes that arrived, solve, and bring class columns into ``order`` (c,)."""
        if self.seen is None or self.core is None:
            raise InputError("Nothing was summed yet: fit a session first.")
        sums = self.seen.sums
        core = self._joined(sums, arrivals, self.core)
        solved = self._solution(sums, core)
        self._decide(self.power or 0.5)
        sums.reorder(order)
        self.seen.arrived = Gaussians(self.seen.D)
        core.factors = [core.factors[j] for j in order]
        self.core = core
        # of columns in another order the last bits differ: solved again when it is asked for
        self._solved = solved if np.array_equal(order, np.arange(len(order))) else None

    def _joined(self, sums: Sums, arrivals: list[Arrival], core: OwnCore) -> OwnCore:
        """Return the core after the session, with the classes that arrived."""
        joined = OwnCore(core.D)
        joined.U, joined.strengths = self._basis(arrivals, core)
        joined.factors = list(core.factors)
        if joined.U is not core.U and core.factors:
            turned = product(np.vstack(core.factors), product(core.U.T, joined.U))
            joined.factors = np.split(turned, np.cumsum([len(F) for F in core.factors])[:-1])
        k, missing = joined.U.shape[1], len(sums.counts) - len(core.factors)
        joined.factors += [np.zeros((0, k)) for _ in range(missing)]
        for j, new, mean, factor, E in arrivals:
            F, before = product(E.T, product(factor, joined.U)), int(sums.counts[j]) - new
            if before and k:
                gap = mean - (host(sums.C[:, j]) - new * mean) / before
                gap = np.sqrt(before * new / (before + new)) * product(gap[None], joined.U)
                F = thin(np.vstack([joined.factors[j], F, gap]))
            joined.factors[j] = F
        return joined

    def _basis(self, arrivals: list[Arrival], core: OwnCore) -> tuple[Array, Array]:
        """Return the basis (D, k) of the core after the session, and the strengths (k,)."""
        D, k = core.U.shape
        if self.k >= D and self.tau is None:
            return (core.U if k == D else np.eye(D)), np.zeros(D)
        if k and not (self.refresh and self.session % self.refresh == 0):
            return core.U, core.strengths
        seen = {*range(len(core.factors)), *(arrival.column for arrival in arrivals)}
        taken = max(TAKEN, -(-self.k // len(seen)))
        B = np.hstack([arrival.pairs(taken) for arrival in arrivals])
        strongest = np.argsort(-squared_lengths(B.T), kind="stable")
        B = B[:, np.sort(strongest[: max(self.k // 2, self.k - k)])]
        U, strengths = principal_span(np.hstack([core.U * core.strengths, B]), self.k)
        k = len(strengths)
        if self.tau is not None and k:
            k = energy_rank(strengths**2, float(np.sum(strengths**2)), self.tau)
        # a part of an array rounds in another way than the whole array that a file holds
        return np.array(U[:, :k], order="K"), strengths[:k]

    def _solution(self, sums: Sums, core: OwnCore) -> Solved:
        """Return the scores' weights: one factor of D x D, and small matrices of each class."""
        on, n, D, counts = sums.on, sums.n, sums.D, sums.counts
        root, U = np.sqrt(counts), on.array(core.U)
        rho, variance = Scatter(sums).oas()
        # without any spread, all directions count the same: class means
        s = variance * n or sums.mean_square * n / D or 1.0
        rho = min(rho, LARGEST_RHO)
        ridge = (min(self.alpha, D / n) + rho / (1 - rho)) * s
        c, Q, M = len(root), sums.C / on.array(root), sums.C / on.array(counts)
        with sums.factored(ridge) as A:
            solved = A.solve(on.laid_out(on.xp.concat([Q, U], axis=1)))
        # with A = R + ridge I the ridge's weights are A^-1 C, and (A - Q Q^T)^-1 is by Woodbury's identity
        V, inner = solved[:, :c], host(product(Q.T, solved))
        right = np.hstack([np.diag(n / root), n * inner[:, c:]])
        turned = product(V, on.array(HOST.block_solve(np.eye(c) - inner[:, :c], right)))
        W, AU = turned[:, :c], n * solved[:, c:] + turned[:, c:]
        W_ridge, C = V * on.array(root), sums.C
        if self.columns == "unit":
            scales = column_scales(W_ridge)
            W_ridge, C = W_ridge * scales, C * scales
        total = on.xp.sum
        noise = _root(float(np.mean(host(total(_centred(W) * _centred(M), axis=0)))))
        # (S + ridge I) W = C - Q Q^T W for the ridge's W, S the scatter; columns may be scaled
        centred = _centred(W_ridge)
        square = float(total(centred * _centred(C)) - total(product(Q.T, centred) ** 2))
        G, T = host(product(U.T, AU)), host(product(AU.T, M))
        P, log_dets = self._excess(core, counts, G, T)
        return Solved(
            on.laid_out(W / noise + (self.weight / _root(square / (c * n))) * W_ridge),
            (-0.5 * host(total(M * W, axis=0)) - log_dets) / noise,
            on.laid_out(AU),
            on.array(P / np.sqrt(noise)),
        )

    def _excess(
        self, core: OwnCore, counts: NDArray[np.integer], G: Array, T: Array
    ) -> tuple[Array, Array]:
        """Return P (c, r, k + 1) and log |L| (c,): what a class's own covariance adds to its score.

        Parameters
        ----------
        G : ``U^T A^-1 U`` (k, k), A the shared covariance; T : ``U^T A^-1 m_c`` (k, c) of the means
        """
        own = self.own * counts / (counts + self.prior) / np.maximum(counts - 1, 1)
        r = min(self.rank, max(map(len, core.factors))) if self.own else 0
        F = np.zeros((len(counts), r, len(G)))
        for j, factor in enumerate(core.factors):
            F[j, : min(r, len(factor))] = factor[:r] * np.sqrt(own[j])
        P, log_dets = stacked_excess(F, G)
        return np.concatenate([P, -P @ T.T[:, :, None]], axis=2), log_dets

    # --- forgetting --------------------------------------------------------------------------

    @property
    def cannot_forget(self) -> str:  # type: ignore[override]
        """Why no sample can be taken out of the state; empty where it can."""
        return self.row_weights.whole_session

    def _past(self) -> tuple[list[str], list[str]]:
        root = "its first session decides whether the root is taken"
        if not self.k:
            return [], [root]
        core = "its core is that of earlier sessions (k = 0 has none)"
        return [core], [
            root,
            "a refit leaves classes without a covariance of their own, as with k = 0",
        ]

    def _counts(self) -> NDArray[np.integer]:
        return self._begun(self.d).sums.counts

    def _take_away(self, Phi: Array, columns: NDArray[np.integer]) -> None:
        sums, H = self._begun(self.d).sums, _rows(Phi, self.power)
        taken = sums.empty()
        taken.grow(len(sums.counts))
        taken.accumulate(H, columns)
        sums.take_away(taken)

    def _refit(self, order: NDArray[np.intp], refit: bool) -> float | None:
        sums = self._begun(self.d).sums
        sums.reorder(order)
        self.core = OwnCore(sums.D)
        self.core.factors = [np.zeros((0, 0)) for _ in order]
        self._solved = self._solution(sums, self.core)
        return sums.error(self._solved.W, sums.ridge, scatter=True)

    # --- scores ------------------------------------------------------------------------------

    @property
    def _scores(self) -> Solved:
        if self._solved is None:
            if self.seen is None or self.core is None:
                raise InputError("No session was fitted yet: call fit_session first.")
            self._solved = self._solution(self.seen.sums, self.core)
        return self._solved

    @property
    def weights(self) -> Array:
        """W (D, c) of the linear part of the scores."""
        return self._scores.W

    def _logits(self, Phi: Array) -> Array:
        starts = range(0, len(Phi), BLOCK)
        parts = [self._scores(_rows(Phi[i : i + BLOCK], self.power)) for i in starts]
        return np.concatenate(parts) if parts else np.zeros((0, len(self.classes)))

    def report(self) -> dict[str, Any]:
        """Return the exponent of the features and the size of the core."""
        core = {} if self.core is None else {"exponent": self.power, "k": self.core.U.shape[1]}
        return core | self.row_weights.report()


def _rows(Phi: Array, power: float) -> Array:
    """Return the rows H (n, D) of features Phi (n, D): of unit norm, rooted for a power of 1/2."""
    if power == 1:
        return unit(Phi)
    H = np.empty(Phi.shape)
    for start in range(0, len(Phi), BLOCK):
        part, given = H[start : start + BLOCK], Phi[start : start + BLOCK]
        np.abs(given, out=part)
        length = np.sqrt(part.sum(axis=1, keepdims=True))  # of the rooted row
        np.sqrt(part, out=part)
        part *= 1 / np.where(length > 0, length, 1)
        np.copysign(part, given, out=part)
    return H


def _centred(A: Array) -> Array:
    """Return A (D, c) less the mean of its columns."""
    centred: Array = A - A.mean(axis=1)[:, None]
    return centred


def _root(variance: float) -> float:
    """Return the deviation; 1 for one class, which has no rival."""
    return float(np.sqrt(variance)) if variance > 0 else 1.0


build = SparclPlus
