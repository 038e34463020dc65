"""Few training samples per class, or a long tail over all classes."""

import numpy as np

from study.streams.samples import Draw, Samples


def few(samples: Samples, rate: float, draw: Draw) -> Samples:
    """Keep ``rate`` training samples of each class, or all where it has fewer."""
    kept = [
        draw("few", int(label)).permutation(np.flatnonzero(samples.labels == label))[: int(rate)]
        for label in np.unique(samples.labels)
    ]
    return samples.take(np.sort(np.concatenate(kept)))


def imbalanced(samples: Samples, rate: float, draw: Draw, *, least: int) -> Samples:
    """Thin out the training samples: a class of random rank j of K keeps the share rate^(-j / (K - 1)).

    Parameters
    ----------
    rate : 1 or more; samples of the class of rank 0 to those of rank K - 1, if they had equally many
    least : samples that a class keeps, as far as it has them
    """
    labels, kept = np.unique(samples.labels), []
    for label, rank in zip(labels, draw("ranks").permutation(len(labels)), strict=True):
        rows = draw("imbalanced", int(label)).permutation(np.flatnonzero(samples.labels == label))
        share = rate ** (-float(rank) / max(len(labels) - 1, 1))
        kept.append(rows[: max(round(share * len(rows)), min(least, len(rows)))])
    return samples.take(np.sort(np.concatenate(kept)))
