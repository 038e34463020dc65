"""Files are written whole or not at all, and a damaged one says what to do."""

from pathlib import Path

import pytest

from sparcl.base.errors import InputError
from sparcl.base.files import read_json, replacing, write_json


def test_json_comes_back_and_equal_content_gives_equal_bytes(tmp_path: Path) -> None:
    write_json(tmp_path / "a.json", {"b": [1, None], "a": 0.1})
    write_json(tmp_path / "b.json", {"a": 0.1, "b": [1, None]})
    assert read_json(tmp_path / "a.json") == {"a": 0.1, "b": [1, None]}
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path: Path) -> None:
    path = tmp_path / "kept.txt"
    path.write_text("old")

    def interrupted() -> None:
        with replacing(path) as temporary:
            temporary.write_text("half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        interrupted()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_processes_of_two_machines_may_have_the_same_id(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.getpid", lambda: 7)
    path = tmp_path / "shared.txt"
    with replacing(path) as one:
        one.write_text("one")
        with replacing(path) as other:
            other.write_text("other")
        assert path.read_text() == "other" and one.read_text() == "one"
    assert path.read_text() == "one"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("content", [b"", b'{"a": 1', b"\xff\xfe"])
def test_a_damaged_file_is_named_with_the_remedy(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "record.json"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"record\.json.*Delete"):
        read_json(path)
