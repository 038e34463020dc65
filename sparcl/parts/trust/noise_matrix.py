"""Label counts that are corrected by the known rate of symmetric noise."""

import dataclasses
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sparcl.algebra.sums import Sums
from sparcl.base.checks import check_fraction
from sparcl.base.errors import InputError
from sparcl.parts.batch import Batch
from sparcl.parts.heads.head import Head
from sparcl.parts.trust.trust import Trust


@dataclass(eq=False)
class NoiseMatrix(Trust):
    """Take ``Y T^-1`` for a session's labels Y, T the matrix by which labels were flipped.

    With rate e and m classes in the session ``T = (1 - e) I + e / (m - 1) (1 1^T - I)``, whose inverse is
    ``(I - e / (m - 1) 1 1^T) / (1 - e m / (m - 1))``: C and the counts become unbiased, R has no labels.  It
    is told the rate, which no other kind is, and a scatter from such sums may be indefinite: a control.

    Parameters
    ----------
    rate : e, in (0, 1)
    """

    rate: float = 0.4
    whole_session: ClassVar[str] = "it corrects the labels of whole sessions"

    def __post_init__(self) -> None:
        check_fraction("rate", self.rate)

    def judge(self, batch: Batch, old: Sums, head: Head, value: float) -> Batch:
        """Return the rows with fractional labels.

        Raises
        ------
        InputError
            At the rate at which labels say nothing, e = (m - 1) / m.
        """
        labels, place = np.unique(batch.columns, return_inverse=True)
        m = len(labels)
        if m < 2:
            return batch
        off = self.rate / (m - 1)
        left = 1 - self.rate - off
        if abs(left) < 1e-9:
            raise InputError(
                f"noise-matrix: at rate {self.rate:g} labels of a session of {m} classes say nothing; lower it."
            )
        Y = np.zeros((len(batch), batch.classes))
        Y[:, labels] = ((place[:, None] == np.arange(m)) - off) / left
        return dataclasses.replace(batch, targets=Y)
