"""The work file: whole chunks survive, anything else is done again."""

import errno
import os
import threading
import time

import pytest
from faults import no_file_above

from sparcl.base import locks
from sparcl.base.errors import OutputError
from sparcl.base.locks import locked
from study.images.work_file import WorkFile

CHUNKS = [b"first", b"second" * 100, b"third"]


@pytest.fixture
def path(tmp_path):
    work = WorkFile(tmp_path / ".train.work", "abc")
    for chunk in CHUNKS:
        work.append(chunk)
    work.close()
    return tmp_path / ".train.work"


def reopened(path, fingerprint="abc"):
    work = WorkFile(path, fingerprint)
    chunks = list(work.chunks)
    work.close()
    return chunks


def test_a_chunk_that_was_being_written_is_cut_off_wherever_it_stopped(path):
    whole = path.read_bytes()
    seen = set()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        chunks = reopened(path)
        assert chunks == CHUNKS[: len(chunks)]
        assert len(chunks) < len(CHUNKS)
        assert path.stat().st_size <= length
        seen.add(len(chunks))
    assert seen == {0, 1, 2}


def test_work_goes_on_after_a_cut(path):
    path.write_bytes(path.read_bytes()[:-2])
    work = WorkFile(path, "abc")
    assert work.chunks == CHUNKS[:2]
    work.append(b"another third")
    work.close()
    assert reopened(path) == [*CHUNKS[:2], b"another third"]


def test_damage_inside_ends_what_is_trusted(path):
    whole = bytearray(path.read_bytes())
    whole[whole.index(b"second") + 7] ^= 1
    path.write_bytes(bytes(whole))
    assert reopened(path) == CHUNKS[:1]


def test_another_fingerprint_starts_anew(path):
    assert reopened(path, "other") == []
    assert reopened(path, "abc") == []


def test_what_another_extraction_writes_in_between_is_never_taken_for_ones_own(path, monkeypatch):
    """Two machines on a file system that keeps no locks: both work on, and a third goes on after a crash."""
    monkeypatch.setattr(locks.fcntl, "flock", lambda *_: None)
    path.unlink()
    for one_is, other_is in (("abc", "abc"), ("abc", "of another library version")):
        one, other = WorkFile(path, one_is), WorkFile(path, other_is)
        # The second truth differs: another machine's features may, in their last bits.
        for number in range(4):
            one.append(b"one %d" % number)
            other.append(b"other %d" % number)
        assert one.chunks == [b"one %d" % number for number in range(4)]
        assert other.chunks == [b"other %d" % number for number in range(4)]
        for fingerprint in (one_is, other_is):
            trusted = reopened(path, fingerprint)
            for writer in ("one", "other"):
                alone = [b"%s %d" % (writer.encode(), number) for number in range(4)]
                if trusted == alone[: len(trusted)]:
                    break
            else:
                pytest.fail(f"mixed: {trusted}")
        one.remove()
        one.close()
        other.remove()
        other.close()
        assert not path.exists()


def test_the_second_of_two_waits_and_then_has_a_file_of_its_own(path, caplog):
    first = WorkFile(path, "abc")
    opened = []
    thread = threading.Thread(target=lambda: opened.append(WorkFile(path, "abc")))
    thread.start()
    deadline = time.monotonic() + 10
    while "waiting" not in caplog.text and time.monotonic() < deadline:
        time.sleep(0.01)
    assert "waiting until it ends" in caplog.text and not opened
    first.remove()
    first.close()
    thread.join(10)
    assert opened[0].chunks == [] and path.exists()
    opened[0].append(b"x")
    opened[0].close()
    assert reopened(path) == [b"x"]


def test_a_file_system_without_locks(path, monkeypatch, caplog):
    for code in locks.NO_LOCKS:

        def refuse(*_, code=code):
            raise OSError(code, os.strerror(code))

        monkeypatch.setattr(locks.fcntl, "flock", refuse)
        assert reopened(path) == CHUNKS
        assert "without locks" in caplog.text and "second process" in caplog.text
        caplog.clear()
        with locked(path.parent / "lock"):
            pass


def test_a_lock_that_fails_otherwise_is_an_error(path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.EIO, "broken")

    monkeypatch.setattr(locks.fcntl, "flock", refuse)
    with pytest.raises(OutputError, match=r"\.train\.work: .*broken.*disk or its connection"):
        WorkFile(path, "abc")


@pytest.mark.parametrize("room", [0, 1, 40, 41, 600])
def test_a_full_disk_keeps_the_chunks_before(path, room):
    """Wherever in a record the disk is full."""
    work = WorkFile(path, "abc")
    with (
        no_file_above(path.stat().st_size + room),
        pytest.raises(OutputError, match=r"\.train\.work: .*File too large.*finished chunks stay"),
    ):
        work.append(b"x" * 1000)
    work.close()
    assert reopened(path) == CHUNKS
