"""What surrounds every script: its log, and one clear error."""

import hashlib
import logging
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from faults import failing

from sparcl.base.errors import InputError, OutputError
from study.pipeline.adapter import SAID, logged, script


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work where no run has noted what was said."""
    monkeypatch.chdir(tmp_path)


def test_an_error_of_the_users_is_one_line_and_the_log_has_the_traceback(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "job.log"

    def job() -> None:
        with logged([str(log)]):
            print("begun")
            raise OutputError("a.json: cannot be written")

    with pytest.raises(SystemExit) as ended:
        job()
    assert ended.value.code == 1
    assert capsys.readouterr().err == f"OutputError: a.json: cannot be written\nIts log: {log}\n"
    assert log.read_text().startswith("begun\nTraceback")


def test_jobs_of_a_run_say_the_same_once(capfd: pytest.CaptureFixture[str]) -> None:
    """A warning and an error, each with its text as key; every log has both; the next run says them again."""
    SAID.parent.mkdir()
    for run in range(2):
        SAID.write_text("")  # as workflow/rules/guard.smk does
        for job in ("a", "b"):
            with pytest.raises(SystemExit):
                warn_and_fail(f"{job}.log", f"{'first' if job == 'a' else 'then'} {run}")
        with pytest.raises(SystemExit), logged(["c.log"]):
            raise InputError(f"class 'x' has one sample; then {run}")
        errors = [
            f"InputError: class 'x' has one sample; {when} {run}" for when in ("first", "then")
        ]
        assert capfd.readouterr().err.splitlines() == [
            *("3 of 5000 are copies", errors[0], "Its log: a.log", errors[1], "Its log: b.log")
        ]
        assert {"a.log", "b.log", "c.log"} <= set(SAID.read_text().splitlines())
    assert all("copies" in Path(f"{job}.log").read_text() for job in ("a", "b"))
    assert "Traceback" in Path("c.log").read_text()


def warn_and_fail(log: str, when: str) -> None:
    with logged([log]):
        logging.getLogger("sparcl.features").warning("3 of 5000 are copies")
        raise InputError(f"class 'x' has one sample; {when}")


def test_a_script_runs_where_snakemake_starts_it_and_seals_its_outputs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As ``sha256sum --check`` reads them; a job that fails seals nothing."""
    output, log = tmp_path / "runs.csv", tmp_path / "toy.log"
    told = SimpleNamespace(log=[str(log)], output=[str(output)])
    monkeypatch.setattr(sys.modules["__main__"], "snakemake", told, raising=False)

    def main(snakemake: Any) -> None:
        if output.exists():
            raise InputError("nothing")
        output.write_text("method,A_last\n")

    assert script(sealed=True)(main) is main and not output.exists()
    main.__module__ = "__main__"
    script()(main)
    assert output.exists() and not log.with_suffix(".sha256").exists()
    with pytest.raises(SystemExit):
        script(sealed=True)(main)
    assert not log.with_suffix(".sha256").exists()
    output.unlink()
    script(sealed=True)(main)
    digest = hashlib.sha256(b"method,A_last\n").hexdigest()
    assert log.with_suffix(".sha256").read_text() == f"{digest}  {output}\n"


def test_a_log_that_cannot_be_written_is_named_and_the_job_does_not_begin(tmp_path: Path) -> None:
    log, begun = tmp_path / "job.log", []
    with failing(tmp_path, 1), logged([str(log)]):
        begun.append(True)
    log.unlink()
    with failing(tmp_path, 0), pytest.raises(SystemExit) as ended, logged([str(log)]):
        begun.append(False)
    assert begun == [True] and not log.exists()  # the first one had its log
    assert str(ended.value.code).startswith(f"OutputError: {log}: cannot be written")


def test_no_name_steers_the_terminal(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    def job() -> None:
        with logged([str(tmp_path / "log")]):
            logging.getLogger("sparcl").warning("%s: odd", "\x1b[2J\nInputError: no\r")
            raise OutputError("\x1b]0;x\x07.json:\nInputError: no")

    with pytest.raises(SystemExit):
        job()
    said = r"\x1b[2J\nInputError: no\r: odd" + "\n" + r"OutputError: \x1b]0;x\x07.json:"
    assert capfd.readouterr().err == f"{said}\n  InputError: no\nIts log: {tmp_path / 'log'}\n"


def test_warnings_of_this_project_reach_the_terminal(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Those of other packages, and what is only told, stay in the log; handlers are left as they were."""
    loggers = [logging.getLogger(name) for name in ("", "sparcl", "study")]
    before = [(logger.level, logger.handlers[:]) for logger in loggers]
    with logged([str(tmp_path / "log")]):
        logging.getLogger("sparcl.extraction").warning("an empty folder")
        logging.getLogger("sparcl.extraction").info("going on")
        logging.getLogger("timm").warning("deprecated")
    assert [(logger.level, logger.handlers[:]) for logger in loggers] == before
    assert capfd.readouterr().err == "an empty folder\n"
    said = ["WARNING:sparcl.extraction:an empty folder", "INFO:sparcl.extraction:going on"]
    assert (tmp_path / "log").read_text().splitlines() == [*said, "WARNING:timm:deprecated"]
