"""A session on a simulator's world that is built once and kept. It knows no simulator.

A world is a built task at any of its states; sessions take turns on it by saving and loading.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Generic, Literal, Protocol, TypeVar

from clew.core import Judgement, SessionSpent


class World(Protocol):
    """What a session needs of one."""

    success: bool

    def save(self) -> bytes: ...
    def load(self, state: bytes) -> None: ...
    def probe(self) -> dict[str, Any]: ...


W = TypeVar("W", bound=World)


class WorldSession(Generic[W]):
    """One episode on a world that it holds until it is closed, and then gives back.

    It begins at `state`. `judge` is the task's own success predicate of the current state.
    """

    exact = True
    judging: Literal["pure"] = "pure"
    #: The environment's name, for errors.
    name: ClassVar[str]

    def __init__(self, world: W, state: bytes, give_back: Callable[[W], None]) -> None:
        self._held: W | None = world
        # Restored when it is first needed: a session that is opened to be loaded skips it.
        self._initial: bytes | None = state
        self._give_back = give_back

    def probe(self) -> dict[str, Any]:
        """Names as in `clew.core.Moment`, `qpos`, `qvel` and what else the world has."""
        return self._world.probe()

    def save(self) -> bytes:
        return self._world.save()

    def load(self, state: bytes) -> None:
        """Back to a saved state of the same task; `Refused` for bytes that are not one."""
        self._open().load(state)
        self._initial = None

    def judge(self) -> Judgement:
        """The simulator's own success predicate, as the world last told it."""
        passed = self._world.success
        return Judgement(passed, float(passed))

    def close(self) -> None:
        if self._held is not None:
            self._give_back(self._held)
            self._held = None

    @property
    def _world(self) -> W:
        """The world, at this session's state."""
        world = self._open()
        if self._initial is not None:
            world.load(self._initial)
            self._initial = None
        return world

    def _open(self) -> W:
        if self._held is None:
            raise SessionSpent(f"this {self.name} session is closed")
        return self._held
