"""Every task of the graphical suite: solved by its script, not by doing nothing, and certified.

    python bench/suite.py [NAME …] [--replays 3] [--markdown FILE]

NAME is an environment (`desktop`, `web`) or a task; all by default. Each task is solved once and
recorded, judged, tried with a null solution, and certified by cold replays, each in a new process:
by the preset `retrace`, and beside it how many replays had every frame equal to the byte.
Beside the time per step stands the papers' fixed wait of ten seconds (ReTrace).
"""

from __future__ import annotations

import argparse
import functools
import statistics
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clew import registry
from clew.core import Certificate, ClewError
from clew.environments.gui import PRESETS
from clew.match import preset
from clew.replay import begin, certify
from clew.run.remote import remote
from clew.stats import wilson

ENVIRONMENTS = ("desktop", "web")
SEE = frozenset({"frame"})


@dataclass(frozen=True)
class Row:
    """What was found of one task."""

    task: str
    steps: int
    passed: bool
    null: bool
    certificate: Certificate | None
    step_s: float
    error: str = ""

    def cells(self) -> list[str]:
        certified = self.certificate
        return [
            self.task, str(self.steps), "yes" if self.passed else "NO",
            "passes" if self.null else "fails",
            f"{certified.passed}/{certified.replays}" if certified else "0",
            f"{_identical(certified)}/{certified.replays}" if certified else "0",
            f"{self.step_s:.2f}", self.error or _divergence(certified),
        ]  # fmt: skip


HEAD = ["task", "steps", "solved", "null", "certified", "identical", "s a step", "divergence"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--replays", type=int, default=3)
    parser.add_argument("--markdown", type=Path)
    asked = parser.parse_args()
    rows: list[Row] = []
    print(" | ".join(HEAD), flush=True)
    for name in ENVIRONMENTS:
        environment: Any = registry.environment(name)
        for task in environment.tasks():
            wanted = not asked.names or name in asked.names or task in asked.names
            if wanted and environment.solution(task):
                rows.append(_row(name, environment, task, asked.replays))
                print(" | ".join(rows[-1].cells()), flush=True)
        environment.close()
    text = _summary(rows)
    print(text)
    if asked.markdown:
        lines = ["| " + " | ".join(cells) + " |" for cells in [HEAD, ["---"] * len(HEAD)]]
        lines += ["| " + " | ".join(row.cells()) + " |" for row in rows]
        asked.markdown.write_text("\n".join([*lines, "", text, ""]))
    return 0 if rows and all(row.passed and not row.null for row in rows) else 1


def _row(name: str, environment: Any, task: str, replays: int) -> Row:
    actions = environment.solution(task)
    start = environment.start(task)
    try:
        with begin(environment, start) as untouched:
            null = untouched.judge().passed
        with begin(environment, start, see=SEE, probe=True) as episode:
            began = time.perf_counter()
            for action in actions:
                episode.act(action)
            step_s = (time.perf_counter() - began) / len(actions)
            passed, trajectory = episode.judge().passed, episode.trajectory
        fresh = functools.partial(remote, name)
        certificate = certify(fresh, trajectory, preset("retrace"), replays)
    except (ClewError, OSError, RuntimeError) as error:
        return Row(task, len(actions), False, False, None, 0.0, f"{type(error).__name__}: {error}")
    return Row(task, len(actions), passed, null, certificate, step_s)


def _identical(certificate: Certificate) -> int:
    """The replays in which every frame was that of the recording, to the byte."""
    return sum(
        trouble is None and all(evidence.rungs["frame.identical"] == 1 for evidence in path)
        for path, trouble in zip(certificate.paths, certificate.troubles)
    )


def _divergence(certificate: Certificate | None) -> str:
    """The first moment that differs in the first replay that was not reproduced, and by what."""
    if certificate is None or certificate.passed == certificate.replays:
        return ""
    for path, trouble in zip(certificate.paths, certificate.troubles):
        if trouble is not None:
            return trouble
        if not path[-1].same:
            t = next(t for t, evidence in enumerate(path) if not evidence.same)
            wrong = {k: v for k, v in path[t].rungs.items() if not k.endswith("identical")}
            return f"moment {t}: " + ", ".join(f"{k} {v:.4g}" for k, v in wrong.items())
    return ""


def _summary(rows: list[Row]) -> str:
    certified = [row.certificate for row in rows if row.certificate]
    passed, replays = sum(c.passed for c in certified), sum(c.replays for c in certified)
    identical = sum(map(_identical, certified))
    whole = sum(c.passed == c.replays for c in certified)
    low, high = wilson(passed, replays) if replays else (0.0, 1.0)
    step_s = statistics.median(row.step_s for row in rows if row.step_s) if certified else 0.0
    fixed_s = PRESETS["papers"].cap_ms / 1000
    return (
        f"{len(rows)} tasks, {sum(r.passed for r in rows)} solved, {sum(r.null for r in rows)} passed"
        f" by doing nothing; {whole} reproduced in every replay, {passed} of {replays} replays"
        f" ({low:.3f} to {high:.3f}), {identical} with every frame equal to the byte; median {step_s:.2f} s a step,"
        f" {fixed_s / step_s if step_s else 0:.0f} times less than a fixed wait of {fixed_s:.0f} s"
    )


if __name__ == "__main__":
    sys.exit(main())
