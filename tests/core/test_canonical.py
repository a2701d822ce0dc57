"""Equal values have equal bytes, different values different ones, and bytes read back."""

from __future__ import annotations

import json
import math
from collections import OrderedDict
from enum import Enum, IntEnum
from types import MappingProxyType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from clew.core import Refused, canonical_json, value_digest
from clew.core.canonical import bytes_value, plain, value_bytes

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
scalars = (
    st.none() | st.booleans() | st.integers() | words
    | st.floats(allow_nan=False, allow_infinity=False)
)  # fmt: skip
data = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words, inner, max_size=4),
    max_leaves=10,
)
dtypes = (
    hnp.boolean_dtypes() | hnp.integer_dtypes() | hnp.unsigned_integer_dtypes()
    | hnp.floating_dtypes(sizes=(16, 32, 64)) | hnp.complex_number_dtypes(sizes=(64, 128))
    | hnp.byte_string_dtypes() | hnp.unicode_string_dtypes()
)  # fmt: skip
arrays = hnp.arrays(dtypes, hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4))

#: SHA-256 of values, computed once with version 1 of the format: they are its contract.
GOLDEN = (
    (np.arange(6, dtype="float32").reshape(2, 3),
     "7f2b373ba23a602551f2ba9ef957e4f8f81258f21d7065e7418489a201e8864d"),
    (b"abc", "70db963f5899dfa100322aab8066bf50abf4c896c2a905519ed4cdfe0a061c3b"),
    ("abc", "c777ebd5f3e68b68fc71333d0b98c0b7ef4dc8d94e9dac40036a648b69d8fcde"),
    ({"b": 1, "a": [1.5, None]},
     "201ec15d63b713ec633b1c55520fc67742cb43bb33f65b21993de2a981b341c8"),
)  # fmt: skip


@pytest.mark.parametrize(("value", "expected"), GOLDEN)
def test_golden_content_addresses_are_the_formats_contract(value, expected):
    assert value_digest(value) == expected


def test_the_bytes_are_sorted_json_without_spaces_in_utf8():
    value = {"é": (1, 2.0), "a": np.float32(0.5), "Z": -0.0, "n": None, "t": True}
    expected = '{"Z":0.0,"a":0.5,"n":null,"t":true,"é":[1,2.0]}'
    assert canonical_json(value) == expected.encode()


class Small(IntEnum):
    ONE = 1


class Word(str, Enum):
    A = "a"


_odd = (
    st.floats() | st.text(max_size=3)
    | st.sampled_from([-0.0, -0.05, 1e300, "-0.0", "\ud800", 2**70, True, Small.ONE, Word.A])
    | st.sampled_from([np.float32(-0.0), np.float64(-0.0), np.float64("nan"), np.int8(-1)])
    | st.sampled_from([np.bool_(True), np.str_("s"), b"", np.bytes_(b"b"), {1}, 1j, np.ones(1)])
)  # fmt: skip
_names = words | st.sampled_from([1, 1.5, True, None, "\udfff", Word.A, np.str_("k"), (1,)])
anything = st.recursive(
    scalars | _odd,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(words, inner, max_size=3), st.dictionaries(_names, inner, max_size=3),
        st.dictionaries(words, inner, max_size=3).map(OrderedDict),
        st.dictionaries(words, inner, max_size=3).map(MappingProxyType),
    ),
    max_leaves=8,
)  # fmt: skip


def outcome_of(function, value):
    try:
        return function(value)
    except Refused as error:
        return str(error)


@given(anything)
@settings(max_examples=400)
def test_whatever_is_given_the_bytes_are_those_of_its_plain_form_and_the_same_is_refused(value):
    def reference(value):
        text = json.dumps(plain(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return text.encode()

    assert outcome_of(canonical_json, value) == outcome_of(reference, value)


@pytest.mark.parametrize("leaf", [None, "é", np.int8(1)])
def test_what_is_nested_too_deeply_is_refused(leaf):
    value = [leaf]
    for _ in range(100_000):
        value = [value]
    for function in (canonical_json, plain):
        with pytest.raises(Refused, match="nested too deeply"):
            function(value)
    value = [leaf]
    value.append(value)
    with pytest.raises(Refused, match="nested too deeply"):
        canonical_json(value)


@given(data)
def test_plain_data_reads_back(value):
    assert bytes_value(value_bytes(value)) == plain(value) == json.loads(canonical_json(value))


@given(st.dictionaries(words, data, max_size=5))
def test_the_order_of_keys_does_not_matter(value):
    assert canonical_json(dict(reversed(value.items()))) == canonical_json(value)


@given(arrays)
def test_an_array_reads_back_with_its_type_shape_and_every_bit(array):
    again = bytes_value(value_bytes(array))
    assert (again.dtype.newbyteorder("="), again.shape) == (
        array.dtype.newbyteorder("="),
        array.shape,
    )
    assert value_bytes(again) == value_bytes(array)
    np.testing.assert_array_equal(again, array)


@given(arrays, st.data())
def test_neither_byte_order_nor_memory_layout_changes_the_address(array, data):
    expected = value_digest(array)
    assert value_digest(array.astype(array.dtype.newbyteorder(">"))) == expected
    assert value_digest(np.asfortranarray(array).reshape(array.shape)) == expected
    if array.ndim:
        wide = np.repeat(array, 2, axis=0)
        assert value_digest(wide[::2]) == expected


@given(st.binary())
def test_bytes_read_back(value):
    assert bytes_value(value_bytes(value)) == value
    assert value_bytes(bytearray(value)) == value_bytes(memoryview(value)) == value_bytes(value)


def test_values_that_print_alike_have_different_addresses():
    alike = [
        1, 1.0, "1", b"1", True, [1], np.array(1), np.array([1]), np.array([[1]]),
        np.array([1], np.int32), np.array([1], np.float64), np.array(["1"]), {"1": 1},
    ]  # fmt: skip
    assert len({value_digest(value) for value in alike}) == len(alike)


@pytest.mark.parametrize("array", [np.array([None]), np.array([{}, 1], object),
                                   np.zeros(2, [("a", "i4"), ("b", "O")])])  # fmt: skip
def test_an_array_of_objects_is_refused(array):
    with pytest.raises(Refused, match="an array of Python objects"):
        value_bytes(array)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"a": [1, math.nan]}, r"frame\.a\[1\] is nan"),
        ({"a": np.float32("inf")}, r"frame\.a is inf"),
        ({"a": "\udfff"}, r"frame\.a holds a lone surrogate at position 0"),
        ({"\ud800": 1}, r"frame holds a lone surrogate"),
        ({2: 1}, "frame has the key 2: keys must be text"),
        ([{1, 2}], r"frame\[0\] is a set"),
        ({"a": np.zeros(2)}, r"frame\.a is a ndarray"),
        (object(), "frame is a object"),
    ],
)
def test_what_has_no_canonical_form_is_refused_by_its_place(value, message):
    with pytest.raises(Refused, match=message):
        canonical_json(value, "frame")


@pytest.mark.parametrize(
    "stored",
    [
        b"", b"pickle\n", b"json\n{", b"json\n\xff", b"array\n", b"array <f4\n",
        b"array <f4 2,2\n\x00", b"array |O 1\n" + b"\0" * 8, b"array nonsense 1\n\x00",
        b"array <f4 x\n\x00\x00\x00\x00", b"json\n" + b"[" * 100_000,
    ],
)  # fmt: skip
def test_stored_bytes_that_clew_did_not_write_are_refused(stored):
    with pytest.raises(Refused, match="a stored value"):
        bytes_value(stored)
