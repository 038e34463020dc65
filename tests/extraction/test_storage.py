"""Where files come from: a local folder or archive first, then a download that is checked and resumed."""

import gzip
import hashlib
import io
import os
import random
import re
import shutil
import tarfile
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from unittest import mock

import miniatures
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparcl.base.errors import DatasetError
from sparcl.extraction.storage.folder import FolderStorage
from study.images import archive, datasets, download
from study.images.archive import TarStorage
from study.images.locate import open_storage
from study.pipeline.adapter import logged

HOST = "127.0.0.1"
MEMBERS = miniatures.imagenet_r(["n01443537", "n01484850"], 5)


class Server(ThreadingHTTPServer):
    """Serves one file, with Range or without, and keeps what was asked."""

    def __init__(self, content: bytes) -> None:
        self.content, self.ranges, self.cut, self.status, self.resumable = content, [], 0, 200, True
        self.encodings, self.encoding, self.endless, self.shift = [], "", False, 0
        self.elsewhere, self.reason = "", None
        super().__init__((HOST, 0), Handler)

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.server_port}/imagenet-r.tar"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        server, wanted = self.server, self.headers.get("Range")
        server.ranges.append(wanted)
        server.encodings.append(self.headers.get("Accept-Encoding"))
        if server.elsewhere:
            self.send_response(302)
            self.send_header("Location", server.elsewhere)
            self.end_headers()
            return
        start = int(wanted[6:-1]) if wanted and server.resumable else 0
        if server.status != 200 or start >= len(server.content):
            self.send_error(416 if server.status == 200 else server.status, server.reason)
            return
        self.send_response(206 if start else 200)
        last = len(server.content) - 1
        if start:
            self.send_header("Content-Range", f"bytes {start + server.shift}-{last}/{last + 1}")
        if not server.endless:
            self.send_header("Content-Length", str(last + 1 - start))
        if server.encoding:
            self.send_header("Content-Encoding", server.encoding)
        self.end_headers()
        with suppress(ConnectionError):
            for _ in range(10_000 if server.endless else 0):
                self.wfile.write(bytes(100_000))
        self.wfile.write(server.content[start : server.cut or None])
        self.close_connection = True

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server(tmp_path, monkeypatch):
    """A server with an archive; caches and data lie in the test's folder."""
    monkeypatch.setenv("SPARCL_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("SPARCL_DATA", raising=False)
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("no_proxy", HOST)
    miniatures.pack(tmp_path / "source.tar", "imagenet-r", MEMBERS)
    server = Server((tmp_path / "source.tar").read_bytes())
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def block(server):
    return {
        "reader": "classes",
        "folder": "imagenet-r",
        "archive": "imagenet-r.tar",
        "url": server.url,
        "md5": hashlib.md5(server.content).hexdigest(),
        "split": "draw",
    }


def test_download_once(server, block, tmp_path):
    train = datasets.open_split("mini", block, "train")
    test = datasets.open_split("mini", block, "test")
    assert len(train.ids) == 8 and len(test.ids) == 2 and train.image(0).size == (40, 30)
    assert server.ranges == [None]
    assert [p.name for p in (tmp_path / "cache" / "data").iterdir()] == ["imagenet-r.tar"]


def test_local_files_come_first(server, block, tmp_path, monkeypatch):
    (tmp_path / "local").mkdir()
    local = tmp_path / "local" / "imagenet-r.tar"
    local.write_bytes(server.content)
    assert isinstance(open_storage("mini", block, str(tmp_path / "local")), TarStorage)
    miniatures.unpack(tmp_path / "local" / "imagenet-r", MEMBERS)
    monkeypatch.setenv("SPARCL_DATA", str(tmp_path / "local"))
    assert isinstance(open_storage("mini", block), FolderStorage)
    other = block | {"root": str(tmp_path / "empty")}
    assert isinstance(open_storage("mini", other, str(tmp_path / "local")), TarStorage)
    assert server.ranges == [None], "only the last one, whose own root is empty, was downloaded"


def test_a_link_that_breaks_again_and_again_gets_there(server, block, tmp_path, monkeypatch):
    """Each time far less comes than a block of the download holds."""
    whole = tmp_path / "cache" / "data" / "imagenet-r.tar"
    part, size = whole.with_name("imagenet-r.tar.part"), len(server.content)
    assert download.BLOCK > 10_000 < size
    breaks = range(10_000, size, 10_000)
    for server.cut in breaks:
        said = rf"could not download.*The {server.cut} bytes .*resumes from there"
        with pytest.raises(DatasetError, match=said):
            open_storage("mini", block)
        assert part.stat().st_size == server.cut
    server.cut = 0
    monkeypatch.setattr(download, "BLOCK", 1000)  # what is left comes in several
    open_storage("mini", block)
    assert server.ranges == [None, *(f"bytes={reached}-" for reached in breaks)]
    assert whole.read_bytes() == server.content and not part.exists()


def test_what_came_before_and_a_server_that_cannot_resume(server, block, tmp_path):
    whole = tmp_path / "cache" / "data" / "imagenet-r.tar"
    part = whole.with_name("imagenet-r.tar.part")
    part.parent.mkdir(parents=True)
    part.write_bytes(server.content)
    open_storage("mini", block)
    assert server.ranges == [f"bytes={len(server.content)}-"]
    whole.unlink()
    server.resumable = False
    part.write_bytes(b"other bytes")
    open_storage("mini", block)
    assert whole.read_bytes() == server.content


def test_another_md5_is_never_used(server, block, tmp_path):
    block["md5"] = "0" * 32
    with pytest.raises(
        DatasetError, match=f"gave another file than the one with md5 {'0' * 32}; it was deleted"
    ):
        open_storage("mini", block)
    assert not [p for p in (tmp_path / "cache" / "data").iterdir() if p.is_file()]
    local = tmp_path / "imagenet-r.tar"
    local.write_bytes(server.content)
    with pytest.raises(
        DatasetError, match=r"imagenet-r\.tar has md5 .* incomplete or another version: delete it"
    ):
        open_storage("mini", block, str(tmp_path))


EVERY_WAY = (
    r"Put imagenet-r/ \(a folder\) or imagenet-r\.tar \(an uncompressed tar\).*SPARCL_DATA.*extraction\.image_root"
    r".*datasets\.mini\.root.*download http:.* \(md5 [0-9a-f]{32}\) on a machine with network"
)


def test_without_network_every_way_is_named(server, block, tmp_path):
    server.status = 404
    with pytest.raises(
        DatasetError, match=f"could not download.*404.*Nothing has come.*{EVERY_WAY}"
    ):
        open_storage("mini", block, str(tmp_path))
    server.shutdown()
    server.server_close()
    with pytest.raises(DatasetError, match=f"could not download.*ConnectionError.*{EVERY_WAY}"):
        open_storage("mini", block)


def test_a_reason_phrase_does_not_steer_the_terminal(server, block, tmp_path, capfd):
    server.status, server.reason = 404, "\x1b]0;gone\x07\x1b[2Kno\x9b\r here"
    with pytest.raises(SystemExit), logged([str(tmp_path / "log")]):
        open_storage("mini", block)
    said = capfd.readouterr().err
    assert (
        r"HTTPError: 404 Client Error: \x1b]0;gone\x07\x1b[2Kno\x9b\r here for url: http:" in said
    )
    assert not {*said} & {*"\x1b\x07\x9b\r"}


def test_a_redirect_that_cannot_be_followed_is_no_other_file(server, block, tmp_path):
    (tmp_path / "cache/data").mkdir(parents=True)
    (tmp_path / "cache/data/imagenet-r.tar.part").write_bytes(server.content[:100])
    for elsewhere in ("file:///etc/hostname", "http://[", "ftp://doi.org/a.tar"):
        server.elsewhere = elsewhere
        with pytest.raises(
            DatasetError, match=r"could not download .*The 100 bytes that have"
        ) as found:
            open_storage("mini", block)
        assert "gave another file" not in str(found.value)
    server.elsewhere = ""
    assert open_storage("mini", block).names() == sorted(MEMBERS)


def test_a_full_disk(block, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(download, "_resume", full)
    with pytest.raises(DatasetError, match="No space left on device"):
        open_storage("mini", block)


def test_two_processes_download_once(server, block):
    results = []
    threads = [
        threading.Thread(target=lambda: results.append(open_storage("mini", block)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4 and server.ranges == [None]


@pytest.mark.parametrize("packed", ["imagenet-r.tgz", "imagenet-r.tar.gz"])
def test_compressed_archives_are_unpacked_once_as_a_tar(tmp_path, block, packed):
    md5 = miniatures.pack(tmp_path / packed, "imagenet-r", MEMBERS)
    block |= {"archive": packed, "md5": md5}
    found = open_storage("mini", block, str(tmp_path))
    assert {name: found.read(name) for name in found.names()} == MEMBERS
    unpacked = [p for p in (tmp_path / "cache" / "data").iterdir() if p.is_file()]
    assert len(unpacked) == 1 and re.fullmatch(r"imagenet-r-[0-9a-f]{16}\.tar", unpacked[0].name)
    before = os.stat(unpacked[0]).st_mtime_ns
    open_storage("mini", block, str(tmp_path))
    assert os.stat(unpacked[0]).st_mtime_ns == before
    whole = (tmp_path / packed).read_bytes()
    (tmp_path / packed).write_bytes(whole[: len(whole) // 2])
    del block["md5"], block["url"]
    with pytest.raises(DatasetError, match="cannot be decompressed"):
        open_storage("mini", block, str(tmp_path))


@given(st.integers(0, 40), st.lists(st.tuples(st.booleans(), st.integers(0, 600)), max_size=3))
def test_an_archive_that_unpacks_to_far_more_than_it_is(tmp_path, small, members):
    """At most 64 times its size, or what does no harm; of an archive that is refused, nothing is kept."""
    block = {"reader": "classes", "folder": "set", "archive": "set.TGZ"}
    shutil.rmtree(tmp_path / "cache", ignore_errors=True)
    names, plain = [f"a/{i}.jpg" for i in range(len(members))], io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w") as tar:
        for name, (noise, kilobytes) in zip(names, members, strict=True):
            member = tarfile.TarInfo(f"set/{name}")
            member.size = 1024 * kilobytes
            content = random.Random(0).randbytes(member.size) if noise else bytes(member.size)
            tar.addfile(member, io.BytesIO(content))
    (tmp_path / "set.TGZ").write_bytes(gzip.compress(plain.getvalue(), 1))
    most = max(1024 * small, 64 * (tmp_path / "set.TGZ").stat().st_size)
    arguments = ("mini", block, str(tmp_path), str(tmp_path / "cache"))
    with mock.patch.object(archive, "SMALL", 1024 * small):
        if len(plain.getvalue()) > most:
            with pytest.raises(DatasetError, match=f"more than {most} bytes.*nothing is kept"):
                open_storage(*arguments)
        elif not names:
            with pytest.raises(DatasetError, match="no file below set/"):
                open_storage(*arguments)
        else:
            assert open_storage(*arguments).names() == names
    assert len(list((tmp_path / "cache/data").iterdir())) == (
        bool(names) and len(plain.getvalue()) <= most
    )


def test_of_an_archive_that_is_refused_nothing_is_kept(tmp_path):
    block = {"reader": "classes", "folder": "set", "archive": "set.TGZ"}
    (tmp_path / "set.TGZ").write_bytes(b"<html>not found</html>")
    with pytest.raises(DatasetError, match=r"cannot be decompressed \(Not a gzipped file"):
        open_storage("mini", block, str(tmp_path), str(tmp_path / "cache"))
    for name, said in (("set/../../evil.png", "refused"), ("other/0.jpg", "no file below set/")):
        with tarfile.open(tmp_path / "set.TGZ", "w:gz") as tar:
            tar.addfile(tarfile.TarInfo(name))
        with pytest.raises(DatasetError, match=rf"set\.TGZ, decompressed: .*{said}"):
            open_storage("mini", block, str(tmp_path), str(tmp_path / "cache"))
        assert not list((tmp_path / "cache/data").iterdir())


def test_a_compressed_archive_is_stored_as_it_is_sent(server, block, tmp_path):
    """Servers that call a .tar.gz a tar in the encoding gzip are common."""
    block |= {"archive": "imagenet-r.tgz"}
    block["md5"] = miniatures.pack(tmp_path / "imagenet-r.tgz", "imagenet-r", MEMBERS)
    server.content, server.encoding = (tmp_path / "imagenet-r.tgz").read_bytes(), "gzip"
    assert open_storage("mini", block).names() == sorted(MEMBERS)
    assert server.encodings == ["identity"]


def test_a_stream_without_an_end_is_refused_at_once(server, block, tmp_path):
    server.endless = True
    with pytest.raises(DatasetError, match=r"does not say how large.*Nothing has come"):
        open_storage("mini", block)
    assert not list((tmp_path / "cache" / "data").iterdir())


def test_another_range_is_never_joined_to_the_part(server, block, tmp_path):
    server.cut = 5000
    with pytest.raises(DatasetError, match="The 5000 bytes"):
        open_storage("mini", block)
    server.cut, server.shift = 0, 1
    with pytest.raises(DatasetError, match=r"another range.*The 5000 bytes"):
        open_storage("mini", block)


@pytest.mark.parametrize("time", ["nan", "inf", "-inf"])
def test_an_archive_with_a_time_that_is_no_number(tmp_path, time):
    with tarfile.open(tmp_path / "a.tar", "w", format=tarfile.PAX_FORMAT) as tar:
        member = tarfile.TarInfo("a/1.png")
        member.pax_headers = {"mtime": time}
        tar.addfile(member, io.BytesIO())
    with pytest.raises(DatasetError, match=r"a\.tar"):
        TarStorage(tmp_path / "a.tar", "a")
