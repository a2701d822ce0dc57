"""Actions are canonical from their construction, and read back from plain data unchanged."""

from __future__ import annotations

import json
import math
import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.core import (
    Action,
    Control,
    Element,
    Keys,
    Pointer,
    Refused,
    Scroll,
    Text,
    Tool,
    Wait,
    action_json,
    action_of,
    canonical,
)

from clew.core.actions import (  # isort: skip
    BUTTONS, DTYPES, ELEMENT_VERBS, KEYS_VERBS, KINDS, MODIFIERS, reveal, secrets_in,
)  # fmt: skip
from clew.core.keys import ALIASES, NAMED, canonical_key

# Lone surrogates (category Cs) have no UTF-8 form: they are refused, see below.
words = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
pixels = st.integers(-(1 << 20), 1 << 20)
points = st.tuples(pixels, pixels)
modifiers = st.lists(st.sampled_from(sorted(MODIFIERS)), max_size=5).map(tuple)
plain_data = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=6,
)  # fmt: skip

INTEGERS = {"uint8": (0, 255), "int8": (-128, 127), "int16": (-(2**15), 2**15 - 1)}


@st.composite
def controls(draw: st.DrawFn) -> Control:
    dtype = draw(st.sampled_from(sorted(DTYPES)))
    bits = np.dtype(dtype).itemsize * 8
    if dtype.startswith("float"):
        limit = {16: 6e4, 32: 3e38, 64: 1e300}[bits]
        number: st.SearchStrategy[Any] = st.floats(-limit, limit)
    else:
        number = st.integers(*INTEGERS.get(dtype, (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)))
    return Control(tuple(draw(st.lists(number, min_size=1, max_size=8))), dtype)


@st.composite
def pointers(draw: st.DrawFn) -> Pointer:
    verb = draw(st.sampled_from(["click", "move", "down", "up", "drag"]))
    size = (2, 5) if verb == "drag" else (1, 1)
    path = tuple(draw(st.lists(points, min_size=size[0], max_size=size[1])))
    button, count = draw(st.sampled_from(sorted(BUTTONS))), draw(st.integers(1, 3))
    return Pointer(verb, path, button, count, draw(modifiers), draw(words))


KIND: dict[str, st.SearchStrategy[Action]] = {
    "control": controls(),
    "pointer": pointers(),
    "keys": st.builds(Keys, st.sampled_from(sorted(KEYS_VERBS)),
                      st.lists(st.sampled_from(sorted(NAMED | set("aB1/é"))), min_size=1,
                               max_size=3).map(tuple), words),
    "text": st.builds(Text, words, words),
    "scroll": st.builds(Scroll, pixels, pixels, pixels, pixels, modifiers, words),
    "wait": st.builds(Wait, st.integers(0, 3_600_000)),
    "element": st.builds(Element, words, words, st.lists(words, max_size=3).map(tuple),
                         st.sampled_from(sorted(ELEMENT_VERBS)), words, words),
    "tool": st.builds(Tool, words,
                      st.dictionaries(words, plain_data, max_size=3).map(json.dumps), words),
}  # fmt: skip
actions = st.one_of(*KIND.values())


def test_every_kind_is_tried():
    assert set(KIND) == set(KINDS)


@given(actions)
def test_an_action_reads_back_equal_with_equal_bytes(action):
    through_json = json.loads(json.dumps(action_json(action)))
    again = action_of(through_json)
    assert again == action
    assert type(again) is type(action)
    assert canonical(again) == canonical(action)


@given(actions, actions)
def test_bytes_are_equal_exactly_when_actions_are(one, other):
    assert (canonical(one) == canonical(other)) == (one == other and type(one) is type(other))


@given(controls())
def test_a_control_holds_what_its_bytes_hold(control):
    """What is hashed is what is executed: reading the packed bytes gives the same numbers."""
    assert np.frombuffer(control.packed(), np.dtype(control.dtype).newbyteorder("<")).tolist() == (
        list(control.values)
    )


@given(st.lists(st.floats(-1e30, 1e30), min_size=1, max_size=8))
def test_rounding_happens_once_and_as_numpy_rounds(values):
    control = Control(tuple(values))
    assert list(control.values) == np.array(values, np.float32).tolist()
    assert Control(control.values) == control
    assert Control(np.array(values, np.float32)) == control
    assert Control(np.array(values)) == control


def test_minus_zero_becomes_zero_in_every_float_type():
    for dtype in ("float16", "float32", "float64"):
        control = Control((-0.0, 0.0, -1e-300 if dtype != "float64" else -0.0), dtype)
        assert [math.copysign(1, v) for v in control.values] == [1, 1, 1]
        assert canonical(control) == canonical(Control((0.0, 0.0, 0.0), dtype))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_non_finite_control_is_refused(value, dtype):
    with pytest.raises(Refused, match="control vector"):
        Control((0.0, value), dtype)
    with pytest.raises(Refused):
        Control((math.inf, -math.inf), dtype)


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ((1e39,), "float32"),
        ((70000.0,), "float16"),
        ((256,), "uint8"),
        ((-1,), "uint8"),
        ((0.5,), "int32"),
        ((1 << 63,), "int64"),
        ((), "float32"),
        (("1",), "float32"),
        ((None,), "float32"),
        (np.zeros((2, 2)), "float32"),
        (np.float64(1.0), "float32"),
        (3.0, "float32"),
    ],
)
def test_a_control_that_does_not_fit_its_type_is_refused(values, dtype):
    with pytest.raises(Refused, match="control vector"):
        Control(values, dtype)


def test_equal_numbers_of_different_types_are_different_actions():
    same = [Control((1, 2), dtype) for dtype in sorted(DTYPES)]
    assert len({canonical(each) for each in same}) == len(DTYPES)


def test_control_bytes_are_little_endian_on_every_machine():
    assert Control((1.5,)).packed() == struct.pack("<f", 1.5) == b"\x00\x00\xc0\x3f"


@pytest.mark.parametrize(
    "make",
    [
        lambda bad: Text(bad),
        lambda bad: Keys("press", (bad,)),
        lambda bad: Element("button", bad),
        lambda bad: Element("button", "OK", (bad,)),
        lambda bad: Tool(bad),
        lambda bad: Tool.call("search", query=bad),
        lambda bad: Tool.call("search", **{bad: 1}),
        lambda bad: Pointer("click", ((1, 2),), seat=bad),
    ],
)
def test_a_lone_surrogate_is_refused_where_it_enters(make):
    with pytest.raises(Refused, match="lone surrogate at position 1"):
        make("a\ud800")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Control((1.0,), "float23"), "dtype 'float23' is unknown; did you mean 'float32'"),
        (lambda: Pointer("clik", ((1, 2),)), "verb 'clik' is unknown; did you mean 'click'"),
        (lambda: Pointer("click", ((1, 2), (3, 4))), "it takes one"),
        (lambda: Pointer("click", ()), "it needs more"),
        (lambda: Pointer("drag", ((1, 2),)), "it needs more"),
        (lambda: Pointer("click", ((1.5, 2),)), "not a whole number of pixels"),
        (lambda: Pointer("click", ((True, 2),)), "not a whole number of pixels"),
        (lambda: Pointer("click", ((1, 2),), "lefd"), "button 'lefd' is unknown"),
        (lambda: Pointer("click", ((1, 2),), count=4), "must be 1, 2 or 3"),
        (lambda: Pointer("click", ((1, 2),), modifiers=("ctl",)), "did you mean 'ctrl'"),
        (lambda: Keys("press", ()), "names no key"),
        (lambda: Keys("press", ("",)), "names no key"),
        (lambda: Scroll(0, 1 << 21), "not a whole number of pixels"),
        (lambda: Wait(-1), "from 0 to 3600000"),
        (lambda: Wait(0.5), "whole number"),
        (lambda: Wait(True), "whole number"),
        (lambda: Tool("x", "[1]"), "not a JSON object"),
        (lambda: Tool("x", "{"), "are not JSON"),
        (lambda: Tool("x", '{"a": NaN}'), "only finite numbers"),
        (lambda: Tool.call("x", a=object()), "only plain JSON data"),
    ],
)
def test_a_bad_action_is_refused_with_what_to_do(make, message):
    with pytest.raises(Refused, match=message):
        make()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"kind": "wiat", "ms": 1}, "step 4 has the kind 'wiat'; did you mean 'wait'"),
        ({"kind": "wait", "msec": 1}, "step 4 has the field 'msec'; did you mean 'ms'"),
        ({"kind": "control", "packed": "0", "dtype": "float32"}, "no packed numbers"),
        ({"kind": "control", "packed": "000000", "dtype": "float32"}, "no packed numbers"),
        ({"kind": "control", "packed": "", "dtype": "float32"}, "at least one number"),
        ({"kind": "control", "packed": "0000c07f", "dtype": "float32"}, "not finite"),
        ({"kind": "control", "packed": "00", "dtype": "float33"}, "dtype 'float33' is unknown"),
        ({"kind": "control", "packed": [0], "dtype": "float32"}, "no packed numbers"),
        ({"kind": "control", "packed": "00", "dtype": ["int8"]}, "is unknown"),
        ({"kind": "control", "vals": [1]}, "did you mean 'values'"),
        ({"kind": "wait"}, "step 4 is not a wait action"),
        ({"kind": "wait", "ms": -1}, "step 4: wait of -1 ms"),
        ({"kind": "pointer", "verb": "click", "path": [1, 2]}, "step 4 is not a pointer action"),
        ({"kind": 3}, "step 4 is not an object with a 'kind'"),
        ([], "step 4 is not an object with a 'kind'"),
        (None, "step 4 is not an object with a 'kind'"),
    ],
)
def test_data_that_is_no_action_is_refused_by_place_and_field(data, message):
    with pytest.raises(Refused, match=message):
        action_of(data, "step 4")


def test_an_object_that_is_no_action_cannot_become_data():
    with pytest.raises(Refused, match="str is not an action"):
        action_json("click")  # type: ignore[arg-type]


def test_the_order_of_modifiers_and_of_arguments_does_not_matter():
    assert Pointer("click", ((1, 2),), modifiers=("shift", "ctrl", "ctrl")) == Pointer(
        "click", ((1, 2),), modifiers=("ctrl", "shift")
    )
    assert Tool.call("x", b=1, a=2) == Tool("x", '{ "a": 2,  "b": 1 }')
    assert Tool.call("x", b=1, a=2).parsed() == {"a": 2, "b": 1}


def test_the_order_of_pressed_keys_matters():
    assert canonical(Keys("press", ("a", "b"))) != canonical(Keys("press", ("b", "a")))


def test_secrets_are_names_in_what_is_recorded_and_values_only_when_typed():
    action = Text("user\t{secret:PIN}{secret:db.key}")
    assert secrets_in(action) == ("PIN", "db.key")
    assert secrets_in(Tool.call("login", password="{secret:PIN}")) == ("PIN",)
    assert reveal(action.text, {"PIN": "12", "db.key": r"\1"}.__getitem__) == "user\t12\\1"
    assert b"{secret:PIN}" in canonical(action)


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("Return", "enter"), ("esc", "escape"), ("ctrlleft", "ctrl"), ("Page_Down", "pagedown"),
        ("ArrowUp", "up"), (" ", "space"), ("\n", "enter"), ("cmd", "super"), ("F5", "f5"),
        ("A", "A"), ("é", "é"), ("plus", "+"),
    ],
)  # fmt: skip
def test_a_key_has_one_name_whatever_the_field_calls_it(said, meant):
    assert Keys("press", (said,)).keys == (meant,)
    assert canonical(Keys("press", (said,))) == canonical(Keys("press", (meant,)))


@given(st.text(max_size=3))
def test_a_canonical_key_name_is_its_own(name):
    try:
        once = canonical_key(name)
    except Refused:
        return
    assert canonical_key(once) == once


def test_every_alias_names_a_key_of_the_closed_set():
    assert all(meant in NAMED or len(meant) == 1 for meant in ALIASES.values())


@pytest.mark.parametrize("name", ["", "ctlr", "ab", "\x00", "\u0301"])
def test_an_unknown_key_is_refused(name):
    with pytest.raises(Refused, match="key"):
        Keys("press", (name,))


def test_an_unknown_element_verb_is_refused_with_the_nearest():
    with pytest.raises(Refused, match="'press'"):
        Element("button", "OK", verb="pres")
