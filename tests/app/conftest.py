"""Commands in the folder that a test runs in."""

from pathlib import Path

import pytest
from commands import Refused, main


def snapshot() -> dict[str, object]:
    return {
        str(path): path.readlink() if path.is_symlink() else path.is_file() and path.read_bytes()
        for path in sorted(Path().rglob("*"))
    }


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str]) -> Refused:
    """Run a command that must fail with one message and leave all files as they are; return the message."""

    def run(*arguments: str) -> str:
        before = snapshot()
        capsys.readouterr()
        assert main(arguments) == 2, arguments
        said = capsys.readouterr()
        assert said.out == "" and said.err.count("\n") == 1 and "Traceback" not in said.err
        assert snapshot() == before
        return said.err

    return run
