"""Doubts as many rows of a session as its sums say are of old classes."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sparcl.algebra.strangers import stranger_share
from sparcl.algebra.sums import Sums
from sparcl.base.checks import check_fraction, check_positive
from sparcl.base.state import Shape
from sparcl.base.types import Array
from sparcl.parts.batch import Batch
from sparcl.parts.heads.head import Head
from sparcl.parts.trust.old_model import OldModel
from sparcl.parts.trust.trust import Doubting


@dataclass(eq=False)
class Watchful(Doubting):
    """Estimate the share of strangers in a session from its sums, and drop at most so many rows.

    Dropped are those that :class:`OldModel` would drop, the clearest first.  Below ``limit`` nothing is doubted, so
    that a clean session loses nothing.  This project's own (:func:`sparcl.algebra.strangers.stranger_share`).
    Cost: 2 D^2 c + 2 n D c flops, and that of OldModel from the limit on.

    Parameters
    ----------
    limit : share of strangers from which on rows are dropped
    errors : standard errors by which the share must exceed 0 besides
    ridge : of OldModel

    Attributes
    ----------
    noticed : share of strangers in the last session
    """

    limit: float = 0.1
    errors: float = 1.0
    ridge: float = 1.0
    kept: ClassVar[dict[str, Shape | None]] = {"noticed": None}

    def __post_init__(self) -> None:
        check_fraction("limit", self.limit)
        check_positive("errors", self.errors)
        self.model = OldModel(self.ridge)
        self.noticed = 0.0

    def weights(self, batch: Batch, old: Sums, head: Head, value: float) -> Array:
        """Return 1 for rows that stay and 0 for others (n,)."""
        known = np.count_nonzero(old.counts)
        share, error = stranger_share(old, batch.H, batch.columns) if known else (0.0, 0.0)
        self.noticed = share if share >= max(self.limit, self.errors * error) else 0.0
        weights = np.ones(len(batch))
        if self.noticed == 0:
            return weights
        strange = self.model.strangeness(batch, old)
        clearest = np.argsort(-strange, kind="stable")[: round(self.noticed * len(batch))]
        weights[clearest[strange[clearest] > 0]] = 0
        return weights

    def report(self) -> dict[str, Any]:
        """Return the share of strangers in the last session."""
        return {"noticed": self.noticed}
