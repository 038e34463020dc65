"""Files are written whole or not at all, and a damaged one says what to do."""

import errno
import os
import stat
from pathlib import Path

import pytest

from sparcl.base.errors import InputError, OutputError
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


def test_a_damaged_file_is_named_with_the_remedy(tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    for content in (b"", b'{"a": 1', b"\xff\xfe", b"[" * 200_000):
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"record\.json.*Delete"):
            read_json(path)


def test_the_advice_fits_the_reason(tmp_path: Path) -> None:
    def refused(number: int) -> None:
        with replacing(tmp_path / "out"):
            raise OSError(number, os.strerror(number))

    for number, advice in (
        (errno.ENOSPC, "Make room"),
        (errno.EFBIG, "ulimit -f"),
        (errno.EROFS, "writable"),
        (errno.ENOLCK, "no locks"),
        (errno.EIO, "disk or its connection"),
        (errno.ETXTBSY, "system names"),
    ):
        with pytest.raises(OutputError, match=advice) as caught:
            refused(number)
        assert os.strerror(number) in str(caught.value)
        assert ("Make room" in str(caught.value)) == (number == errno.ENOSPC)


def test_what_is_no_file_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "pipe")
    for name in ("folder", "pipe", "link"):
        with pytest.raises(OutputError, match="stays as it is"):
            write_json(tmp_path / name, 1)
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


def test_content_is_on_the_disk_before_its_name_and_the_name_before_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = []
    sync, rename = os.fsync, os.replace

    def fsync(descriptor: int) -> None:
        done.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")
        sync(descriptor)

    def replace(source: Path, target: Path) -> None:
        done.append("name")
        rename(source, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "replace", replace)
    write_json(tmp_path / "a.json", 1)
    assert done == ["file", "name", "folder"]


def test_a_name_that_is_not_confirmed_is_said_to_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fsync(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(OutputError, match="is written, whole"):
        write_json(tmp_path / "a.json", 1)
    assert read_json(tmp_path / "a.json") == 1
