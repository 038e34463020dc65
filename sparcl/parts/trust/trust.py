"""What every kind of trust offers: a session's rows in, the rows that are summed out."""

import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sparcl.algebra.sums import Sums
from sparcl.base.state import Stateful
from sparcl.base.types import Array
from sparcl.parts.batch import Batch
from sparcl.parts.heads.head import Head


@dataclass(eq=False)
class Trust(Stateful):
    """Trusts every row alike.

    Rows are held during their session only: what is kept is sums, with ``R += H^T Omega H``,
    ``C += H^T Omega Y`` and ``n += Omega Y`` for row weights Omega and labels Y.  Settings are fixed without
    knowing how many rows are wrong.

    Attributes
    ----------
    whole_session : why a session must come whole; empty where every row is trusted
    """

    whole_session: ClassVar[str] = ""

    def judge(self, batch: Batch, old: Sums, head: Head, value: float) -> Batch:
        """Return the rows of a session to be summed, weighed or under other labels.

        Parameters
        ----------
        batch : all of them; old : sums of the sessions before
        head, value : what turns sums into weights, and its ridge or shrinkage
        """
        return batch

    def report(self) -> dict[str, Any]:
        """Return what was noticed in the last session."""
        return {}


class Doubting(Trust):
    """Gives each row of a session a weight; a class that would lose all of them keeps all."""

    whole_session: ClassVar[str] = "it weighs the rows of a session against each other"

    def judge(self, batch: Batch, old: Sums, head: Head, value: float) -> Batch:
        """Return the rows with a weight above zero, each with its weight."""
        weights = with_every_class(self.weights(batch, old, head, value), batch.columns)
        kept = np.flatnonzero(weights > 0)
        part = batch if len(kept) == len(batch) else batch.take(kept)
        weights = weights[kept]
        return part if (weights == 1).all() else dataclasses.replace(part, trust=weights)

    def weights(self, batch: Batch, old: Sums, head: Head, value: float) -> Array:
        """Return the weight (n,) of each row, 0 or above."""
        raise TypeError(f"{type(self).__name__} weighs nothing")


def with_every_class(weights: Array, columns: NDArray[np.integer]) -> Array:
    """Return weights (n,) in which rows of a class without any weight count 1 each."""
    total = np.bincount(columns, weights=weights)
    return np.where(total[columns] > 0, weights, 1.0)
