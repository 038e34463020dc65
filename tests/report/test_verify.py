"""Comparing two runs' summaries: what differs is found, named and measured."""

import csv
from pathlib import Path

import pytest
from copies import ROOT

from sparcl.base.errors import InputError
from study.report import verify

CELLS = {"A_last": "80.0000", "forgetting": "", "drift": "0.0213439", "train_sha256": "0" * 64}
ROWS = [
    {"suite": "s", "dataset": "one", "method": method, "order": order, **CELLS}
    for method in ("acil", "sparcl")
    for order in ("7", "8")
]
Rows = list[dict[str, str]]


def written(folder: Path, rows: Rows, name: str = "runs") -> Path:
    """Write a summary and return its folder."""
    folder.mkdir(exist_ok=True)
    with (folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [*rows[0]], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return folder


def with_cells(tmp_path: Path, column: str, old: str, new: str) -> tuple[Path, Path]:
    """Return two summaries that differ in one cell."""
    first, second = ([{**ROWS[0], column: cell}, *ROWS[1:]] for cell in (old, new))
    return written(tmp_path / "old", first), written(tmp_path / "new", second)


def test_equal_summaries(capsys: pytest.CaptureFixture[str]) -> None:
    """Those that are committed: each has columns that tell its rows apart."""
    folder = ROOT / "paper/bundled/summary"
    assert len(list(folder.glob("*.csv"))) == 7
    assert verify.main([str(folder), str(folder)]) == 0
    assert capsys.readouterr().out.startswith("Equal")


def test_planted_changes_are_found_named_and_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for column, new, measured in (
        ("A_last", "80.0200", "A_last was 80.0000, is 80.0200 (+0.0200 points)"),
        ("drift", "0.0214439", "drift was 0.0213439, is 0.0214439 (relative 4.7e-03)"),
        ("forgetting", "1.0000", "forgetting was empty, is 1.0000"),
    ):
        folders = with_cells(tmp_path, column, CELLS[column], new)
        (found,) = verify.compare(*folders)
        assert str(found) == f"runs.csv, dataset one, method acil, order 7: {measured}"
        assert verify.main([*map(str, folders)]) == 1
        assert str(found) in capsys.readouterr().out


def test_tolerance_on_another_platform(tmp_path: Path) -> None:
    for column, old, new, tolerable in (
        ("A_last", "80.0000", "80.0500", True),
        ("A_last", "80.0000", "80.0501", False),
        ("forgetting", "80.0000", "79.9500", True),
        ("forgetting", "80.0000", "79.9400", False),
        ("drift", "0.0213439", "0.021344", True),  # one last digit of six
        ("drift", "0.0213439", "0.0213441", False),
        ("drift", "999999", "1e+06", True),
        ("drift", "123.456", "123.457", True),
        ("drift", "123.456", "123.458", False),
        ("drift", "0", "1e-12", False),
        ("drift", "", "0.1", False),
        ("drift", "0.1", "nan", False),
        ("drift", "1", "1.0", True),
        ("train_sha256", "0" * 64, "1" * 64, False),
    ):
        folders = with_cells(tmp_path, column, old, new)
        (found,) = verify.compare(*folders)
        assert found.tolerable is tolerable, (column, old, new)
        assert verify.main(["--across", *map(str, folders)]) == (0 if tolerable else 1)


def test_rows_columns_and_summaries_that_come_and_go(tmp_path: Path) -> None:
    old = written(tmp_path / "old", ROWS)
    new = written(
        tmp_path / "new", [{**row, "tau": "1"} for row in [*ROWS[1:], ROWS[0] | {"order": "9"}]]
    )
    written(new, ROWS, "sessions")
    assert {(d.summary, d.where, d.what) for d in verify.compare(old, new)} == {
        ("runs", "dataset one, method acil, order 7", "the row is no longer made"),
        ("runs", "dataset one, method acil, order 9", "the row is new"),
        ("runs", "column tau", "in one of the two only"),
        ("sessions", "the whole summary", "in one of the two only"),
    }


def test_damaged_summaries_are_named(tmp_path: Path) -> None:
    old, new = (written(tmp_path / name, ROWS) for name in ("old", "new"))
    path = new / "runs.csv"
    text = path.read_bytes()
    for content, words in (
        (b"", "not enough values"),
        (b"a,b\n1,2\n", "do not tell its rows apart"),
        (b"suite,suite\n", "or one is there twice"),
        (b"\xff\xfe\x00", "can't decode"),
        (b'suite,"dataset\n1,2', "unexpected end"),
        (
            text + text.splitlines()[-1],
            r"row 6 \(dataset one, method sparcl, order 8\) is there twice",
        ),
        (text[: text.rindex(b",")], "row 5 has not 8 cells"),
    ):
        path.write_bytes(content)
        with pytest.raises(InputError, match=rf"runs\.csv: no readable .*{words}.*git checkout"):
            verify.compare(old, new)
    path.unlink()
    with pytest.raises(InputError, match="no summary there"):
        verify.compare(old, new)
