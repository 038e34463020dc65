"""The logger plugin: one line says how far a run is, what runs and how long it takes; what goes wrong is shown."""

import io
import logging
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import warm
from copies import environment
from snakemake_interface_logger_plugins.common import LogEvent
from snakemake_logger_plugin_oneline import LogHandler, Progress, duration

SNAKEFILE = """
rule all:
    input: "a.txt", "b.txt"
rule one:
    output: "{name}.txt"
    shell: "echo {wildcards.name} > {output}"
"""


def record(created: float, event: LogEvent | None = None, **told: Any) -> logging.LogRecord:
    """Return what Snakemake logs."""
    level = told.pop("level", logging.INFO)
    made = logging.LogRecord("snakemake", level, "", 0, told.pop("msg", ""), (), None)
    made.created = created
    vars(made).update(told)
    if event is not None:
        vars(made)["event"] = event
    return made


def job(created: float, jobid: int, rule: str = "run", **wildcards: str) -> logging.LogRecord:
    return record(created, LogEvent.JOB_INFO, jobid=jobid, rule_name=rule, wildcards=wildcards)


def ended(created: float, jobid: int) -> logging.LogRecord:
    return record(created, LogEvent.JOB_FINISHED, job_id=jobid)


@pytest.fixture
def progress() -> Progress:
    """Return the progress of a run of ten jobs: eight runs and two tables."""
    made = Progress()
    made.take(record(0, LogEvent.RUN_INFO, stats={"run": 8, "table": 2, "total": 10}))
    return made


def test_time_left_is_work_left_over_speed(progress: Progress) -> None:
    assert progress.left(0.0) is None
    progress.take(job(0.0, 1))
    progress.take(job(0.0, 2))
    assert progress.left(60.0) is None  # no job has ended
    progress.take(ended(60.0, 1))
    progress.take(ended(60.0, 2))
    # two at a time: six runs of a minute each; how long a table takes is not known
    assert progress.left(60.0) == pytest.approx(6 * 60 / 2)
    assert progress.unknown() == 2
    progress.take(job(60.0, 3, "table"))
    progress.take(ended(70.0, 3))
    # 130 s of work in 70 s; six runs of 60 s and a table of 10 s are left
    assert progress.left(70.0) == pytest.approx((6 * 60 + 10) / (130 / 70))


def test_a_long_extraction_says_nothing_of_short_runs() -> None:
    """After 26 minutes of extraction with a core to itself, 300 runs of 4 s have 20 minutes, not 130 hours."""
    progress = Progress()
    stats = {"extract": 1, "run": 300, "total": 301}
    progress.take(record(0, LogEvent.RUN_INFO, stats=stats))
    progress.take(job(0.0, 1, "extract"))
    progress.take(ended(1560.0, 1))
    assert progress.left(1560.0) is None and progress.unknown() == 300
    assert "left" not in progress.line(1560.0)
    for jobid in (2, 3):
        progress.take(job(1560.0, jobid))
        progress.take(ended(1564.0, jobid))
    # 298 runs of 4 s at 1568 s of work in 1564 s
    assert progress.left(1564.0) == pytest.approx(298 * 4 * 1564 / 1568)


def test_a_job_counts_for_what_it_has_done(progress: Progress) -> None:
    for jobid in (1, 2):
        progress.take(job(0.0, jobid))
    progress.take(ended(60.0, 1))
    before = progress.left(60.0)
    progress.take(job(60.0, 3))
    assert progress.left(90.0) < before
    assert progress.left(10_000.0) >= 0


def test_the_line_names_the_longest_job(progress: Progress) -> None:
    progress.take(record(0, LogEvent.PROGRESS, done=3, total=10))
    assert progress.line(0.0) == "3 of 10 jobs done"
    progress.take(job(0.0, 1, dataset="cub-50", method="acil"))
    progress.take(job(1.0, 2, "table"))
    assert progress.line(2.0) == "3 of 10 jobs done: run cub-50/acil and 1 more"
    progress.take(ended(60.0, 1))
    # 7 runs of 60 s, at 119 s of work in 60 s: 212 s; how long a table takes is not known
    said = "3 of 10 jobs done, about 4 min left, and 2 jobs of other kinds: table"
    assert progress.line(60.0) == said
    progress.take(record(61.0, LogEvent.JOB_ERROR, jobid=2))
    assert "table" not in progress.line(62.0)


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(3, "less than a minute"), (90, "about 2 min"), (7100, "about 118 min"), (9000, "about 2 h")],
)
def test_durations_are_coarse(seconds: float, said: str) -> None:
    assert duration(seconds) == said


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def handler(
    monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, dryrun: bool = False
) -> LogHandler:
    monkeypatch.setattr(sys, "stderr", stream)
    made = LogHandler(SimpleNamespace(stdout=False, dryrun=dryrun), None)
    made.setFormatter(logging.Formatter("%(message)s"))
    return made


def test_on_a_terminal_the_line_is_written_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    stream = Terminal()
    shown = handler(monkeypatch, stream)
    shown.emit(record(0, LogEvent.RUN_INFO, stats={"run": 2, "total": 2}, msg="Job stats"))
    shown.emit(job(0.0, 1, name="a-name-that-is-longer-than-the-terminal"))
    shown.emit(record(1, msg="Something is odd", level=logging.WARNING))
    shown.close()
    said = stream.getvalue()
    assert "Job stats" not in said
    line, rest = said.removeprefix("\r\x1b[K").split("\r\x1b[K")
    assert line == "0 of 2 jobs done: run a-name-"[:29]
    assert rest == f"Something is odd\n{line}\n"


def test_no_name_steers_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names in a message keep to their line, and in the line of progress make no new one."""
    stream = Terminal()
    shown = handler(monkeypatch, stream)
    shown.emit(record(0, LogEvent.RUN_INFO, stats={"run": 2, "total": 2}))
    shown.emit(job(0.0, 1, name="\x1b[2J\nred"))
    shown.emit(record(1, msg="Odd: \x1b]0;x\x07\n\tat line 1\r", level=logging.WARNING))
    line = r"0 of 2 jobs done: run \x1b[2J\nred"
    warned = rf"Odd: \x1b]0;x\x07{chr(10)}        at line 1\r"
    assert stream.getvalue() == f"\r\x1b[K{line}\r\x1b[K{warned}\n{line}"


def test_elsewhere_a_line_comes_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    shown = handler(monkeypatch, stream)
    shown.emit(record(0, LogEvent.RUN_INFO, stats={"run": 3, "total": 3}))
    for jobid in range(3):
        shown.emit(job(jobid, jobid))
        shown.emit(ended(jobid + 0.5, jobid))
        shown.emit(record(jobid, LogEvent.PROGRESS, done=jobid + 1, total=3))
    shown.close()
    assert stream.getvalue().splitlines() == ["0 of 3 jobs done: run", "3 of 3 jobs done"]


def test_a_dry_run_shows_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    shown = handler(monkeypatch, stream, dryrun=True)
    shown.emit(record(0, LogEvent.RUN_INFO, stats={"total": 1}, msg="Job stats"))
    assert stream.getvalue() == "Job stats\n"


def test_snakemake_takes_the_plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is left out on the terminal is in the log file; a second run has nothing to do; errors are shown."""
    root = Path(__file__).resolve().parents[2]
    (tmp_path / "Snakefile").write_text(SNAKEFILE, encoding="utf-8")

    def run() -> subprocess.CompletedProcess[str]:
        command = [warm.python(), "-m", "snakemake", "--cores", "1", "--logger=oneline", "all"]
        return subprocess.run(
            command, cwd=tmp_path, env=environment(root), capture_output=True, text=True
        )

    first = run()
    assert first.returncode == 0, first.stderr
    assert "3 of 3 jobs done" in first.stderr and "rule one" not in first.stderr
    (log,) = (tmp_path / ".snakemake/log").glob("*.log")
    assert "rule one" in log.read_text(encoding="utf-8") and str(log) in first.stderr
    assert "Nothing to be done" in run().stderr
    (tmp_path / "a.txt").unlink()
    (tmp_path / "Snakefile").write_text(SNAKEFILE.replace("> {output}", "&& exit 3"))
    failed = run()
    assert failed.returncode == 1 and "Error in rule one" in failed.stderr
