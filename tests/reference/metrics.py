"""Accuracy, forgetting and drift by plain loops over integer counts."""

import numpy as np


def per_session(
    correct: np.ndarray, counts: np.ndarray, session_of_class: np.ndarray
) -> list[list[float]]:
    """Return a[t][s], percent right on the classes of session s after session t, for s <= t."""
    T = len(correct)
    table = []
    for t in range(T):
        row = []
        for s in range(t + 1):
            mine = [j for j in range(len(counts)) if session_of_class[j] == s]
            right = sum(int(correct[t][j]) for j in mine)
            row.append(100.0 * right / sum(int(counts[j]) for j in mine))
        table.append(row)
    return table


def session_accuracy(
    correct: np.ndarray,
    counts: np.ndarray,
    session_of_class: np.ndarray,
    by: str,
) -> np.ndarray:
    """Return A_t in percent; sessions count from 0."""
    out = []
    for t in range(len(correct)):
        seen = [j for j in range(len(counts)) if session_of_class[j] <= t]
        if by == "samples":
            right = sum(int(correct[t][j]) for j in seen)
            out.append(100.0 * right / sum(int(counts[j]) for j in seen))
        elif by == "classes":
            out.append(100.0 * np.mean([correct[t][j] / counts[j] for j in seen]))
        else:
            out.append(np.mean(per_session(correct, counts, session_of_class)[t]))
    return np.array(out)


def forgetting(
    correct: np.ndarray, counts: np.ndarray, session_of_class: np.ndarray
) -> list[float]:
    """Return, from session 2 on, the mean over earlier sessions of best minus present accuracy."""
    a = per_session(correct, counts, session_of_class)
    out = []
    for t in range(1, len(correct)):
        drops = [max(a[u][s] for u in range(s, t + 1)) - a[t][s] for s in range(t)]
        out.append(sum(drops) / len(drops))
    return out


def drift(previous: np.ndarray, current: np.ndarray) -> tuple[float, float]:
    """Return mean |z_t - z_{t-1}| and the same over the standard deviation of z_{t-1}."""
    change = np.abs(current - previous).mean()
    return change, change / previous.std()
