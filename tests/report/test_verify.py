"""Comparing two runs' summaries: what differs is found, named and measured."""

import csv
import re
import shutil
from itertools import islice
from pathlib import Path

import pytest
from copies import ROOT

from sparcl.base.errors import InputError
from study.report import verify
from study.report.summary import ROW_KEYS

ROWS = 40


@pytest.fixture(scope="module")
def committed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the first rows of the committed summaries."""
    folder = tmp_path_factory.mktemp("committed")
    for path in ROOT.glob("paper/bundled/summary/*.csv"):
        with path.open(encoding="utf-8") as file:
            (folder / path.name).write_text("".join(islice(file, ROWS)), encoding="utf-8")
    return folder


@pytest.fixture
def again(committed: Path, tmp_path: Path) -> Path:
    """Return a copy to change."""
    return Path(shutil.copytree(committed, tmp_path / "again"))


def change(path: Path, line: int, column: str, new: str | float) -> tuple[dict[str, str], str]:
    """Set one cell, or add a number to it; return the row as it was and the new cell."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    before = dict(rows[line])
    rows[line][column] = new if isinstance(new, str) else f"{float(before[column]) + new:.8g}"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(before), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return before, rows[line][column]


def test_equal_summaries(committed: Path, again: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert len(list(again.glob("*.csv"))) == 7
    assert verify.compare(committed, again) == []
    assert verify.main([str(committed), str(again)]) == 0
    assert capsys.readouterr().out.startswith("Equal")


def test_planted_changes_are_found_named_and_measured(
    committed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for summary, column, by, measured in (
        ("runs", "A_last", 0.02, "+0.0200 points"),  # one test sample more
        ("spectrum", "eigenvalue", 0.01, "relative "),
        ("recommendations", "drift", 0.0001, "relative "),
    ):
        again = Path(shutil.copytree(committed, tmp_path / summary))
        row, now = change(again / f"{summary}.csv", 3, column, by)
        (found,) = verify.compare(committed, again)
        assert found.summary == summary
        keys = [key for key in row if key in ROW_KEYS and key != "suite"]
        assert found.where == ", ".join(f"{key} {row[key]}" for key in keys)
        assert f"{column} was {row[column]}, is {now}" in found.what and measured in found.what
        assert verify.main([str(committed), str(again)]) == 1
        assert str(found) in capsys.readouterr().out


def test_tolerance_on_another_platform(committed: Path, tmp_path: Path) -> None:
    first, again = (Path(shutil.copytree(committed, tmp_path / n)) for n in ("first", "again"))
    for summary, column, by, tolerable in (
        ("runs", "A_bar", 0.05, True),
        ("runs", "A_bar", 0.0501, False),
        ("sessions", "forgetting", -0.05, True),
        ("sessions", "forgetting", -0.06, False),
    ):
        shutil.copy(committed / f"{summary}.csv", again)
        change(again / f"{summary}.csv", 25, column, by)
        (found,) = verify.compare(committed, again)
        assert found.tolerable is tolerable, (column, by)
        assert verify.main(["--across", str(committed), str(again)]) == (0 if tolerable else 1)
        shutil.copy(committed / f"{summary}.csv", again)
    for old, new, tolerable in (
        ("0.0213439", "0.021344", True),  # one last digit of six
        ("0.0213439", "0.0213441", False),
        ("999999", "1e+06", True),
        ("123.456", "123.457", True),
        ("123.456", "123.458", False),
        ("0", "1e-12", False),
        ("", "0.1", False),
        ("0.1", "nan", False),
        ("1", "1.0", True),
    ):
        change(first / "sessions.csv", 4, "drift", old)
        change(again / "sessions.csv", 4, "drift", new)
        (found,) = verify.compare(first, again)
        assert found.tolerable is tolerable, (old, new)


def test_another_hash_is_never_tolerable(committed: Path, again: Path) -> None:
    change(again / "runs.csv", 3, "train_sha256", "1" * 64)
    (found,) = verify.compare(committed, again)
    assert "train_sha256" in found.what and not found.tolerable


def test_rows_and_columns_that_come_and_go(committed: Path, again: Path) -> None:
    lines = (again / "runs.csv").read_text(encoding="utf-8").splitlines()
    lines[5], replaced = re.subn(r",199\d,", ",7,", lines[5])
    assert replaced == 1
    (again / "runs.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    text = (again / "sessions.csv").read_text(encoding="utf-8")
    (again / "sessions.csv").write_text(text.replace(",energy,", ",power,", 1), encoding="utf-8")
    said = {(d.summary, d.what) for d in verify.compare(committed, again)}
    assert said == {
        ("runs", "the row is no longer made"),
        ("runs", "the row is new"),
        ("sessions", "in one of the two only"),
    }


def test_damaged_summaries_are_named(committed: Path, again: Path) -> None:
    path = again / "spectrum.csv"
    for content in (b"", b"a,b\n1,2\n", b"suite,suite\n", b"\xff\xfe\x00", b'suite,"dataset\n1,2'):
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"spectrum\.csv.*git checkout"):
            verify.compare(committed, again)
    path.unlink()
    (found,) = verify.compare(committed, again)
    assert (found.summary, found.tolerable) == ("spectrum", False)
    for path in again.glob("*.csv"):
        path.unlink()
    with pytest.raises(InputError, match="no summary there"):
        verify.compare(committed, again)


def test_a_row_that_is_there_twice_or_cut_off(committed: Path, again: Path) -> None:
    path = again / "runs.csv"
    text = path.read_text(encoding="utf-8")
    path.write_text(text + text.splitlines()[-1] + "\n", encoding="utf-8")
    with pytest.raises(InputError, match="is there twice"):
        verify.compare(committed, again)
    path.write_text(text[: text.rindex(",", 0, text.rindex(","))], encoding="utf-8")
    with pytest.raises(InputError, match="cells"):
        verify.compare(committed, again)
