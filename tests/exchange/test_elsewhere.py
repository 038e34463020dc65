"""Numbers measured elsewhere: a file of their own, to which a run is added once, and which nothing computes with."""

import ast
import csv
import re
from pathlib import Path

import pytest
from copies import ROOT, in_git

from study.exchange import elsewhere
from study.exchange.__main__ import main

LINE = "{'model': 'ranpac', 'dataset': 'seq-cub200', 'seed': 7, 'accmean_task1': 90.0, 'accmean_task2': 80.0}\n"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    (tmp_path / "logs.pyd").write_text(LINE, encoding="utf-8")
    return tmp_path / "logs.pyd"


def bring_in(log: Path, out: Path) -> int:
    return main(["import-log", str(log), "--from", "mammoth", "--out", str(out)])


def test_a_run_is_added_once(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "elsewhere.csv"
    assert bring_in(log, out) == 0
    rows = elsewhere.read(out)
    assert [(row["measure"], row["session"], float(row["value"])) for row in rows] == [
        ("A_t", "1", 90.0),
        ("A_t", "2", 80.0),
        ("A_bar", "2", 85.0),
        ("A_last", "2", 80.0),
    ]
    assert {(row["tool"], row["averaging"]) for row in rows} == {("mammoth", "tasks")}
    said = capsys.readouterr().out.splitlines()
    assert said[1].split() == [
        "ranpac",
        "(mammoth,",
        "7)",
        "seq-cub200",
        "2",
        "tasks",
        "85.00",
        "80.00",
    ]
    before = out.read_bytes()
    assert bring_in(log, out) == 0 and out.read_bytes() == before
    assert "0 numbers added, 4 were there already" in capsys.readouterr().out
    log.write_text(LINE.replace("7", "8"), encoding="utf-8")
    assert bring_in(log, out) == 0 and len(elsewhere.read(out)) == 8


def test_another_file_stays_as_it_is(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for content in ("a,b\n1,2\n", ",".join(elsewhere.COLUMNS) + "\n1,2\n", "\x00"):
        out = tmp_path / "other.csv"
        out.write_text(content, encoding="utf-8")
        assert bring_in(log, out) == 2
        assert out.read_text(encoding="utf-8") == content
        assert "other.csv" in capsys.readouterr().err


def test_a_bad_log_adds_nothing(log: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.pyd"
    bad.write_bytes(b"\xff\xfe")
    out = tmp_path / "elsewhere.csv"
    arguments = ["import-log", str(log), str(bad), "--from", "mammoth", "--out", str(out)]
    assert main(arguments) == 2 and not out.exists()


def test_nothing_else_reads_them() -> None:
    """They never meet this project's numbers: no module outside the package imports it."""
    users = set()
    for path in in_git():
        name = path.relative_to(ROOT).as_posix()
        if path.suffix == ".py" and not name.startswith(("tests/", "workflow/study/exchange/")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(
                    "study.exchange"
                ):
                    users.add(name)
    assert users == set()


def test_the_page_describes_every_column(log: Path, tmp_path: Path) -> None:
    page = (ROOT / "docs/exchange.md").read_text(encoding="utf-8")
    section = page.partition("## Numbers measured elsewhere")[2]
    described = re.findall(r"^\| `(\w+)` \|", section, flags=re.MULTILINE)
    bring_in(log, tmp_path / "elsewhere.csv")
    with (tmp_path / "elsewhere.csv").open(encoding="utf-8", newline="") as stream:
        assert next(csv.reader(stream)) == described
