"""An npz file is read only where every member is the array that its header says."""

import hashlib
import io
import json
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sparcl.base.errors import InputError
from sparcl.base.npz import SEAL, read_npz, write_npz

ARRAYS = {
    "matrix": np.asfortranarray(np.arange(12.0).reshape(3, 4)),
    "counts": np.arange(3),
    "ids": np.array([b"a", b"bc"]),
    "card": np.array("text"),
    "empty": np.zeros((0, 5), dtype=np.float32),
}


def header(text: str, version: bytes = b"\x01\x00") -> bytes:
    body = text.encode() + b"\n"
    return b"\x93NUMPY" + version + len(body).to_bytes(2, "little") + body


def claim(shape: str, descr: str = "'<f8'") -> bytes:
    return header(f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}") + bytes(8)


def saved(array: object) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=True)
    return stream.getvalue()


def forge(path: Path, *members: bytes, compression: int = zipfile.ZIP_STORED) -> None:
    """Write members, all of one name, as they are, behind a seal that fits."""
    seal = json.dumps({"a": hashlib.sha256(members[-1]).hexdigest()})
    with zipfile.ZipFile(path, "w") as archive:
        for member in members:
            archive.writestr("a.npy", member, compress_type=compression)
        archive.writestr(f"{SEAL}.npy", saved(np.array(seal)))


def test_what_is_written_comes_back(tmp_path: Path) -> None:
    write_npz(tmp_path / "a.npz", ARRAYS)
    found = read_npz(tmp_path / "a.npz")
    assert found.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert found[name].dtype == array.dtype and found[name].flags.writeable
        assert found[name].flags.f_contiguous == array.flags.f_contiguous
        np.testing.assert_array_equal(found[name], array)
    assert read_npz(tmp_path / "a.npz", only=("ids",)).keys() == {"ids"}
    with np.load(tmp_path / "a.npz", allow_pickle=False) as file:
        assert sorted(file) == sorted([*ARRAYS, SEAL])
        np.testing.assert_array_equal(file["matrix"], ARRAYS["matrix"])


def test_equal_content_gives_equal_bytes(tmp_path: Path) -> None:
    write_npz(tmp_path / "a.npz", ARRAYS)
    write_npz(tmp_path / "b.npz", {name: np.array(array) for name, array in ARRAYS.items()})
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


def test_reading_takes_the_memory_of_the_arrays_once(tmp_path: Path) -> None:
    write_npz(tmp_path / "a.npz", {"a": np.zeros(2_000_000)})
    tracemalloc.start()
    try:
        read_npz(tmp_path / "a.npz")
        assert tracemalloc.get_traced_memory()[1] < 20e6
    finally:
        tracemalloc.stop()


def test_what_was_changed_and_packed_again_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    changes: list[dict[str, Any]] = [
        {"matrix": np.asfortranarray(np.eye(3, 4))},
        {"matrix": np.arange(12.0).reshape(3, 4)},  # in the other memory layout
        {"counts": np.arange(3, dtype=np.int32)},
        {"card": np.array("texT")},
        {"more": np.zeros(1)},
        {"empty": None},
    ]
    for change in changes:
        write_npz(path, ARRAYS)
        with np.load(path) as file:
            packed = {**file, **change}
        np.savez(path, **{name: array for name, array in packed.items() if array is not None})
        for only in (None, ("ids",), ("matrix", "counts", "card")):
            if only == ("ids",) and change.keys() <= {"matrix", "counts", "card"}:
                assert read_npz(path, only).keys() == {"ids"}  # which is as it was
                continue
            with pytest.raises(
                InputError, match=r"a\.npz: not as this project wrote it: .*by hand"
            ):
                read_npz(path, only)


def test_a_seal_that_is_missing_or_none_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    with pytest.raises(InputError, match=r"a\.npz: no such file"):
        read_npz(path)
    np.savez(path, **ARRAYS)
    with pytest.raises(InputError, match=r"a\.npz: has no seal\. .*again with the command"):
        read_npz(path)
    for seal in ("", "[]", "{}", "[" * 100_000, '{"a": 1}', '{"a": null, "b": 2}'):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("a.npy", saved(np.zeros(3)))
            archive.writestr(f"{SEAL}.npy", saved(np.array(seal)))
        with pytest.raises(InputError, match=r"a\.npz: not a"):
            read_npz(path)


def test_a_size_that_the_directory_claims_is_not_reserved(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    write_npz(path, {"a": np.zeros(3)})
    content = path.read_bytes()
    size = (128 + 24).to_bytes(4, "little")
    where = content.index(b"PK\x01\x02") + 24  # of the first member's size in the directory
    assert content[where : where + 4] == size
    path.write_bytes(content[:where] + b"\xf0\xff\xff\xf0" + content[where + 4 :])
    refused_without_memory(path)


def test_members_that_claim_something_else_are_refused(tmp_path: Path) -> None:
    for member in (
        claim("(1000000000000,)"),
        claim("(2,)"),
        claim("(-1,)"),
        claim("(0,)"),
        claim("(" * 9000),
        claim("(1,"),
        claim("(1,)", descr="'<f99'"),
        claim("(1,)", descr="'O'"),
        claim("(1,)", descr="[('a', '<f8')]"),
        header("{'descr': '<f8', "),
        b"\x93NUMPY\x09\x00" + bytes(80),
        saved(np.array([{}], dtype=object)),
        claim("(2,)", descr="'<U1'")[:-8] + b"\xff" * 8,
        b"",
        b"\x80\x04.",
    ):
        forge(tmp_path / "a.npz", member)
        refused_without_memory(tmp_path / "a.npz")


def refused_without_memory(path: Path) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match=r"a\.npz: not an npz file of this project"):
            read_npz(path)
        assert tracemalloc.get_traced_memory()[1] < 5e6
    finally:
        tracemalloc.stop()


def test_files_of_another_kind_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"

    def refused() -> None:
        with pytest.raises(InputError, match=r"a\.npz: not an npz file of this project"):
            read_npz(path)

    write_npz(path, ARRAYS | {"zeros": np.zeros(100)})
    whole = path.read_bytes()
    flipped = bytearray(whole)
    flipped[whole.index(bytes(100)) + 50] ^= 1
    for content in (b"", saved(np.zeros(1)), whole[:-500], flipped):
        path.write_bytes(content)
        refused()
    # compressed: in vain too, where no member claims more than the file has, since noise does not shrink
    noise = np.random.default_rng(0).integers(0, 256, 4096, dtype=np.uint8)
    for array in (np.zeros(3_000_000, dtype=np.uint8), noise):
        forge(path, saved(array), compression=zipfile.ZIP_DEFLATED)
        refused()
    with pytest.warns(UserWarning, match="Duplicate"):
        forge(path, saved(np.zeros(1)), saved(np.ones(1)))
    refused()
    path.unlink()
    path.mkdir()
    refused()
