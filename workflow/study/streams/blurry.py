"""Streams in which classes come again: Si-Blurry, and class-incremental learning with repetition.

Their sessions are blocks of rows, with a measurement after each.  Draws are arguments of the functions that use them.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sparcl.base.errors import InputError
from sparcl.base.types import Ints
from study.streams.samples import Draw, Samples

Rows = NDArray[np.intp]


def si_blurry(
    samples: Samples, rate: float, draw: Draw, *, disjoint: float, points: int
) -> Samples:
    """Let some classes come in one task each, and some rows of the others in any task.

    Source: Si-Blurry (ICCV 2023), commit c4024ce, with two differences: classes that the number of tasks does not
    divide are blurry ones and not left out, as in FlyGCL, and the rows that move are drawn from a class's rows
    in random order, not the first ones of the file.  A task that gets no row is none.

    Parameters
    ----------
    rate : percentage of the blurry classes' rows that move to another task's pool
    disjoint : percentage of classes that come in one task, rounded down to a multiple of the tasks
    points : accuracy is measured ``points - 1`` times, after equal numbers of rows, and at each end of a task
    """
    order, T = np.concatenate(samples.classes), len(samples.classes)
    apart = int(len(order) * disjoint // 100) // T * T
    moving = int(rate * np.count_nonzero(np.isin(samples.labels, order[apart:])) // 100)
    cuts = [
        draw("si-blurry", name).integers(0, max(most, 1), size=T - 1)
        for name, most in (("disjoint", apart), ("blurry", len(order) - apart), ("rows", moving))
    ]
    shuffle = draw("si-blurry", "shuffle").permutation
    tasks = blurred(samples.labels, order, apart, moving, cuts, shuffle)
    return _blocks(samples, tasks, max(len(samples.labels) // points, 1))


def blurred(
    labels: Ints,
    order: Ints,
    apart: int,
    moving: int,
    cuts: Sequence[Ints],
    shuffle: Callable[[Rows], Rows],
) -> list[Rows]:
    """Return the rows of each of T tasks, in their order.

    Parameters
    ----------
    labels : (n,); order : (K,) classes, of which the first ``apart`` come in one task each
    moving : rows of the other classes that are pooled and given to the tasks anew
    cuts : three times T - 1 positions, in the disjoint classes, the blurry ones and the rows that move
    shuffle : returns rows in another order; it is called for the blurry rows of each task, the pool and each task
    """
    once, blurry = (
        np.split(part, np.sort(cut))
        for part, cut in zip(np.split(order, [apart]), cuts[:2], strict=True)
    )
    quotas = np.diff([0, *np.sort(cuts[2]), moving])
    own = [shuffle(np.flatnonzero(np.isin(labels, classes))) for classes in blurry]
    pool = shuffle(np.concatenate([rows[:q] for rows, q in zip(own, quotas, strict=True)]))
    # a task with fewer rows than its quota leaves the pool short, for the last tasks
    given = np.split(pool, np.cumsum(quotas)[:-1])
    return [
        shuffle(np.concatenate([np.flatnonzero(np.isin(labels, classes)), rows[q:], received]))
        for classes, rows, q, received in zip(once, own, quotas, given, strict=True)
    ]


def _blocks(samples: Samples, tasks: Sequence[Rows], every: int) -> Samples:
    """Return the rows of tasks in blocks, which end after each ``every`` rows of the stream and where a task does."""
    rows = np.concatenate(tasks)
    ends = np.unique(np.cumsum([len(task) for task in tasks]))
    ends = ends[ends > 0]
    points = np.arange(every, len(rows), every)
    cuts = np.union1d(ends, points)
    block = np.searchsorted(cuts, np.arange(len(rows)), side="right")
    return arriving_in(
        samples, rows, block, np.searchsorted(cuts, points), np.searchsorted(cuts, ends)
    )


def repetition(
    samples: Samples, rate: float, draw: Draw, *, experiences: int, rows: int, first: float
) -> Samples:
    """Let each class come again, with probability ``rate`` in each experience after its first.

    Source: the sampling generator of CIR (CoLLAs 2023), commit ca3305a, with a geometric first occurrence and a fixed
    probability.  Rows come again too: an experience draws from all rows of its classes, and without replacement only
    inside it.  An experience without a class is left out.

    Parameters
    ----------
    rate : the probability
    experiences : of the stream; rows : of each, in equal parts of its classes, fewer where a class has too few
    first : parameter of the geometric distribution, cut off and renormalised, of a class's first experience
    """
    labels = np.unique(samples.labels)
    if rows < len(labels):
        raise InputError(
            f"stress 'repetition': {rows} rows of an experience cannot be those of {len(labels)} classes. Raise `rows`."
        )
    falling = (1 - first) ** np.arange(experiences)
    starts = draw("repetition", "first").choice(experiences, len(labels), p=falling / falling.sum())
    again = draw("repetition", "again").random((len(labels), experiences)) < rate
    when = np.arange(experiences)[None]
    present = (when == starts[:, None]) | (again & (when > starts[:, None]))
    shuffle = draw("repetition", "rows").permutation
    drawn = [p for p in repeated(samples.labels, labels, present, rows, shuffle) if len(p)]
    every = np.arange(len(drawn))  # accuracy is measured after each
    block = np.repeat(every, [len(part) for part in drawn])
    return arriving_in(samples, np.concatenate(drawn), block, every, every)


def repeated(
    labels: Ints,
    classes: Ints,
    present: NDArray[np.bool_],
    rows: int,
    shuffle: Callable[[Rows], Rows],
) -> list[Rows]:
    """Return the rows of each experience.

    Parameters
    ----------
    labels : (n,); classes : (K,); present : (K, E) whether a class is in an experience
    rows : of an experience; what its classes do not divide goes to the first ones after a shuffle
    shuffle : called for the classes of each experience, then for the rows of each of them
    """
    of_class = [np.flatnonzero(labels == label) for label in classes]
    found = []
    for here in present.T:
        there = shuffle(np.flatnonzero(here))
        share, more = divmod(rows, max(len(there), 1))
        parts = [shuffle(of_class[c])[: share + (j < more)] for j, c in enumerate(there)]
        found.append(np.concatenate([*parts, np.zeros(0, dtype=np.intp)]))
    return found


def arriving_in(samples: Samples, rows: Rows, block: Rows, points: Rows, ends: Rows) -> Samples:
    """Return rows of a stream, perhaps some of them twice, each in its block; blocks have the classes that are new."""
    arrived = samples.take(rows)
    labels, first = np.unique(arrived.labels, return_index=True)  # blocks come in their order
    classes = tuple(labels[block[first] == b] for b in range(int(block[-1]) + 1))
    return replace(
        arrived,
        session=block.astype(np.int64),
        classes=classes,
        points=tuple(points.tolist()),
        ends=tuple(ends.tolist()),
    )
