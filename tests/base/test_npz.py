"""An npz file is read only where every member is the array that its header says."""

import io
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from sparcl.base.errors import InputError
from sparcl.base.npz import read_npz

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


def test_what_numpy_saves_comes_back(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", **ARRAYS)
    found = read_npz(tmp_path / "a.npz")
    assert found.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert found[name].dtype == array.dtype and found[name].flags.writeable
        assert found[name].flags.f_contiguous == array.flags.f_contiguous
        np.testing.assert_array_equal(found[name], array)
    assert read_npz(tmp_path / "a.npz", only=("ids",)).keys() == {"ids"}


@pytest.mark.parametrize(
    "member",
    [
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
        b"",
        b"\x80\x04.",
    ],
    ids=range(14),
)
def test_members_that_claim_something_else_are_refused(tmp_path: Path, member: bytes) -> None:
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("a.npy", member)
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match=r"a\.npz: not an npz file of this project"):
            read_npz(tmp_path / "a.npz")
        assert tracemalloc.get_traced_memory()[1] < 5e6
    finally:
        tracemalloc.stop()


def compressed(path: Path) -> None:
    np.savez_compressed(path, a=np.zeros(3_000_000, dtype=np.uint8))


def compressed_in_vain(path: Path) -> None:
    """No member claims more than the file has: noise does not shrink."""
    noise = np.random.default_rng(0).integers(0, 256, 4096, dtype=np.uint8)
    np.savez_compressed(path, a=noise)


def twice(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.npy", saved(np.zeros(1)))
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("a.npy", saved(np.ones(1)))


def bare(path: Path) -> None:
    path.write_bytes(saved(np.zeros(1)))


def flipped(path: Path) -> None:
    np.savez(path, a=np.zeros(100))
    content = bytearray(path.read_bytes())
    content[400] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize(
    "make",
    [compressed, compressed_in_vain, twice, bare, flipped, Path.mkdir, lambda path: None],
)
def test_files_of_another_kind_are_refused(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / "a.npz")
    with pytest.raises(InputError, match=r"a\.npz"):
        read_npz(tmp_path / "a.npz")
