"""Named random streams: no global seed, and no stream that moves when another draws more."""

import hashlib

import numpy as np


def generator(*names: str | int) -> np.random.Generator:
    """Return the random generator that belongs to ``names``, for example ``("map", seed)``.

    The names are hashed into a :class:`numpy.random.SeedSequence`, so that streams of different
    names are independent and a stream depends on nothing but its names.
    """
    digest = hashlib.sha256("\x1f".join(map(str, names)).encode()).digest()
    return np.random.default_rng(np.random.SeedSequence(int.from_bytes(digest, "big")))
