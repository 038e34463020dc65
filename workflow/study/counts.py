"""Samples of each class of a split, judged once by name: later a class would be an index in the message of each job."""

import logging

import numpy as np

from sparcl.base.errors import FeatureFileError, listed
from sparcl.features.layout import FeatureSet, PathLike

logger = logging.getLogger(__name__)


def check_counts(path: PathLike, data: FeatureSet) -> None:
    """Log classes with a single training sample, by name.

    Raises
    ------
    FeatureFileError
        For classes without a sample; the message names them.
    """
    counts = np.bincount(data.labels, minlength=len(data.class_names))
    few = {n: [data.class_names[c] for c in np.flatnonzero(counts == n)] for n in (0, 1)}
    split = data.meta["split"]
    if few[0]:
        raise FeatureFileError(
            f"{path}: {len(few[0])} of {len(counts)} classes have no {split} sample: {listed(few[0])}. Add samples, or "
            "take the classes out of both splits."
        )
    if few[1] and split == "train":
        logger.warning(
            "%s: %d classes have one training sample, where a selection on the first session needs two: %s.",
            path, len(few[1]), listed(few[1]),
        )  # fmt: skip
