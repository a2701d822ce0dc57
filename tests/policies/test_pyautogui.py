"""PyAutoGUI code is read into actions; whatever else it holds is refused and never run."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from clew.core import Keys, Pointer, Refused, Scroll, Text, Wait
from clew.policies.pyautogui import MOST_ACTIONS, read

SCREEN = (1920, 1080)


@pytest.mark.parametrize(
    ("code", "actions"),
    [
        ("pyautogui.click(10, 20)", (Pointer("click", ((10, 20),)),)),
        ("pyautogui.click(x=10, y=20, clicks=2, button='right')",
         (Pointer("click", ((10, 20),), "right", 2),)),
        ("pyautogui.doubleClick((10, 20))", (Pointer("click", ((10, 20),), "left", 2),)),
        ("pyautogui.tripleClick(1, 2)", (Pointer("click", ((1, 2),), "left", 3),)),
        ("pyautogui.rightClick(1.6, 2.4)", (Pointer("click", ((2, 2),), "right"),)),
        ("pyautogui.click({SCREEN_WIDTH_HALF}, {SCREEN_HEIGHT})",
         (Pointer("click", ((960, 1080),)),)),
        ("pyautogui.moveTo(5, 6); pyautogui.click()",
         (Pointer("move", ((5, 6),)), Pointer("click", ((5, 6),)))),
        ("pyautogui.moveTo(5, 6)\npyautogui.dragTo(7, 8, duration=0.5, button='left')",
         (Pointer("move", ((5, 6),)), Pointer("drag", ((5, 6), (7, 8))))),
        ("pyautogui.moveTo(5, 6); pyautogui.moveRel(-2, 3)",
         (Pointer("move", ((5, 6),)), Pointer("move", ((3, 9),)))),
        ("pyautogui.mouseDown(1, 2)\npyautogui.mouseUp()",
         (Pointer("down", ((1, 2),)), Pointer("up", ((1, 2),)))),
        ("pyautogui.scroll(-5, 10, 20)", (Scroll(10, 20, dy=5),)),
        ("pyautogui.hscroll(3, x=10, y=20)", (Scroll(10, 20, dx=3),)),
        ("pyautogui.press('enter', presses=2)", (Keys("press", ("enter",)),) * 2),
        ("pyautogui.press(['tab', 'Return'])", (Keys("press", ("tab",)), Keys("press", ("enter",)))),
        ("pyautogui.hotkey('ctrl', 'shift', 's')", (Keys("press", ("ctrl", "shift", "s")),)),
        ("pyautogui.keyDown('shift'); pyautogui.keyUp('shift')",
         (Keys("down", ("shift",)), Keys("up", ("shift",)))),
        ("with pyautogui.hold('shift'):\n    pyautogui.press('left')",
         (Keys("down", ("shift",)), Keys("press", ("left",)), Keys("up", ("shift",)))),
        ("pyautogui.write('é <\\n', interval=0.05)", (Text("é <\n"),)),
        ("pyautogui.typewrite(['a', 'enter'])", (Keys("press", ("a",)), Keys("press", ("enter",)))),
        ("import pyautogui\nimport time\npyautogui.PAUSE = 0.5\ntime.sleep(1.5)", (Wait(1500),)),
        ("# nothing\n", ()),
    ],
)  # fmt: skip
def test_a_call_becomes_the_actions_that_it_means(code, actions):
    assert read(code, SCREEN) == (actions, "")


@pytest.mark.parametrize(
    ("code", "actions", "stop"),
    [
        ("DONE", (), "done"),
        (" FAIL\n", (), "give_up"),
        ("WAIT", (Wait(1000),), ""),
        ("pyautogui.press('a')\nDONE", (Keys("press", ("a",)),), "done"),
    ],
)
def test_the_three_words_are_a_wish_to_stop_or_a_wait(code, actions, stop):
    assert read(code, SCREEN) == (actions, stop)


def test_several_calls_of_one_step_stay_several_actions_in_order():
    actions, _ = read("\n".join(f"pyautogui.press('{c}')" for c in "hello"), SCREEN)
    assert [action.keys for action in actions] == [(c,) for c in "hello"]


def test_the_pointer_of_earlier_steps_is_where_a_bare_click_goes():
    assert read("pyautogui.click()", SCREEN, pointer=(7, 8))[0] == (Pointer("click", ((7, 8),)),)


@pytest.mark.parametrize(
    ("code", "quoted"),
    [
        ("import os", "import os"),
        ("from pyautogui import click", "from pyautogui"),
        ("__import__('os').system('touch /tmp/x')", "__import__"),
        ("eval('1')", "eval"),
        ("x = 5", "x = 5"),
        ("pyautogui.PAUSE = open('x')", "open"),
        ("for i in range(3):\n    pyautogui.press('a')", "For"),
        ("def f(): pass", "FunctionDef"),
        ("pyautogui.click(1 + 2, 3)", r"1 \+ 2"),
        ("pyautogui.click(*[1, 2])", r"\*\[1, 2\]"),
        ("pyautogui.click(**{'x': 1})", "unpacked"),
        ("pyautogui.click(x=f())", r"f\(\)"),
        ("pyautogui.write(f'{x}')", "literal"),
        ("pyautogui.screenshot()", "pyautogui.screenshot"),
        ("pyautogui.click.__globals__['x']()", "__globals__"),
        ("pyautogui.click('button.png', 5)", "a number is needed"),
        ("pyautogui.click(1, 2, colour='red')", "colour"),
        ("pyautogui.click()", "no position"),
        ("pyautogui.click(1e400, 2)", "infinity"),
        ("pyautogui.click(1, 2, button='lefft')", "'left'"),
        ("pyautogui.press('ctlr')", "'ctrl'"),
        ("pyautogui.press('a', presses=10**9)", "literal"),
        ("pyautogui.press('a', presses=1000000000)", "presses"),
        ("pyautogui.click(1, 2", "not Python"),
        ("a\x00b", "null"),
        ("(" * 5000, "not Python"),
        ("time.sleep(-1)", "wait"),
        ("time.sleep(1e300)", "wait"),
        ("pyautogui.write('\\ud800')", "surrogate"),
    ],
)  # fmt: skip
def test_what_is_not_on_the_list_is_refused_with_its_source(code, quoted):
    with pytest.raises(Refused, match=quoted):
        read(code, SCREEN)


def test_a_step_of_too_many_actions_is_refused():
    with pytest.raises(Refused, match=f"more than {MOST_ACTIONS}"):
        read("pyautogui.press('a', presses=600)\n" * 2, SCREEN)


def test_code_is_parsed_and_never_executed(tmp_path):
    target = tmp_path / "made"
    for code in (
        f"open({str(target)!r}, 'w')",
        f"pyautogui.write(open({str(target)!r}, 'w').name)",
        f"with open({str(target)!r}, 'w'):\n    pass",
        f"pyautogui.write(message=[open({str(target)!r}, 'w') for _ in '1'])",
    ):
        with pytest.raises(Refused):
            read(code, SCREEN)
    assert not target.exists()


fragments = st.sampled_from([
    "pyautogui", ".", "click", "(", ")", "1", ",", "'a'", "\n", "    ", "with ", "hold", ":", "x",
    "=", "{SCREEN_WIDTH}", "time.sleep", "lambda", "[", "]", "DONE", "press", "-", "**", "*", "é",
])  # fmt: skip


@given(st.text(max_size=80) | st.lists(fragments, max_size=25).map("".join))
@example("pyautogui.click(" + "-" * 3000 + "1)")
def test_any_text_is_read_or_refused(code):
    with suppress(Refused):
        read(code, SCREEN)
