"""`make verify`: everything computed again in a temporary clone, and compared with the commit."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from copies import commit_all, git

Make = Callable[..., subprocess.CompletedProcess[str]]


def test_planted_changes_are_named_and_nothing_else(fresh: Path, make: Make) -> None:
    """One changed count in one row of each summary; every other number is computed again and equal."""
    expected = []
    for name, column in (("runs", "A_last"), ("sessions", "A_t"), ("spectrum", "overlap")):
        path = fresh / f"paper/bundled/summary/{name}.csv"
        lines = path.read_text(encoding="utf-8").splitlines()
        at = lines[0].split(",").index(column)
        row = lines[-1].split(",")
        row[at], old = f"{float(row[at]) + 1:.4f}", row[at]
        lines[-1] = ",".join(row)
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        expected.append(f"{column} was {row[at]}, is {old}")
    commit_all(fresh, "Three numbers that no run gave")
    unknown = make(fresh, "verify", "SUITE=toy")
    said = [line for line in unknown.stdout.splitlines() if not line.startswith("make[")]
    assert unknown.returncode != 0 and len(said) < 4
    assert "paper/toy/summary is not in git: there is nothing to compare with" in unknown.stdout
    verified = make(fresh, "verify")
    assert verified.returncode != 0
    for words in expected:
        assert words in verified.stdout, verified.stdout
    assert "3 differences" in verified.stdout
    assert git(fresh, "status", "--porcelain") == ""


@pytest.mark.slow
def test_a_commit_that_holds_what_is_computed_passes(fresh: Path, make: Make) -> None:
    verified = make(fresh, "verify")
    assert verified.returncode == 0, verified.stdout
    assert "Equal: every row and every digit" in verified.stdout
