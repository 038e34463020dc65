"""A linear head under softmax cross-entropy, trained by gradient steps in numpy."""

from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sparcl.base.checks import check_int, check_positive
from sparcl.base.errors import InputError, NumericalError
from sparcl.base.state import Shape
from sparcl.base.types import Array
from sparcl.learners.learner import Learner

ROOT = "root-d"


class SoftmaxHead(Learner):
    """A linear head on scaled features.

    Parameters
    ----------
    rate, epochs : of the training
    scale : features are multiplied by it; "root-d" (sqrt(d)) gives unit-norm features the scale
        that official rates were set for
    seed : of the new columns, and of all that is drawn

    Attributes
    ----------
    weights : (d, c); bias : (c,)
    """

    rate: float
    epochs: int
    scale: float | str
    seed: int
    kept: ClassVar[dict[str, Shape | None]] = {"weights": ("d", "c"), "bias": ("c",)}

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive("rate", self.rate)
        check_int("epochs", self.epochs, least=1)
        check_int("seed", self.seed, least=0)
        if not isinstance(self.scale, str):
            check_positive("scale", self.scale)
        elif self.scale != ROOT:
            raise InputError(f"scale = {self.scale!r}: it must be a number above 0, or {ROOT!r}.")
        self.weights: Array = np.zeros((0, 0))
        self.bias: Array = np.zeros(0)

    def scaled(self, Phi: Array) -> Array:
        """Return Phi (n, d) in float64 times the scale.

        Learning rates belong to a scale of the features.  The official ones were set for the output of
        a LayerNorm, whose norm is about sqrt(d); unit-norm features reach it with "root-d".
        """
        factor = float(np.sqrt(Phi.shape[1])) if isinstance(self.scale, str) else self.scale
        return np.asarray(Phi, dtype=np.float64) * factor

    def _logits(self, Phi: Array) -> Array:
        return self.scaled(Phi) @ self.weights + self.bias


class Momentum:
    """Gradient descent with momentum and weight decay, as torch.optim.SGD has it.

    ``v <- momentum v + (gradient + decay p)`` and ``p <- p - rate v``, from v = 0, on parameters
    that are changed in place.
    """

    def __init__(self, *parameters: Array, momentum: float, decay: float) -> None:
        self.parameters, self.momentum, self.decay = parameters, momentum, decay
        self.velocities = [np.zeros_like(p) for p in parameters]

    def step(self, rate: float, *gradients: Array) -> None:
        """Take one step; a gradient for each parameter, in their order."""
        for p, v, gradient in zip(self.parameters, self.velocities, gradients, strict=True):
            v *= self.momentum
            v += gradient
            if self.decay:
                v += self.decay * p
            p -= rate * v


def cross_entropy_gradient(logits: Array, targets: NDArray[np.integer]) -> Array:
    """Return the gradient (n, c) of the mean cross-entropy with respect to ``logits`` (n, c)."""
    G = np.exp(logits - logits.max(axis=1, keepdims=True))
    G /= G.sum(axis=1, keepdims=True)
    G[np.arange(len(G)), targets] -= 1
    G /= len(G)
    return G


def batches(n: int, size: int, rng: np.random.Generator) -> Iterator[NDArray[np.intp]]:
    """Yield the rows 0..n-1, shuffled, ``size`` at a time; the last batch may be smaller."""
    order = rng.permutation(n)
    for start in range(0, n, size):
        yield order[start : start + size]


def train(
    W: Array,
    b: Array,
    Phi: Array,
    targets: NDArray[np.integer],
    *,
    first: int,
    rates: Sequence[float],
    batch: int,
    momentum: float,
    decay: float,
    rng: np.random.Generator,
) -> None:
    """Train W (d, c) and b (c,) in place on the logits of the columns from ``first`` on.

    One pass over Phi (n, d) for each learning rate in ``rates``.  Columns before ``first`` have no
    gradient, but their weights decay.  Cost: 4 n d (c - first) flops a pass.
    """
    steps = Momentum(W, b, momentum=momentum, decay=decay)
    dW, db = np.zeros_like(W), np.zeros_like(b)
    for rate in rates:
        for rows in batches(len(Phi), batch, rng):
            X = Phi[rows]
            G = cross_entropy_gradient(X @ W[:, first:] + b[first:], targets[rows] - first)
            dW[:, first:], db[first:] = X.T @ G, G.sum(axis=0)
            steps.step(rate, dW, db)


def finite(W: Array, b: Array) -> tuple[Array, Array]:
    """Return W and b if all is finite, else raise NumericalError: the training diverged."""
    if not (np.isfinite(W).all() and np.isfinite(b).all()):
        raise NumericalError(
            "the training of the head diverged (weights are not finite). Usual cause: a learning "
            "rate too large for the scale of the features; lower rate or scale."
        )
    return W, b
