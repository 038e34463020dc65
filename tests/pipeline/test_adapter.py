"""What a script says reaches its log, and what a person should see reaches the terminal too."""

import logging
from pathlib import Path

import pytest

from sparcl.base.errors import DatasetError
from sparcl.pipeline import adapter


def test_warnings_of_this_project_reach_the_terminal(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Those of other packages, and what is only told, stay in the log."""
    for _ in range(2):  # no handler is left behind, which would say it twice
        with adapter.logged([str(tmp_path / "log")]):
            logging.getLogger("sparcl.extraction").warning("an empty folder")
            logging.getLogger("sparcl.extraction").info("going on")
            logging.getLogger("timm").warning("deprecated")
    assert capfd.readouterr().err.splitlines() == ["an empty folder"] * 2
    log = (tmp_path / "log").read_text()
    assert all(text in log for text in ("an empty folder", "going on", "deprecated"))


def test_an_error_to_mend_is_one_sentence_on_the_terminal(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit), adapter.logged([str(tmp_path / "log")]):
        raise DatasetError("no image")
    assert capfd.readouterr().err == "DatasetError: no image\n"
    assert "Traceback" in (tmp_path / "log").read_text()
