"""D-Bus messages: what is written is what an independent implementation reads, and back."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.environments.desktop.atspi.wire import (
    ERROR,
    FIXED,
    RETURN,
    Call,
    Malformed,
    decode,
    encode,
    sizes,
)

jeepney = pytest.importorskip("jeepney")
low_level = pytest.importorskip("jeepney.low_level")

WORDS = st.text(st.characters(blacklist_categories=("Cs",), blacklist_characters="\0"), max_size=40)
ARGUMENTS = st.one_of(
    st.tuples(st.just("s"), WORDS),
    st.tuples(st.just("i"), st.integers(-(2**31), 2**31 - 1)),
    st.tuples(st.just("u"), st.integers(0, 2**32 - 1)),
    st.tuples(st.just("b"), st.booleans()),
    st.tuples(st.just("d"), st.floats(allow_nan=False)),
    st.tuples(st.just("y"), st.integers(0, 255)),
    st.tuples(st.just("v"), st.tuples(st.just("s"), WORDS)),
)


def reply(signature, body, serial=7, order="little", sender=":1.5"):
    """A method return as jeepney writes it."""
    header = low_level.Header(
        low_level.Endianness[order], low_level.MessageType.method_return, 0, 1, 0, 3,
        {low_level.HeaderFields.reply_serial: serial, low_level.HeaderFields.sender: sender},
    )  # fmt: skip
    if signature:
        header.fields[low_level.HeaderFields.signature] = signature
    return low_level.Message(header, body).serialise(serial=3)


def read(message):
    header, body = sizes(message[:FIXED])
    assert header + body == len(message)
    return decode(message, header)


@given(st.lists(ARGUMENTS, max_size=6), st.integers(1, 2**32 - 1))
def test_a_call_is_read_by_another_implementation_as_it_was_written(arguments, serial):
    signature = "".join(code for code, _ in arguments)
    values = tuple(value for _, value in arguments)
    call = Call(":1.7", "/org/a11y/atspi/accessible/12", "org.a11y.Some", "Do", signature, values)
    message = low_level.Message.from_buffer(encode(call, serial))
    fields = message.header.fields
    assert message.header.serial == serial
    assert fields[low_level.HeaderFields.destination] == call.name
    assert fields[low_level.HeaderFields.path] == call.path
    assert fields[low_level.HeaderFields.interface] == call.interface
    assert fields[low_level.HeaderFields.member] == call.member
    assert message.body == values


@pytest.mark.parametrize("order", ["little", "big"])
@pytest.mark.parametrize(
    ("signature", "body", "expected"),
    [
        ("", (), ()),
        ("s", ("é√中😀",), ("é√中😀",)),
        ("au", ([1, 2**32 - 1],), ([1, 2**32 - 1],)),
        ("a(so)", ([(":1.1", "/a"), (":1.2", "/b/c")],), ([(":1.1", "/a"), (":1.2", "/b/c")],)),
        ("(iiii)", ((-5, 2, 3, -(2**31)),), ((-5, 2, 3, -(2**31)),)),
        ("v", (("d", 2.5),), (2.5,)),
        ("v", (("(so)", (":1.1", "/a")),), ((":1.1", "/a"),)),
        ("a{ss}", ({"toolkit": "gtk"},), ([("toolkit", "gtk")],)),
        ("ybnqiuxtd", (9, True, -2, 3, -4, 5, -6, 7, 0.5), (9, True, -2, 3, -4, 5, -6, 7, 0.5)),
        ("ax", ([],), ([],)),
    ],
)
def test_a_reply_of_another_implementation_is_read_as_it_was_written(
    signature, body, expected, order
):
    received = read(reply(signature, body, order=order))
    assert received.body == expected
    assert (received.kind, received.serial, received.sender) == (RETURN, 7, ":1.5")


def test_an_error_carries_its_name():
    header = low_level.Header(
        low_level.Endianness.little, low_level.MessageType.error, 0, 1, 0, 3,
        {low_level.HeaderFields.reply_serial: 9, low_level.HeaderFields.error_name: "a.b.Gone"},
    )  # fmt: skip
    received = read(low_level.Message(header, ()).serialise(serial=3))
    assert (received.kind, received.serial, received.error) == (ERROR, 9, "a.b.Gone")


def test_a_text_that_is_not_utf8_is_read_without_its_broken_parts():
    message = reply("s", ("abcd",)).replace(b"abcd", b"a\xed\xa0\x80")
    (text,) = read(message).body
    assert text.startswith("a")
    assert text.encode("utf-8")


@given(st.data())
def test_bytes_that_do_not_follow_their_signature_are_told_from_an_answer(data):
    message = bytearray(reply("a(so)v", ([(":1.1", "/a")], ("s", "word"))))
    at = data.draw(st.integers(FIXED, len(message) - 1))
    message[at] = data.draw(st.integers(0, 255))
    header, _ = sizes(bytes(message[:FIXED]))
    with contextlib.suppress(Malformed):
        decode(bytes(message), header)


def test_a_message_that_is_cut_off_is_malformed():
    message = reply("as", (["one", "two"],))
    header, _ = sizes(message[:FIXED])
    with pytest.raises(Malformed):
        decode(message[:-4], header)
