"""Paths of interpreters: those that a shell takes as they are pass."""

import subprocess
from pathlib import Path

import pytest

from sparcl.base.errors import ConfigError
from study.pipeline.interpreter import check, check_code


def test_what_bash_takes_for_something_else_is_refused(tmp_path: Path) -> None:
    paths, changed = [f"/x{chr(code)}y" for code in range(1, 127)], []
    each = 'for path; do (eval "printf %s. $path"; wait); printf "\\0"; done'
    command = ["bash", "-c", each, "bash", *paths]
    said = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    for path, shown in zip(paths, said.stdout.split("\0")[:-1], strict=True):
        if shown != f"{path}.":
            changed.append(path)
            with pytest.raises(ConfigError, match="without quotes, but the path contains"):
                check(path)
    assert {"/x y", "/x$y", "/x'y"} <= set(changed)


def test_unusual_names_pass_and_the_character_is_named() -> None:
    for name in ("ü-é", "a=b", "a,b", "a@b+1.0~2", "a#b", "a!b", "a%b"):
        check(f"/{name}/bin/python3.12")
    with pytest.raises(ConfigError, match=r"but the path contains ' ', '\$', '\(', '\)'\."):
        check("/x $(touch P)/bin/python3.12")


def test_code_of_another_folder_is_refused(tmp_path: Path) -> None:
    """A link to the project's folder is this folder."""
    own = tmp_path / "project/sparcl/__init__.py"
    own.parent.mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "project")
    for folder in ("project", "link"):
        check_code(str(own), str(tmp_path / folder))
    for other in ("site-packages/sparcl/__init__.py", "project-2/sparcl/__init__.py"):
        with pytest.raises(ConfigError, match=r"without -e\. .*`pip install -e \.`"):
            check_code(str(tmp_path / other), str(tmp_path / "project"))
