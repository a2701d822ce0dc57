"""The shape of what a run's log holds. It says what is wrong with a record; it reads no file."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, get_args

from clew.core import Outcome, Party

_NOTES: Mapping[str, Mapping[str, type]] = {
    "begun": {"driver": str},
    "ended": {"driver": str},
    "withdrawn": {"snapshot": str},
    "fingerprint": {"digest": str, "facts": dict},
}
#: Names that become file names.
_NAME = re.compile(r"[\w-]{1,100}")
_OUTCOMES, _PARTIES = get_args(Outcome), get_args(Party)


def flaw(record: Mapping[str, Any]) -> str:
    """What is wrong with a record, in a few words; empty for one that is whole."""
    kind = record.get("type")
    if kind == "result":
        wrong = _wrong_in_result(record)
    elif isinstance(kind, str) and kind in _NOTES:
        wrong = _wrong_in_note(record, _NOTES[kind])
    else:
        return f"a record of the type {kind!r:.40}, which this clew does not write"
    return wrong and f"a {kind} record whose {wrong!r} is missing or not what clew writes"


def _wrong_in_note(record: Mapping[str, Any], fields: Mapping[str, type]) -> str:
    for name, wanted in fields.items():
        if not isinstance(record.get(name), wanted):
            return name
    return "" if _NAME.fullmatch(record.get("driver", "none")) else "driver"


def _wrong_in_result(record: Mapping[str, Any]) -> str:
    cause = record.get("cause", "")
    if not isinstance(record.get("unit"), str):
        return "unit"
    if record.get("outcome") not in _OUTCOMES:
        return "outcome"
    if not isinstance(record.get("values"), dict):
        return "values"
    if cause is not None and not _is_cause(cause):
        return "cause"
    if not isinstance(record.get("about"), dict):
        return "about"
    for name, value in record["about"].items():
        if name in _ABOUT and not _ABOUT[name](value):
            return f"about.{name}"
    return ""


def _is_cause(value: Any) -> bool:
    if not isinstance(value, dict) or value.get("party") not in _PARTIES:
        return False
    return isinstance(value.get("kind"), str) and isinstance(value.get("detail"), str)


def _is_broken(value: Any) -> bool:
    """An attempt that a void came to: where it stands, perhaps without its end."""
    if not isinstance(value, dict) or not isinstance(value.get("locator"), dict):
        return False
    at = value["locator"]
    start, end = at.get("start"), at.get("end")
    if not isinstance(start, int) or not (end is None or isinstance(end, int)):
        return False
    return isinstance(at.get("segment"), str) and _NAME.fullmatch(at["segment"]) is not None


def _is_attempt(value: Any) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("segment"), str):
        return False
    start, end = value.get("start"), value.get("end")
    if not isinstance(start, int) or not isinstance(end, int):
        return False
    return 0 <= start < end and _NAME.fullmatch(value["segment"]) is not None


def _is_code(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(each, str) for each in value.values())


def _are_broken(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_broken, value))


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


_ABOUT: Mapping[str, Callable[[Any], bool]] = {
    "attempt": _is_attempt, "snapshot": _is_text, "code": _is_code, "broken": _are_broken,
}  # fmt: skip
