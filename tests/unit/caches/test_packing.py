"""What is read of a vector is what was kept of it, to the last bit, or nothing."""

import math
import struct
import sys
import zlib

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from langchain_rag.caches.packing import pack, unpack

finite = st.floats(allow_nan=False, allow_infinity=False)
single = st.floats(allow_nan=False, allow_infinity=False, width=32)
HEAD = 10


def bits(vector):
    return [number.hex() for number in vector]


@given(st.lists(finite, min_size=1), st.binary())
@example([-0.0, 0.0, 5e-324, -2.2250738585072014e-308, 1.7976931348623157e308], b"")
@example([1e-46], b"")  # 0 as float32
@example([3.5e38], b"")  # infinite as float32
def test_any_floats_come_back_the_same(vector, seal):
    found = unpack(pack(vector, seal), seal)
    assert bits(found) == bits(vector)
    assert {type(number) for number in found} == {float}


@given(st.lists(single, min_size=1))
@example([-0.0, 1.401298464324817e-45, -3.4028234663852886e38])
def test_float32_takes_half_the_room(vector):
    packed = pack(vector, b"")
    assert len(packed) == HEAD + 4 * len(vector)
    assert bits(unpack(packed, b"")) == bits(vector)


def test_one_number_that_needs_it_makes_all_float64():
    assert len(pack([0.5, 0.1], b"")) == HEAD + 16


@given(st.lists(finite, min_size=1, max_size=5), st.data())
def test_any_changed_byte_is_noticed(vector, data):
    packed = bytearray(pack(vector, b"seal"))
    place = data.draw(st.integers(0, len(packed) - 1))
    packed[place] ^= data.draw(st.integers(1, 255))
    with pytest.raises(ValueError, match="it "):
        unpack(bytes(packed), b"seal")


@given(st.binary(max_size=200))
def test_no_bytes_of_others_are_a_vector(stored):
    with pytest.raises(ValueError, match="it "):
        unpack(stored, b"seal")


@pytest.mark.parametrize("stored", ["text", 7, None, [1.0], bytearray(18)])
def test_what_is_no_bytes(stored):
    with pytest.raises(ValueError, match="it is a "):
        unpack(stored, b"")


def test_large_numbers_whose_sum_is_infinite():
    assert unpack(pack([1.7e308, 1.7e308], b""), b"") == [1.7e308, 1.7e308]


def test_another_seal():
    with pytest.raises(ValueError, match="was changed"):
        unpack(pack([1.0], b"one"), b"another")


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_a_number_that_is_none_is_read_as_nothing(number):
    """Whoever wrote it: the checksum is right."""
    for code, width in (("f", 4), ("d", 8)):
        data = struct.pack(f"<2{code}", 1.0, number)
        stored = struct.pack("<BBII", 1, width, 2, zlib.crc32(data)) + data
        with pytest.raises(ValueError, match="numbers that are none"):
            unpack(stored, b"")


def test_a_vector_of_nothing_is_read_as_nothing():
    with pytest.raises(ValueError, match="cut off"):
        unpack(struct.pack("<BBII", 1, 4, 0, 0), b"")


def test_the_form_is_the_same_on_every_machine():
    data = bytes.fromhex("0000803f000000c0")
    head = struct.pack("<BBII", 1, 4, 2, zlib.crc32(b"seal" + data))
    assert pack([1.0, -2.0], b"seal") == head + data


@pytest.mark.skipif(sys.byteorder == "big", reason="which the others are about")
def test_machines_that_begin_with_the_big_end(monkeypatch):
    # numpy writes little ends everywhere; reading turns them round.
    stored = pack([1.0, -2.0], b"")
    monkeypatch.setattr(sys, "byteorder", "big")
    turned = unpack(stored, b"")
    assert turned == list(struct.unpack(">2f", struct.pack("<2f", 1.0, -2.0)))
