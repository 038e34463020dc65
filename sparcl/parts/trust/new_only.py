"""Never learn an old class again."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sparcl.algebra.sums import Sums
from sparcl.parts.batch import Batch
from sparcl.parts.heads.head import Head
from sparcl.parts.trust.trust import Trust


@dataclass(eq=False)
class NewOnly(Trust):
    """Drop every row under the label of an old class; a session of nothing else adds nothing."""

    whole_session: ClassVar[str] = "it must know which classes are old"

    def judge(self, batch: Batch, old: Sums, head: Head, value: float) -> Batch:
        """Return the rows of new classes."""
        return batch.take(np.flatnonzero(batch.columns >= batch.old))
