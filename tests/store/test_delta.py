"""A difference gives back exactly the value it was made of, and refuses another base."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.store.delta import BLOCK_BYTES, decode, encode


@given(st.integers(0, 5 * BLOCK_BYTES), st.integers(0, 2**32 - 1), st.data())
def test_a_difference_gives_back_the_value(length, seed, data):
    base = np.random.default_rng(seed).integers(0, 256, length, np.uint8)
    plain = base.copy()
    if length:
        for at in data.draw(st.lists(st.integers(0, length - 1), max_size=4)):
            plain[at] ^= 1
    delta = encode(base.tobytes(), plain.tobytes())
    assert decode(base.tobytes(), delta) == plain.tobytes()


def test_equal_values_differ_in_nothing():
    base = b"x" * 10_000
    assert encode(base, base) == bytes(5)


def test_a_small_change_is_a_small_difference():
    base = bytes(1920 * 1080 * 3)
    plain = bytearray(base)
    plain[3_000_000] = 1
    delta = encode(base, bytes(plain))
    assert len(delta) == -(-len(base) // BLOCK_BYTES // 8) + BLOCK_BYTES


@pytest.mark.parametrize("wrong", [b"", b"\x01", b"\xff" * 100])
def test_a_difference_of_another_base_is_refused(wrong):
    with pytest.raises(ValueError, match="difference"):
        decode(bytes(1000), wrong)
