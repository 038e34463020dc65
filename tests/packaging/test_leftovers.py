"""What a killed process leaves under a temporary name: git does not see it, and `make clean` removes it."""

import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from copies import ROOT, git

from sparcl.base.files import replacing

FOLDERS = ("data/features/cub-50", "paper/toy/tables", "timings", "results/runs", "docs", ".")


def temporary(path: Path) -> Path:
    """Return the temporary name that a file of this path is written under."""
    with pytest.raises(ZeroDivisionError), replacing(path) as name:
        raise ZeroDivisionError
    return name


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a repository with the project's own list of what git does not see."""
    for name in (".gitignore", "Makefile", "params.yaml"):
        shutil.copy(ROOT / name, tmp_path)
    git(tmp_path, "init", "--quiet")
    return tmp_path


def test_git_does_not_see_them(project: Path) -> None:
    for folder in FOLDERS:
        (project / folder).mkdir(parents=True, exist_ok=True)
        temporary(project / folder / "a.json").write_text("half")
    seen = git(project, "status", "--porcelain", "--untracked-files=all").split()
    assert sorted(seen[1::2]) == [".gitignore", "Makefile", "params.yaml"]


def test_make_clean_removes_them_and_nothing_else(project: Path) -> None:
    kept = [project / folder / "a.json" for folder in ("data/features/x", "paper/toy", "timings")]
    others = (".backup.2024-11", ".old.1-deadbee", ".notes.v1-0123abcd", ".a.json.2024")
    left = []
    for path in [*kept]:
        path.parent.mkdir(parents=True)
        path.write_text("whole")
        left.append(temporary(path))
        left[-1].write_text("half")
        left.append(Path(tempfile.mkdtemp(prefix=".net.7-", dir=path.parent)))  # as of an import
        (left[-1] / "train.h5").write_text("half")
        for name in others:
            path.with_name(name).mkdir()
            kept.append(path.with_name(name) / "years of work")
            kept[-1].write_text("whole")
    subprocess.run(["make", "clean"], cwd=project, check=True, capture_output=True)
    assert all(path.exists() for path in kept) and not any(path.exists() for path in left)
