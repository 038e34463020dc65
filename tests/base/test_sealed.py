"""Files in results/ are what was written, and where it was written."""

import json
import shutil
from pathlib import Path

import pytest

from sparcl.base.errors import InputError
from study.sealed import ORDER, read_sealed, write_sealed

CONTENT = {"suite": "toy", "dataset": "mine", "order": 7, "sessions": [[1, 0], [2]], "at": (1.5,)}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "toy/mine/7.json"
    write_sealed(path, CONTENT)
    return path


def test_what_was_written_is_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_sealed(path, ORDER) == CONTENT | {"at": [1.5]}
    monkeypatch.chdir(path.parents[2])
    assert read_sealed("toy/mine/7.json", ORDER)["order"] == 7


def test_a_change_is_seen(path: Path) -> None:
    whole = json.loads(path.read_text())
    changes = [{"sessions": [[2], [1, 0]]}, {"extra": 1}, {"at": [float("nan")]}]
    contents = [whole | change for change in (*changes, {"seal": "0" * 64}, {"seal": None})]
    without = {key: value for key, value in whole.items() if key != "at"}
    for content in (*contents, without, [], 3, None):
        path.write_text(json.dumps(content))
        with pytest.raises(InputError, match=r"7\.json: .* does not fit its seal.*Delete the file"):
            read_sealed(path, ORDER)


@pytest.mark.parametrize(
    "name", ["toy/mine/8.json", "toy/other/7.json", "old/mine/7.json", "e/17.json"]
)
def test_a_copy_elsewhere_is_seen(path: Path, name: str) -> None:
    copy = path.parents[2] / name
    copy.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(path, copy)
    with pytest.raises(InputError, match=r"belongs to \.\.\./toy/mine/7\.json.*copied or renamed"):
        read_sealed(copy, ORDER)


def test_another_kind(path: Path) -> None:
    write_sealed(path, {"names": CONTENT})
    with pytest.raises(InputError, match="another kind of file"):
        read_sealed(path, ORDER)
