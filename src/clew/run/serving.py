"""The far side of `clew.run.remote`: serves one environment's calls inside a worker."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import numpy as np

from clew import registry
from clew.core import Environment, Judged, Probed, Refused, Saved, Session, Start, action_of
from clew.core.canonical import bytes_value, plain, value_bytes


class Served:
    """One environment and its open sessions, by number."""

    def __init__(self) -> None:
        self._environment: Environment | None = None
        self._sessions: dict[int, Session] = {}
        self._opened = 0

    def answer(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """`value`, or `error` with the `kind` of the exception: this is where they cross over."""
        try:
            return {"value": self._called(message)}
        except Exception as error:  # noqa: BLE001 - the boundary: the near side raises it again
            kind = "Refused" if isinstance(error, Refused) else type(error).__name__
            text = str(error) if kind in ("Refused", "SessionSpent") else f"{kind}: {error}"
            return {"error": text.encode("utf-8", "replace").decode(), "kind": kind}

    def _called(self, message: Mapping[str, Any]) -> Any:
        environment: Any = self._environment or registry.environment(message["environment"])
        self._environment = environment
        what = message["call"]
        if what.startswith("session."):
            return self._in_session(what.partition(".")[2], message)
        if what == "open":
            return self._open(environment, Start.of(message["start"]))
        if what == "start":
            start = environment.start(message["task"], message["seed"], **message["options"])
            return start.json()
        if what == "tasks":
            return list(environment.tasks())
        if what == "fingerprint":
            return dict(environment.fingerprint())
        if what in ("instruction", "budget"):
            return getattr(environment, what)(message["task"])
        raise Refused(f"an environment has no call {what!r}")

    def _open(self, environment: Environment, start: Start) -> dict[str, Any]:
        session = environment.open(start)
        self._opened += 1
        self._sessions[self._opened] = session
        found: dict[str, Any] = {"session": self._opened, "parts": []}
        if isinstance(session, Probed):
            found["parts"].append("probed")
        if isinstance(session, Saved):
            found["parts"].append("saved")
            found["exact"] = session.exact
        if isinstance(session, Judged):
            found["parts"].append("judged")
            found["judging"] = session.judging
        return found

    def _in_session(self, what: str, message: Mapping[str, Any]) -> Any:
        number = message["session"]
        session: Any = self._sessions.get(number)
        if session is None:
            return None if what == "close" else _closed(what)
        if what == "close":
            del self._sessions[number]
            return session.close()
        if what == "observe":
            return _seen(session.observe(frozenset(message["see"])))
        if what == "act":
            return _seen(session.act(action_of(message["action"]), frozenset(message["see"])))
        if what == "judge":
            judgement = session.judge()
            parts = plain(judgement.parts, "parts")
            return {
                "passed": bool(judgement.passed),
                "score": float(judgement.score),
                "parts": parts,
            }
        if what == "load":
            return session.load(decoded(message["state"]))
        if what in ("probe", "save"):
            return encoded(getattr(session, what)())
        raise Refused(f"a session has no call {what!r}")


def _closed(what: str) -> Any:
    from clew.core import SessionSpent

    raise SessionSpent(f"the session cannot {what}: it is closed")


def _seen(seen: Any) -> dict[str, Any]:
    channels = encoded({name: seen[name] for name in seen})
    return {"channels": channels, "ended": bool(seen.ended), "notes": plain(seen.notes, "notes")}


def encoded(value: Any) -> Any:
    """Plain data as it is, with arrays and bytes as `{"$value": base64}`."""
    if isinstance(value, (np.ndarray, bytes, bytearray, memoryview)):
        return {"$value": base64.b64encode(value_bytes(value)).decode()}
    if isinstance(value, Mapping):
        return {name: encoded(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [encoded(each) for each in value]
    return plain(value)


def decoded(data: Any) -> Any:
    """The inverse of `encoded`; tuples come back as tuples, as probes hold their names."""
    if isinstance(data, Mapping):
        if set(data) == {"$value"}:
            return bytes_value(base64.b64decode(data["$value"]))
        return {name: decoded(each) for name, each in data.items()}
    return tuple(decoded(each) for each in data) if isinstance(data, list) else data
