"""An environment in a process of its own, under a warden, in its own interpreter: used like any other.

    with closing(remote("metaworld")) as environment: ...
    certify(lambda: remote("metaworld"), trajectory, match)

Every `remote(...)` is a new process, so this is what `certify` wants as `fresh`. Values travel as
JSON and base64, never as pickles. The other side is `clew.run.serving`.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from clew.core import (
    Action,
    Channels,
    Fingerprint,
    Judgement,
    Refused,
    Seen,
    Session,
    SessionSpent,
    Start,
    action_json,
)
from clew.environment_install import home
from clew.run.drive import interpreter
from clew.run.engine import place
from clew.run.executor import DEADLINES
from clew.run.pool import Worker
from clew.run.serving import decoded, encoded


def remote(name: str, *, deadlines: Mapping[str, float] = DEADLINES) -> RemoteEnvironment:
    """The named environment in a new process. Raises `Refused` if it is not installed."""
    return RemoteEnvironment(name, {**DEADLINES, **deadlines})


class RemoteEnvironment:
    """The near side. Errors of the far side are raised here, of the same kind where they are ours."""

    def __init__(self, name: str, deadlines: Mapping[str, float]) -> None:
        self._name, self._deadlines = name, deadlines
        python = interpreter(name)
        _, engine = place(home() / "engine")
        self._folder = Path(tempfile.mkdtemp(prefix="clew-remote-"))
        self._worker = Worker(python, (str(engine),), self._folder, "remote", name)
        self._ended = False

    def open(self, start: Start) -> Session:
        opened = self.call("open", "open", start=start.json())
        parts = tuple(_PARTS[part] for part in opened["parts"])
        kind = type("RemoteSession", (*parts, _Session), {})
        session: Session = kind(self, opened)
        return session

    def fingerprint(self) -> Fingerprint:
        found: dict[str, str] = self.call("fingerprint", "open")
        return found

    def tasks(self) -> tuple[str, ...]:
        return tuple(self.call("tasks", "open"))

    def start(self, task: str, seed: int = 0, **options: Any) -> Start:
        return Start.of(self.call("start", "open", task=task, seed=seed, options=options))

    def instruction(self, task: str) -> str:
        return str(self.call("instruction", "open", task=task))

    def budget(self, task: str) -> int:
        return int(self.call("budget", "open", task=task))

    def close(self) -> None:
        """End the process and everything below it."""
        if not self._ended:
            self._ended = True
            self._worker.end()
            shutil.rmtree(self._folder, ignore_errors=True)

    def call(self, what: str, phase: str, **arguments: Any) -> Any:
        """One request and its answer; at the phase's deadline the process is ended."""
        if self._ended:
            raise SessionSpent(f"environment {self._name!r} is closed: it cannot {what}")
        self._worker.send({"call": what, "environment": self._name, **arguments})
        reply = self._answer(self._deadlines[phase], what)
        if "error" not in reply:
            return reply["value"]
        kinds: dict[str, type[Exception]] = {"Refused": Refused, "SessionSpent": SessionSpent}
        raise kinds.get(reply["kind"], RuntimeError)(reply["error"])

    def _answer(self, deadline_s: float, what: str) -> dict[str, Any]:
        until = time.monotonic() + deadline_s
        while (left := until - time.monotonic()) > 0:
            reply = self._worker.wait(left)
            if reply is None:
                self._ended = True
                shutil.rmtree(self._folder, ignore_errors=True)
                raise RuntimeError(
                    f"the process of {self._name!r} ended: {self._worker.death().detail}"
                )
            if reply:
                return reply
        self.close()
        raise TimeoutError(f"{what} lasted over {deadline_s:.0f} s; its process was ended")


class _Session:
    def __init__(self, environment: RemoteEnvironment, opened: Mapping[str, Any]) -> None:
        self._environment, self._number, self._opened = environment, opened["session"], opened

    def observe(self, see: Channels) -> Seen:
        return self._seen(self._call("observe", "act", see=sorted(see)))

    def act(self, action: Action, see: Channels) -> Seen:
        return self._seen(self._call("act", "act", action=action_json(action), see=sorted(see)))

    def close(self) -> None:
        if not self._environment._ended:
            self._call("close", "close")

    def _call(self, what: str, phase: str, **arguments: Any) -> Any:
        return self._environment.call(f"session.{what}", phase, session=self._number, **arguments)

    def _seen(self, data: Mapping[str, Any]) -> Seen:
        return Seen(decoded(data["channels"]), data["ended"], data["notes"])


class _Probed(_Session):
    def probe(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = decoded(self._call("probe", "act"))
        return found


class _Saved(_Session):
    @property
    def exact(self) -> bool:
        return bool(self._opened["exact"])

    def save(self) -> bytes:
        return bytes(decoded(self._call("save", "act")))

    def load(self, state: bytes) -> None:
        self._call("load", "act", state=encoded(state))


class _Judged(_Session):
    @property
    def judging(self) -> str:
        return str(self._opened["judging"])

    def judge(self) -> Judgement:
        data = self._call("judge", "act")
        return Judgement(data["passed"], data["score"], data["parts"])


_PARTS: Mapping[str, type] = {"probed": _Probed, "saved": _Saved, "judged": _Judged}
