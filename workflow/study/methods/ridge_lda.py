"""The sum of the joint ridge and of linear discriminant analysis, each in units of its own spread.

score = (1 - w) (h W_ridge) / s_ridge + w (h W_lda + b) / s_lda

with both heads from the same sums, W_ridge = (R + a m^2 I)^-1 C and W_lda = (S + a' m^2 I)^-1 C diag(n)^-1, S the
scatter inside the classes, m^2 the mean squared length of the first session's mapped rows, and s the deviation
of a difference between two of a head's scores inside the classes.  This project's own.

Everything is chosen in each session without a sample of an earlier one: a share of each session's rows
is held out as sums, and a, a' and then w are those with the highest accuracy that a Gaussian model of the
held-out scores predicts (:func:`sparcl.algebra.ridge.predicted_accuracy`) for heads that saw the other
rows alone.  s is measured on the held-out rows too.  Of several exponents of the signed power, the first
session takes the one with the highest such accuracy, for good.

Both heads come from one factor of R + shift I (:mod:`sparcl.algebra.paired`), so that a session costs what the
joint ridge costs under the same rule: D^3 / 3 + 4 D^2 c flops a candidate.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparcl.algebra.backend import host, like, product
from sparcl.algebra.capacity import Session, check_fit
from sparcl.algebra.paired import Paired
from sparcl.algebra.ridge import predicted_accuracy
from sparcl.algebra.sums import Sums
from sparcl.base.checks import check_positives
from sparcl.base.errors import InputError, NumericalError
from sparcl.base.state import Shape
from sparcl.base.types import Array
from sparcl.learners.composed import HELD_OUT, Mapped
from sparcl.parts.batch import ROWS, Batch
from sparcl.parts.catalogue import Asked, part
from sparcl.parts.rules import HoldOut, need_two
from sparcl.parts.transforms import SignedPower, Transform

GRID = tuple(float(10 ** (power / 2)) for power in range(-12, 3))  # half decades of a
WEIGHTS = (0.0, 0.25, 0.5, 0.75, 1.0)


class Choice(NamedTuple):
    """The settings that held-out rows decide.

    Attributes
    ----------
    ridge, shift : lambda of the ridge, and what is added to the discriminant's scatter
    weight : w of the discriminant; scales : s of both heads
    accuracy : predicted for the sum
    """

    ridge: float
    shift: float
    weight: float
    scales: tuple[float, float]
    accuracy: float


@dataclass(eq=False)
class ChosenPower(Transform):
    """A :class:`SignedPower` whose exponent a learner chooses in the first session, for good."""

    kept: ClassVar[dict[str, Shape | None]] = {"exponent": float}

    def __post_init__(self) -> None:
        self.exponent = 1.0

    def __call__(self, Phi: Array) -> Array:
        """Return the rows (n, d) of unit norm, in the precision of Phi."""
        return SignedPower(self.exponent)(Phi)


@dataclass(eq=False)
class RidgeLda(Mapped):
    """Keeps three sums: of all rows, of those that fit and of those held out.

    Attributes
    ----------
    weights : W (D, c) of the sum; bias : (c,)
    chosen : the last session's :class:`Choice`
    unit : m^2
    """

    exponents: tuple[float, ...]
    ridges: tuple[float, ...]
    mixtures: tuple[float, ...]
    holdout: HoldOut
    cannot_forget: ClassVar[str] = HELD_OUT
    kept: ClassVar[dict[str, Shape | None]] = {
        "unit": float,
        "fitted": Sums,
        "held": Sums,
        "weights": ("D", "c"),
        "bias": ("c",),
        "chosen": dict[str, Any],
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positives("ridges", self.ridges)
        if self.exponents:
            check_positives("exponents", self.exponents)
        if not self.mixtures or not all(0 <= value <= 1 for value in self.mixtures):
            raise InputError(f"mixtures = {list(self.mixtures)}: give numbers in [0, 1].")
        if self.exponents and not isinstance(self.transform, ChosenPower):
            self.transform = ChosenPower()
            self.transform.exponent = self.exponents[0]
        self.unit = 0.0
        self.fitted, self.held = Sums(0), Sums(0)
        self.weights: Array = np.zeros((0, 0))
        self.bias: Array = np.zeros(0)
        self.chosen: dict[str, Any] = {}

    @property
    def power(self) -> float:
        """Exponent of the signed power; 0 where there is another transform."""
        return self.transform.exponent if isinstance(self.transform, ChosenPower) else 0.0

    # --- one session -------------------------------------------------------------------------

    def _fit(self, Phi: Array, columns: NDArray[np.integer], old: int, classes: int) -> None:
        need_two(len(columns), "gaussian")
        fit, held = self.holdout.split(columns, self.session)
        several = self.session == 0 and len(self.exponents) > 1
        if several and isinstance(self.transform, ChosenPower):
            self.transform.exponent = self._best_exponent(Phi, columns, classes, fit, held)
        X = self.prepare(Phi, classes)
        batch = Batch(columns, old, classes, self.session, X, self._mapped)
        for rows, sums in ((fit, self.fitted), (held, self.held)):
            batch.take(rows).add_to(sums)
        batch.add_to(self.total)
        self.unit = self.unit or self.total.mean_square
        choice = self._choose(self.fitted, self.held, self.unit)
        self.chosen = choice._asdict() | {"scales": list(choice.scales)}
        ridge = Paired.of(self.total, choice.ridge)
        lda = ridge if choice.shift == choice.ridge else Paired.of(self.total, choice.shift)
        of_ridge, of_lda = _shares(choice.weight, choice.scales)
        self.weights = np.asfortranarray(
            host(
                of_ridge * _product(ridge.V, ridge.ridge)
                + of_lda * _product(lda.V, lda.discriminant)
            )
        )
        self.bias = of_lda * lda.bias

    def _begin_sums(self, d: int, rows: int = ROWS, classes: int = 0) -> None:
        check_fit(self.on, Session(d, ROWS, classes, size=8, matrices=3), self.map.output)
        self.sums, self.fitted, self.held = (Sums(self.map.output, on=self.on) for _ in range(3))

    def _choose(self, fitted: Sums, held: Sums, unit: float) -> Choice:
        """Choose on sums of rows that were held out, for heads on the sums of the others."""
        solved = []
        for value in self.ridges:
            try:
                solved.append((value * unit, Paired.of(fitted, value * unit)))
            except NumericalError:  # a candidate too small for this precision is none
                continue
        if not solved:
            raise NumericalError(
                f"No candidate up to {max(self.ridges):g} of the mean squared length gives a positive "
                "definite system: raise them (ridges)."
            )
        losses = []
        for _, pair in solved:
            # of scores of the rows held out: 2 D^2 c + 4 D c^2 flops
            R, C = host(pair.V.T @ held.times(pair.V)), host(pair.V.T @ held.C)
            losses.append(
                (
                    predicted_accuracy(pair.ridge, R, C, held.counts),
                    predicted_accuracy(pair.discriminant, R, C, held.counts, pair.bias),
                )
            )
        best_ridge, best_lda = np.argmax(losses, axis=0)
        return self._mix(solved[best_ridge], solved[best_lda], held)

    def _mix(self, first: tuple[float, Paired], second: tuple[float, Paired], held: Sums) -> Choice:
        """Choose the weight between the ridge of one candidate and the discriminant of another."""
        (ridge, a), (shift, b) = first, second
        c = len(held.counts)
        on = held.on
        both = [_product(a.V, a.ridge), _product(b.V, b.discriminant)]
        W = on.laid_out(on.xp.concat(both, axis=1))
        R, C = host(W.T @ held.times(W)), host(W.T @ held.C)
        scales = (
            spread(R[:c, :c], C[:c], held.counts),
            spread(R[c:, c:], C[c:], held.counts),
        )
        best: Choice | None = None
        for weight in self.mixtures:
            of_ridge, of_lda = _shares(weight, scales)
            B = np.vstack([of_ridge * np.eye(c), of_lda * np.eye(c)])
            accuracy = predicted_accuracy(B, R, C, held.counts, of_lda * b.bias)
            if best is None or accuracy > best.accuracy:
                best = Choice(ridge, shift, weight, scales, accuracy)
        if best is None or not np.isfinite(best.accuracy):
            raise NumericalError("the accuracy predicted for the rows held out is not finite.")
        return best

    def _best_exponent(
        self,
        Phi: Array,
        columns: NDArray[np.integer],
        classes: int,
        fit: NDArray[np.intp],
        held: NDArray[np.intp],
    ) -> float:
        """Return the exponent that promises most on the first session's rows held out, without the map."""
        accuracies = []
        for exponent in self.exponents:
            X = SignedPower(exponent)(np.asarray(Phi, dtype=np.float64))
            fitted, validating = (_sums(X[rows], columns[rows], classes) for rows in (fit, held))
            # the unit of rows of unit norm is 1
            accuracies.append(self._choose(fitted, validating, 1.0).accuracy)
        return self.exponents[int(np.argmax(accuracies))]

    # --- scores ------------------------------------------------------------------------------

    def _logits(self, Phi: Array) -> Array:
        starts = range(0, max(len(Phi), 1), ROWS)
        mapped = (self._expanded(Phi[start : start + ROWS]) for start in starts)
        return np.concatenate([host(_product(H, self.weights)) + host(self.bias) for H in mapped])

    def report(self) -> dict[str, Any]:
        """Return what the last session chose, the unit of its shifts, and the exponent."""
        return (
            self.chosen
            | {"unit": self.unit, "power": self.power or None}
            | self.transform.report()
            | self.map.report()
        )


def _sums(X: Array, columns: NDArray[np.integer], classes: int) -> Sums:
    """Return the sums of rows X (n, d)."""
    sums = Sums(X.shape[1])
    sums.grow(classes)
    sums.accumulate(X, columns)
    return sums


def spread(R: Array, C: Array, counts: NDArray[np.integer]) -> float:
    """Return the deviation of a difference between two scores inside the classes, over all pairs.

    The root of the mean over pairs i, j of ``S_ii + S_jj - 2 S_ij``, with S the covariance inside the classes, but
    no less than rounding leaves where all rows of a class are copies; 1 for one class, whose score differs from
    no other.

    Parameters
    ----------
    R, C : (c, c) sums of products of scores, and of scores by class, over rows of ``counts`` (c,)
    """
    live = np.flatnonzero(counts)
    c, n = len(R), counts[live]
    if c < 2:
        return 1.0
    S = (R - (C[:, live] / n) @ C[:, live].T) / max(int(n.sum()) - len(live), 1)
    mean = 2 * (np.trace(S) - S.sum() / c) / (c - 1)
    limits = np.finfo(np.float64)
    return float(np.sqrt(max(mean, limits.eps * np.trace(R) / n.sum(), limits.tiny)))


def _product(A: Array, B: Array) -> Array:
    """Return ``A B`` where A lies."""
    return product(A, like(B, A))


def _shares(weight: float, scales: tuple[float, float]) -> tuple[float, float]:
    """Return by what the scores of the ridge and of the discriminant are multiplied."""
    return (1 - weight) / scales[0], weight / scales[1]


def build(
    *,
    transform: Asked = "none",
    exponents: Sequence[float] = (),
    map: Asked = "none",
    ridges: Sequence[float] = GRID,
    mixtures: Sequence[float] = WEIGHTS,
    validation_share: float = 0.2,
    seed: int = 0,
) -> RidgeLda:
    """Build the learner.

    Parameters
    ----------
    transform, map : a name, or ``{name: {setting: value}}``, of :data:`sparcl.parts.catalogue.PARTS`
    exponents : of the signed power, in place of a transform; of several, the first session takes one
    ridges : candidates a and a', in units of the mean squared length of the first session's mapped rows
    mixtures : candidates w in [0, 1]; 0 is the ridge, 1 the discriminant
    validation_share : of each class's rows of a session, which are held out
    seed : of maps that are not told another, and of hold-outs
    """
    if len(exponents) and transform != "none":
        raise InputError("exponents take the place of a transform: give one of the two.")
    return RidgeLda(
        tuple(exponents),
        tuple(ridges),
        tuple(mixtures),
        HoldOut(validation_share, True, seed),
        transform=part("transform", transform),
        map=part("map", map, seed=seed),
    )
