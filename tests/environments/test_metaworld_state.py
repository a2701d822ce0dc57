"""The bytes of a Meta-World state; needs no simulator."""

import numpy as np
import pytest

from clew.core import Refused
from clew.environments.metaworld.state import LIVE, Live, decode, encode

VALUES = {
    "none": None,
    "flag": True,
    "count": 7,
    "size": -0.0,
    "name": "é√中",
    "array": np.array([[1.5, -0.0], [np.nan, np.inf]]),
    "small": np.float32(0.1),
    "nested": {"list": [1, np.arange(3)], "tuple": (0.5, "x"), "empty": np.zeros((0, 3))},
    "view": LIVE,
}


def test_what_is_decoded_is_what_was_encoded_bit_for_bit():
    back = decode(encode(VALUES))
    assert list(back) == sorted(VALUES)
    assert np.signbit(back["size"])
    assert back["array"].tobytes() == VALUES["array"].tobytes()
    assert back["array"].shape == (2, 2)
    assert type(back["small"]) is np.float32
    assert back["small"] == np.float32(0.1)
    assert back["nested"]["list"][1].tolist() == [0, 1, 2]
    assert back["nested"]["tuple"] == (0.5, "x")
    assert back["nested"]["empty"].shape == (0, 3)
    assert isinstance(back["view"], Live)
    assert (back["none"], back["flag"], back["count"], back["name"]) == (None, True, 7, "é√中")


def test_equal_values_give_equal_bytes_in_any_order():
    turned = dict(reversed(VALUES.items()))
    assert encode(turned) == encode(VALUES)
    assert encode(decode(encode(VALUES))) == encode(VALUES)


def test_a_changed_bit_of_an_array_changes_the_bytes():
    other = VALUES["array"].copy()
    other[0, 1] = 0.0
    assert encode({**VALUES, "array": other}) != encode(VALUES)


def test_decoded_arrays_can_be_written_and_share_nothing():
    data = encode(VALUES)
    decode(data)["array"][0, 0] = 9.0
    assert decode(data)["array"][0, 0] == 1.5


@pytest.mark.parametrize("value", [object(), {1, 2}, np.array([object()]), b"x"])
def test_what_cannot_be_saved_is_an_error_and_never_left_out(value):
    with pytest.raises(TypeError, match="cannot be saved"):
        encode({"hidden": value})


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x80\x04N.",
        encode(VALUES)[:-1],
        encode(VALUES) + b"x",
        encode(VALUES).replace(b'"array"', b'"Array"'),
        encode(VALUES).replace(b"<f8", b"|O8"),
    ],
)
def test_damaged_bytes_are_refused(data):
    with pytest.raises(Refused, match="Meta-World state"):
        decode(data)
