"""How anything goes wrong in clew. This docstring is the design; the classes only name it.

1. *Words.* `Refused` is bad input: one sentence of what, where and what to do (exit code 2).
   `Diverged` is a replay that did not reach its state: a measurement, not an accident.
   `SessionSpent` is an act after a final judgement: a bug in the caller's program.
   `Trouble` is a failure with a party at fault, and the only one that becomes a verdict.
2. *Attribution.* Environments, policies, oracles and matchers raise plain Python errors. The one
   `boundary` below turns them into `Trouble` with the party whose code was running.
3. *Surfacing.* The command line prints `Refused` and `Diverged` as one line; everything else is
   a fault of ours and keeps its traceback.
4. *Record.* `Trouble.cause` is what a result stores; see `clew.core.outcomes`.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clew.core.data import Evidence
    from clew.core.outcomes import Cause, Party


class ClewError(Exception):
    """Everything that clew itself raises."""


class Refused(ClewError):
    """Input that is not accepted: the message says what, where, and what to do."""


class SessionSpent(ClewError):
    """An act after a final judgement, or after the session was closed."""


class Diverged(ClewError):
    """A replay that did not reach the recorded state.

    `step` is the number of actions replayed when it was noticed (T for the target), `evidence`
    the comparison there, and `attempts` the evidence of every bounded retry, first one first.
    """

    def __init__(self, step: int, evidence: Evidence, attempts: tuple[Evidence, ...] = ()) -> None:
        self.step, self.evidence, self.attempts = step, evidence, attempts or (evidence,)
        super().__init__(
            f"the state after {step} actions is not the recorded one: {evidence.why()}"
        )


class Trouble(ClewError):
    """A failure that is somebody's: `cause` names the party, the kind and the detail."""

    def __init__(self, cause: Cause) -> None:
        self.cause = cause
        super().__init__(f"{cause.party}: {cause.kind}: {cause.detail}")


@contextmanager
def boundary(party: Party, kind: str = "error") -> Iterator[None]:
    """Attribute any plain error raised inside to `party`; our own errors pass unchanged."""
    try:
        yield
    except (ClewError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:
        raise attributed(error, party, kind) from error


def attributed(error: BaseException, party: Party, kind: str = "error") -> Trouble:
    """`error` as `Trouble` of `party`; the detail is its last line and where it was raised."""
    from clew.core.outcomes import Cause

    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({frames[-1].name}, line {frames[-1].lineno})" if frames else ""
    text = str(error).strip().splitlines()
    detail = f"{type(error).__name__}: {text[0] if text else ''}"[:500] + where
    return Trouble(Cause(party, kind, detail.encode("utf-8", "replace").decode("utf-8")))


def nearest(word: str, valid: Any) -> str:
    """'; did you mean X?' for the closest of `valid`, or the list of what is valid."""
    import difflib

    words = sorted(str(v) for v in valid)
    close = difflib.get_close_matches(str(word), words, n=1, cutoff=0.5)
    return f"did you mean {close[0]!r}?" if close else f"valid: {', '.join(words)}"
