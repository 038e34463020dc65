"""How large the core is, and how long the path of one session: ``python tests/packaging/test_sizes.py`` prints it."""

import sys
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from sparcl.methods import build

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "sparcl"
CORE = ("base", "algebra", "parts", "learners", "methods")
MOST_CALLS, MOST_MODULES = 90, 16


def lines(folder: str) -> int:
    files = (PACKAGE / folder).rglob("*.py")
    return sum(len(file.read_text(encoding="utf-8").splitlines()) for file in files)


def session() -> Counter[tuple[str, str]]:
    """Count the functions of the package that the third session of `sparcl` calls, by module and name."""
    learner, rng = build("sparcl", refresh=1, tau=0.95), np.random.default_rng(0)
    calls: Counter[tuple[str, str]] = Counter()

    def count(frame: FrameType, event: str, argument: Any) -> None:
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(PACKAGE):
            calls[path.relative_to(PACKAGE).as_posix(), frame.f_code.co_name] += 1

    for t in range(3):
        Phi = rng.standard_normal((80, 64))
        Phi /= np.linalg.norm(Phi, axis=1, keepdims=True)
        y = np.repeat(np.arange(4) + 4 * t, 20)
        sys.setprofile(count if t == 2 else None)
        learner.fit_session(Phi, y)
        sys.setprofile(None)
    assert learner.report()["renewed"] and learner.report()["update"] == "direct"
    return calls


def test_the_path_of_a_session_is_short() -> None:
    calls = session()
    assert calls.total() <= MOST_CALLS, calls
    assert len({module for module, _ in calls}) <= MOST_MODULES, calls
    assert calls["learners/composed.py", "_fit"] == 1  # the count counts


if __name__ == "__main__":
    for name in CORE:
        print(f"{name:9} {lines(name):6,} lines")
    print(f"{'together':9} {sum(map(lines, CORE)):6,} lines")
    found = session()
    modules = len({module for module, _ in found})
    print(f"one session of sparcl: {found.total()} calls through {modules} modules")
