"""A task's checks: what is read, and what it must be. They are data, and change nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from clew.core import Element, Judgement, Refused, nearest
from clew.environments.gui import ROLES, Node, NotFound, find

#: What is read → the fields that say which; those in brackets may be left out.
SOURCES: Mapping[str, tuple[str, ...]] = {
    "storage": ("area", "key", "[path]"),
    "element": ("role", "name", "[within]", "[field]"),
    "text": (),
    "dom": ("selector", "[attribute]"),
    "download": ("name",),
    "url": (),
    "title": (),
    "dialog": (),
    "console": (),
}
#: Comparisons → whether what was found is as it must be. `absent = true`: nothing was found.
COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "equals": lambda found, wanted: _text(found) == _text(wanted),
    "contains": lambda found, wanted: str(wanted) in _text(found),
    "lacks": lambda found, wanted: str(wanted) not in _text(found),
    "matches": lambda found, wanted: re.fullmatch(str(wanted), _text(found), re.S) is not None,
    "at_least": lambda found, wanted: _number(found) >= float(wanted),
    "at_most": lambda found, wanted: _number(found) <= float(wanted),
}


class Source(Protocol):
    """What checks read from: see `state.Reader`."""

    def nodes(self) -> tuple[Node, ...]: ...
    def url(self) -> str: ...
    def title(self) -> str: ...
    def stored(self, area: str, key: str) -> str | None: ...
    def selected(self, selector: str, attribute: str) -> list[str]: ...
    def downloaded(self, name: str) -> bytes | None: ...
    def console(self) -> list[str]: ...
    def dialogs(self) -> list[Mapping[str, str]]: ...


@dataclass(frozen=True)
class Check:
    """One condition, named for the judgement's parts."""

    name: str
    of: str
    which: Mapping[str, Any]
    comparison: str
    wanted: Any

    def holds(self, source: Source) -> bool:
        found = _found(self, source)
        if self.comparison == "absent":
            return (found is None) is self.wanted
        return found is not None and COMPARISONS[self.comparison](found, self.wanted)


def check_of(data: Mapping[str, Any], number: int, where: str) -> Check:
    """A check as a task file writes it: `of`, which one, and one comparison. Raises `Refused`."""
    of = str(data.get("of"))
    if of not in SOURCES:
        raise Refused(f"{where}: of is {of!r}; {nearest(of, SOURCES)}")
    fields = [f.strip("[]") for f in SOURCES[of]]
    compared = [c for c in (*COMPARISONS, "absent") if c in data]
    for name in data:
        if name not in (*fields, *compared, "of"):
            raise Refused(
                f"{where} has the field {name!r}; {nearest(name, [*fields, *COMPARISONS])}"
            )
    for field in SOURCES[of]:
        if not field.startswith("[") and field not in data:
            raise Refused(f"{where}: {of!r} needs the field {field!r}")
    if len(compared) != 1:
        raise Refused(f"{where} needs one comparison of: {', '.join((*COMPARISONS, 'absent'))}")
    if of == "element" and data["role"] not in ROLES:
        raise Refused(f"{where}: role {data['role']!r} is unknown; {nearest(data['role'], ROLES)}")
    which = {f: data[f] for f in fields if f in data}
    words = [str(which[f]) for f in ("role", "name", "key", "selector") if f in which]
    label = " ".join([f"{number}", of, *words, compared[0]])
    return Check(label, of, which, compared[0], data[compared[0]])


def judged(checks: Sequence[Check], source: Source) -> Judgement:
    """All checks on one state; the score is the share that holds."""
    parts = {check.name: float(check.holds(source)) for check in checks}
    score = sum(parts.values()) / len(parts)
    return Judgement(score == 1.0, score, parts)


def _found(check: Check, source: Source) -> Any:
    """What a check reads; None where it is not there."""
    which = check.which
    if check.of == "storage":
        item = source.stored(which["area"], which["key"])
        return item if item is None or "path" not in which else _inside(item, which["path"])
    if check.of == "element":
        return _element(which, source)
    if check.of == "text":
        return "\n".join(n.text or n.name for n in source.nodes() if "showing" in n.states)
    if check.of == "dom":
        found = source.selected(which["selector"], which.get("attribute", ""))
        return "\n".join(found) if found else None
    if check.of == "download":
        data = source.downloaded(which["name"])
        return None if data is None else data.decode("utf-8", "replace")
    if check.of == "console":
        return "\n".join(source.console()) or None
    if check.of == "dialog":
        return "\n".join(f"{d['message']} [{d['answer']}]" for d in source.dialogs()) or None
    return source.url() if check.of == "url" else source.title()


def _element(which: Mapping[str, Any], source: Source) -> Any:
    locator = Element(which["role"], which["name"], tuple(which.get("within", ())))
    try:
        node = find(locator, source.nodes()).node
    except NotFound:
        return None
    value = getattr(node, which.get("field", "value"))
    return " ".join(value) if isinstance(value, tuple) else value


def _inside(text: str, path: Sequence[Any]) -> Any:
    """What lies at a path in JSON text; None where there is nothing or no JSON."""
    try:
        value = json.loads(text)
        for key in path:
            value = value[key]
    except (ValueError, LookupError, TypeError):
        return None
    return value


def _text(found: Any) -> str:
    return found if isinstance(found, str) else json.dumps(found)


def _number(found: Any) -> float:
    try:
        return float(found)
    except (TypeError, ValueError):
        return float("nan")
