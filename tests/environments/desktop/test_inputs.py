"""Typed text arrives exactly, keys and pointer do what their names say, in real applications."""

import shutil
from contextlib import closing

import pytest

from clew.core import NOTHING, Keys, Pointer, Refused, Scroll, Text, Wait

from ._sessions import FRAME, session

from clew.environments.desktop.inputs import check_typed  # isort: skip

#: The characters that other tools lose: pyautogui#198 and #580, xdotool without delays.
HARD = "<>|\\~\"'`^ é √ 中 😀 ñçß €\ttab\nline {[]} @#$%&*\n"
#: More characters without a key of their own than there are spare key codes.
MANY = "".join(map(chr, range(0x0391, 0x03C9))).replace("\u03a2", "") + "".join(
    map(chr, range(0x0410, 0x0480))
)


@pytest.fixture(scope="module")
def mousepad():
    with closing(session("mousepad", ["text.txt"], {"text.txt": b""})) as opened:
        yield opened


def typed(opened, text):
    """What the file holds after the text was typed into an emptied editor and saved."""
    for keys in (("ctrl", "a"), ("delete",)):
        opened.act(Keys("press", keys), NOTHING)
    opened.act(Text(text), NOTHING)
    opened.act(Keys("press", ("ctrl", "s")), NOTHING)
    return opened.home.read("text.txt").decode()


@pytest.mark.parametrize("text", [HARD, HARD[::-1].strip("\n") + "\n", "aAbB" * 40 + "\n"])
def test_text_arrives_exactly_in_an_editor(mousepad, text):
    assert typed(mousepad, text) == text


def test_more_strange_characters_than_spare_keys_arrive_exactly(mousepad):
    assert len(set(MANY)) > 150
    text = MANY + "\n" + MANY[::-1] + "\n"
    assert typed(mousepad, text) == text


def test_text_arrives_exactly_in_a_terminal():
    with closing(session("xterm")) as opened:
        opened.act(Text("cat > text.txt\n"), NOTHING)
        opened.act(Text(HARD.replace("\t", " ")), NOTHING)
        opened.act(Keys("press", ("ctrl", "d")), NOTHING)
        assert opened.home.read("text.txt").decode() == HARD.replace("\t", " ")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("soffice") is None, reason="LibreOffice is not installed")
def test_text_arrives_exactly_in_libreoffice():
    files = {"text.txt": b"\n"}
    arguments = ["--infilter=Text (encoded):UTF8,LF,,,", "text.txt"]
    with closing(session("libreoffice-writer", arguments, files)) as opened:
        opened.act(Text(HARD), NOTHING)
        opened.act(Keys("press", ("ctrl", "s")), NOTHING)
        opened.act(Keys("press", ("enter",)), NOTHING)  # keep the format
        opened.act(Wait(1_000), NOTHING)
        assert opened.home.read("text.txt").decode().lstrip("\ufeff") == HARD + "\n"


@pytest.mark.parametrize(
    ("text", "where"), [("a\x07b", 1), ("\x1b[A", 0), ("ok\r\n", 2), ("\x7f", 0)]
)
def test_a_character_that_no_key_types_is_refused_with_its_place(text, where):
    with pytest.raises(Refused, match=f"at position {where}"):
        check_typed(text)


def test_keys_are_held_together_and_one_by_one(mousepad):
    assert typed(mousepad, "word\n") == "word\n"
    mousepad.act(Keys("press", ("ctrl", "home")), NOTHING)
    mousepad.act(Keys("down", ("shift",)), NOTHING)
    for _ in range(2):
        mousepad.act(Keys("press", ("right",)), NOTHING)
    mousepad.act(Keys("up", ("shift",)), NOTHING)
    mousepad.act(Keys("press", ("W",)), NOTHING)
    mousepad.act(Keys("press", ("é",)), NOTHING)
    mousepad.act(Keys("press", ("ctrl", "s")), NOTHING)
    assert mousepad.home.read("text.txt").decode() == "Wérd\n"


def test_two_clicks_in_one_act_are_a_double_click_and_in_two_acts_are_not(mousepad):
    assert typed(mousepad, "one two\n") == "one two\n"
    mousepad.act(Keys("press", ("ctrl", "home")), NOTHING)
    x, y, _, _ = next(w.box for w in mousepad.windows())
    word = (x + 12, y + 36)
    mousepad.act(Pointer("click", (word,)), NOTHING)
    mousepad.act(Pointer("click", (word,)), NOTHING)
    mousepad.act(Text("_"), NOTHING)
    mousepad.act(Pointer("click", (word,), count=2), NOTHING)
    mousepad.act(Text("x"), NOTHING)
    mousepad.act(Keys("press", ("ctrl", "s")), NOTHING)
    assert mousepad.home.read("text.txt").decode() == "x two\n"


def test_a_drag_selects_what_it_passes_over(mousepad):
    assert typed(mousepad, "first line\nsecond line\n") == "first line\nsecond line\n"
    x, y, width, _ = next(w.box for w in mousepad.windows())
    mousepad.act(Pointer("drag", ((x + 5, y + 36), (x + width - 40, y + 36))), NOTHING)
    mousepad.act(Keys("press", ("delete",)), NOTHING)
    mousepad.act(Keys("press", ("ctrl", "s")), NOTHING)
    assert mousepad.home.read("text.txt").decode() == "\nsecond line\n"


def test_the_wheel_scrolls_down_and_up_again(mousepad):
    typed(mousepad, "\n" * 30)
    mousepad.act(Keys("press", ("ctrl", "home")), NOTHING)
    x, y, width, height = next(w.box for w in mousepad.windows())
    at = (x + width // 2, y + height // 2)
    mousepad.act(Pointer("move", (at,)), NOTHING)
    top = mousepad.observe(FRAME)["frame"]
    down = mousepad.act(Scroll(*at, dy=5), FRAME)["frame"]
    assert (down != top).any()
    mousepad.act(Scroll(*at, dy=-5), NOTHING)
    mousepad.act(Keys("press", ("ctrl", "home")), NOTHING)
    again = mousepad.observe(FRAME)["frame"]
    assert (again[: at[1] - 60, : x + width - 60] == top[: at[1] - 60, : x + width - 60]).all()
