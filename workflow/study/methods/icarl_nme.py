"""iCaRL's classifier: the nearest mean of exemplars, chosen by herding.

u = f / |f|.  Exemplar k of class c is the sample left with the smallest
|mu_c - (u + sum of the first k - 1) / k|; each of the K classes seen keeps its first
m = floor(memory / K).  score_c(f) = cosine(f, mean of the class's exemplars).
Source: iCaRL (CVPR 2017) as ``models/base.py`` of LAMDA-PILOT has it, commit 2647455.  Official:
2,000 exemplars in all on CIFAR-100; PILOT's ImageNet-R keeps 20 a class instead.

With a frozen backbone neither herding nor the means depend on the head that iCaRL trains, so its
"NME" accuracy is exact here, from features alone.  Differences: a class with fewer samples than m
keeps all (the code stops), and a class that returns is herded again from its exemplars and the new
samples (the code knows no such class).  The 1e-8 beside a norm is left out.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sparcl.base.checks import check_int
from sparcl.base.errors import InputError
from sparcl.base.rows import unit
from sparcl.base.state import Shape
from sparcl.base.types import Array
from sparcl.learners.learner import Learner


@dataclass(eq=False)
class IcarlNme(Learner):
    """Keeps samples, by design: n_c^2 d flops per class to herd.

    Parameters
    ----------
    memory : number of exemplars in all (official 2,000)
    """

    memory: int = 2000
    keeps_samples: ClassVar[bool] = True
    kept: ClassVar[dict[str, Shape | None]] = {"exemplars": (None, "d"), "weights": ("d", "c")}

    def __post_init__(self) -> None:
        super().__post_init__()
        check_int("memory", self.memory, least=1)
        self.exemplars: list[Array] = []
        self.weights: Array = np.zeros((0, 0))

    def report(self) -> dict[str, Any]:
        """Return the number of exemplars kept."""
        return {"exemplars": sum(map(len, self.exemplars))}

    def _fit(self, Phi: Array, columns: NDArray[np.integer], old: int, classes: int) -> None:
        m = self.memory // classes
        if m == 0:
            raise InputError(
                f"{classes} classes do not fit into a memory of {self.memory} exemplars: raise memory."
            )
        U = unit(Phi)
        kept = self.exemplars + [np.zeros((0, U.shape[1]))] * (classes - old)
        for j in np.unique(columns):
            rows = np.vstack([kept[j], U[columns == j]])
            kept[j] = rows[herded(rows, m)]
        self.exemplars = [rows[:m] for rows in kept]
        means = np.stack([rows.mean(axis=0) for rows in self.exemplars])
        self.weights = np.ascontiguousarray(unit(means).T)

    def _logits(self, Phi: Array) -> Array:
        return unit(Phi) @ self.weights


def herded(U: Array, m: int) -> NDArray[np.intp]:
    """Return the first m rows, or all if fewer, of U (n, d) in the order of herding: n^2 d flops.

    |mu - (u + s) / k| is smallest where ``|u|^2 - 2 u . (k mu - s)`` is.
    """
    own, toward = np.einsum("nd,nd->n", U, U), U @ U.mean(axis=0)
    inner = U @ U.T
    chosen: list[int] = []
    taken = np.zeros(len(U))  # u . s
    for k in range(1, min(m, len(U)) + 1):
        cost = own - 2 * (k * toward - taken)
        cost[chosen] = np.inf
        chosen.append(int(np.argmin(cost)))
        taken += inner[:, chosen[-1]]
    return np.array(chosen, dtype=np.intp)


build = IcarlNme
