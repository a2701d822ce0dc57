"""Units in the driver's own process, for a debugger: a pool of one. No warden, no deadline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from clew.core import Cause, Refused
from clew.run.pool import NEW, Pool, Worker
from clew.run.pulse import Phase, Pulse, new_pulse_fd
from clew.run.units import Unit


class HerePool(Pool):
    """As a pool of workers, but a unit is done when `give` returns."""

    def start(
        self, interpreter: Path, paths: Sequence[str], folder: Path, segment: str, environment: str
    ) -> Worker:
        worker = _Here(folder, segment, environment)
        self.workers.append(worker)
        return worker

    def give(self, worker: Worker, unit: Unit, message: Mapping[str, Any]) -> None:
        worker.give(unit, message)

    def remove(self, worker: Worker) -> None:
        self.workers.remove(worker)

    def ready(self, timeout_s: float) -> list[Worker]:
        return [worker for worker in self.workers if worker.unit is not None]


class _Here(Worker):
    """A bench in this process. It has no process of its own, so nothing of `Worker`'s is set up."""

    def __init__(self, folder: Path, segment: str, environment: str) -> None:
        from clew.run.bench import Bench

        self.segment, self.environment = segment, environment
        self.unit, self.affinity, self._started = None, NEW, None
        self.pulse = Pulse(new_pulse_fd())
        self._bench = Bench(folder, segment, self.pulse)
        self._reply: dict[str, Any] = {}

    def give(self, unit: Unit, message: Mapping[str, Any]) -> None:
        from clew.run.bench import serve

        self.unit, self.affinity = unit, unit.affinity
        try:
            self._reply = serve(self._bench, message)
        except SystemExit as error:
            raise Refused(
                f"unit {unit.digest} ended the process (exit code {error.code}): run it in a worker"
            ) from error

    def receive(self) -> dict[str, Any] | None:
        return self._reply

    def overdue(self, deadlines: Mapping[str, float]) -> tuple[Phase, float] | None:
        return None

    def end(self) -> int:
        self._bench.close()
        return 0

    def death(self) -> Cause:
        raise AssertionError("the driver's own process does not end under it")
