"""Rows take the label that most rows of their cluster have."""

import dataclasses
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sparcl.algebra.sums import Sums
from sparcl.base.checks import check_positive
from sparcl.parts.batch import Batch
from sparcl.parts.heads.head import Head
from sparcl.parts.trust.trust import Trust


@dataclass(eq=False)
class Clusters(Trust):
    """Cluster a session into ``share`` times as many clusters as it has classes, and relabel by majority.

    After RACE (2025), which clusters features by BIRCH and relabels by majority; its threshold and its number
    of clusters are not known, so that these are Ward's clusters and a share of the classes.  A class that
    would be left without a row keeps its rows.  Among equal counts the first label in the order of columns
    wins.  Cost: O(n^2 D).

    Parameters
    ----------
    share : clusters for each class of the session, at least one in all
    """

    share: float = 1.0
    whole_session: ClassVar[str] = "it clusters the rows of a session"

    def __post_init__(self) -> None:
        check_positive("share", self.share)

    def judge(self, batch: Batch, old: Sums, head: Head, value: float) -> Batch:
        """Return the rows under their clusters' labels."""
        from scipy.cluster.hierarchy import fcluster, linkage  # for this part alone: slow to load

        labels, place = np.unique(batch.columns, return_inverse=True)
        wanted = max(round(self.share * len(labels)), 1)
        if len(batch) < 2 or len(labels) < 2:
            return batch
        cluster = fcluster(linkage(batch.H, method="ward"), wanted, criterion="maxclust") - 1
        votes = np.zeros((cluster.max() + 1, len(labels)), dtype=np.int64)
        np.add.at(votes, (cluster, place), 1)
        voted = np.argmax(votes, axis=1)[cluster]
        lost = np.setdiff1d(np.arange(len(labels)), voted)
        columns = np.where(np.isin(place, lost), batch.columns, labels[voted])
        return dataclasses.replace(batch, columns=columns)
