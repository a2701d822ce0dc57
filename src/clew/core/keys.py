"""The closed set of key names, and the other words that the field uses for them.

A key is a single printable character, or one of `NAMED`. It is a key, not a character typed:
`shift` with `a` is two keys; text is typed by `Text`.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping

from clew.core.canonical import check_text
from clew.core.errors import Refused, nearest

#: Keys that no single character names.
NAMED = frozenset({
    "enter", "tab", "escape", "backspace", "delete", "insert", "home", "end", "pageup",
    "pagedown", "up", "down", "left", "right", "space", "ctrl", "shift", "alt", "altgr", "super",
    "capslock", "numlock", "scrolllock", "printscreen", "pause", "menu",
    *(f"f{n}" for n in range(1, 25)),
})  # fmt: skip

#: Other spellings (PyAutoGUI, X keysyms, DOM `KeyboardEvent.key`), in lower case.
ALIASES: Mapping[str, str] = {
    "return": "enter", "\n": "enter", "\r": "enter", "\t": "tab", " ": "space",
    "kp_enter": "enter", "esc": "escape", "back_space": "backspace", "del": "delete",
    "ins": "insert", "page_up": "pageup", "pgup": "pageup", "prior": "pageup",
    "page_down": "pagedown", "pgdn": "pagedown", "next": "pagedown", "arrowup": "up",
    "arrowdown": "down", "arrowleft": "left", "arrowright": "right", "spacebar": "space",
    "control": "ctrl", "control_l": "ctrl", "control_r": "ctrl", "ctrlleft": "ctrl",
    "ctrlright": "ctrl", "shift_l": "shift", "shift_r": "shift", "shiftleft": "shift",
    "shiftright": "shift", "alt_l": "alt", "alt_r": "altgr", "altleft": "alt",
    "altright": "altgr", "option": "alt", "iso_level3_shift": "altgr", "altgraph": "altgr",
    "super_l": "super", "super_r": "super", "win": "super", "winleft": "super",
    "winright": "super", "meta": "super", "meta_l": "super", "meta_r": "super", "cmd": "super",
    "command": "super", "caps_lock": "capslock", "num_lock": "numlock",
    "scroll_lock": "scrolllock", "print": "printscreen", "prtsc": "printscreen",
    "prtscr": "printscreen", "prntscrn": "printscreen", "print_screen": "printscreen",
    "apps": "menu", "contextmenu": "menu", "plus": "+", "minus": "-", "equal": "=",
    "comma": ",", "period": ".", "slash": "/", "backslash": "\\", "semicolon": ";",
    "apostrophe": "'", "grave": "`", "bracketleft": "[", "bracketright": "]",
}  # fmt: skip


def canonical_key(name: str) -> str:
    """The one name of a key, whatever the field calls it. Raises `Refused` for an unknown one.

    A single character keeps its case: `A` is the key that types A.
    """
    name = str.__str__(check_text(name, "key"))
    lower = name.lower()
    if lower in NAMED:
        return lower
    if lower in ALIASES:
        return ALIASES[lower]
    if len(name) == 1 and name.isprintable() and not unicodedata.combining(name):
        return name
    raise Refused(
        f"key {name!r} is unknown; {nearest(lower, NAMED)}, or give a single printable character"
    )
