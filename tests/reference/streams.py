"""Small synthetic class-incremental streams, numpy only."""

from collections.abc import Iterator, Mapping

import numpy as np

Session = tuple[np.ndarray, np.ndarray]


def synthetic_stream(
    seed: int = 0,
    sessions: int = 4,
    classes: int = 3,
    samples: int = 12,
    dimension: int = 16,
    noise: float = 0.6,
) -> list[Session]:
    """Unit-norm class clusters around a common mean, in sessions of disjoint classes.

    Labels are scattered over the sessions (not 0, 1, 2, ...) so that a column order taken for
    granted shows. Rows are shuffled inside a session.

    Parameters
    ----------
    classes, samples : int
        Classes in a session, samples of a class.

    Returns
    -------
    list of (Phi (classes * samples, dimension), y (classes * samples,))
    """
    rng = np.random.default_rng(seed)
    labels = rng.permutation(sessions * classes)
    common = 1.5 * rng.standard_normal(dimension)
    spread = np.linspace(1.6, 0.4, dimension)  # a decaying spectrum, as real features have
    stream = []
    for session in np.split(labels, sessions):
        y = rng.permutation(np.repeat(session, samples))
        centres = {j: common + spread * rng.standard_normal(dimension) for j in session}
        rows = np.stack([centres[j] for j in y])
        rows += noise * spread * rng.standard_normal(rows.shape)
        stream.append((rows / np.linalg.norm(rows, axis=1, keepdims=True), y))
    return stream


def split_again(stream: list[Session], sessions: int) -> list[Session]:
    """Return the same samples in another number of sessions, whole classes at a time."""
    Phi = np.concatenate([block for block, _ in stream])
    y = np.concatenate([labels for _, labels in stream])
    order = list(dict.fromkeys(y.tolist()))
    parts = np.array_split(np.array(order), sessions)
    return [(Phi[np.isin(y, part)], y[np.isin(y, part)]) for part in parts]


def uneven(stream: list[Session]) -> list[Session]:
    """Drop rows, so that classes have 12, 11, ... samples."""
    result = []
    for Phi, y in stream:
        drop = [
            i
            for rank, label in enumerate(np.unique(y))
            for i in np.flatnonzero(y == label)[: 4 * rank]
        ]
        keep = np.setdiff1d(np.arange(len(y)), drop)
        result.append((Phi[keep], y[keep]))
    return result


def fit(learner: object, sessions: list[Session]) -> object:
    """Give a learner the sessions one after the other and return it."""
    for Phi, y in sessions:
        learner.fit_session(Phi, y)
    return learner


def growing(learner: object, sessions: list[Session]) -> Iterator[list[Session]]:
    """Give a learner one session after the other, and yield those that it has had so far."""
    for t, session in enumerate(sessions):
        learner.fit_session(*session)
        yield sessions[: t + 1]


def scores_of(learner: object, classes: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return a learner's scores of rows, its columns in the order of these classes."""
    columns = [list(learner.classes).index(label) for label in classes]
    return learner.logits(rows)[:, columns]


def alike(one: Mapping[str, object], other: Mapping[str, object]) -> bool:
    """Return whether two states are the same, to the bit."""
    return one.keys() == other.keys() and all(np.array_equal(one[key], other[key]) for key in one)


def against_first(scores: np.ndarray) -> np.ndarray:
    """Return scores up to a term that all classes share."""
    return scores - scores[:, :1]


# Four sessions of three classes, 36 samples each, 16 features; and unit-norm rows that no session has seen.
STREAM = synthetic_stream()
PROBE = np.random.default_rng(99).standard_normal((40, 16))
PROBE /= np.linalg.norm(PROBE, axis=1, keepdims=True)
for fixed in (PROBE, *(array for session in STREAM for array in session)):
    fixed.flags.writeable = False
