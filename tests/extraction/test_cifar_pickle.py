"""Pickles of CIFAR-100 do nothing but hold lists, bytes, numbers and pixels."""

import pickle

import miniatures
import numpy as np
import pytest

from study.images.readers.cifar import load_pickle

KIND = b"cnumpy\nndarray\n"
ARRAY = b"cnumpy.core.multiarray\n_reconstruct\n(" + KIND + b"K\x00\x85U\x01btR"
U1 = b"cnumpy\ndtype\n(U\x02u1K\x00K\x01tR"
OBJECT = b"cnumpy\ndtype\n(U\x02O8K\x00K\x01tR"


def held(value: bytes) -> bytes:
    """A pickle of {b"a": value}."""
    return b"\x80\x02}U\x01a" + value + b"s."


def state(rows: bytes, dtype: bytes, data: bytes) -> bytes:
    return b"(K\x01" + rows + b"K\x04\x86" + dtype + b"\x89" + data + b"tb"


@pytest.mark.parametrize("order", ["C", "F"])
def test_pixels_come_back(order):
    pixels = np.asarray(np.arange(12, dtype=np.uint8).reshape(3, 4), order=order)
    found = load_pickle(miniatures.python2_pickle({b"data": pixels, b"names": [b"x"], b"n": 3}))
    np.testing.assert_array_equal(found[b"data"], pixels)
    assert found[b"names"] == [b"x"] and found[b"n"] == 3


def test_anything_else_is_refused():
    for content in (
        held(KIND + b"K\x04\x85\x85R"),  # ndarray((4,)): memory that nobody has written
        held(KIND + b"K\x04\x85U\x01O\x86R"),  # the same as pointers
        held(ARRAY),  # an array that is never filled
        held(ARRAY + b"K\x01b"),
        held(ARRAY + state(b"J\xff\xff\xff\x7f", U1, b"U\x0412341234"[:6])),
        held(ARRAY + state(b"K\x01", OBJECT, b"U\x041234")),
        held(ARRAY + state(b"K\x01", b"N", b"U\x041234")),
        held(ARRAY + state(b"K\x01", U1, b"]")),
        held(U1 + b"K\x01\x85R"),  # a dtype that is called
        held(b"K\x01r\xff\xff\xff\x7f"),  # a note with a number that takes 34 GB to keep
        held(b"\x8a\x01"),
        b"\x80\x02]K\x01a.",
        b"\x80\x02.",
        b"",
        b"cos\nsystem\n(U\x04truetR.",
        b"cbuiltins\nset\n)R.",
    ):
        with pytest.raises(pickle.UnpicklingError):
            load_pickle(content)
    with pytest.raises(pickle.UnpicklingError, match=r"note 2147483647 in a pickle of 15 bytes"):
        load_pickle(held(b"K\x01r\xff\xff\xff\x7f"))


def test_what_a_pickle_asks_for_is_not_even_looked_up():
    """An error comes in any case, since such a pickle holds no dictionary: it must come before the call."""
    for module, name in (("os", "system"), ("builtins", "set"), ("numpy", "zeros")):
        content = f"c{module}\n{name}\n)R.".encode()
        with pytest.raises(pickle.UnpicklingError, match=f"asks for {module}.{name}; refused"):
            load_pickle(content)
