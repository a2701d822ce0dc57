"""The command line: it parses, calls and prints, and holds no logic of its own.

Exit codes: 0 done; 1 a replay diverged; 2 bad input, one line on stderr; 130 interrupted; 141 the
reader of the output went away, as in `clew doctor | head -1`. Anything else is a fault of clew's
and keeps its traceback. `clew --help` imports neither clew's core nor
numpy: a command's module is imported when that command is called.
"""

from __future__ import annotations

import argparse
import importlib
import os
import select
import sys
from collections.abc import Callable, Sequence
from typing import NoReturn, TextIO

#: One line per command: its name, the module whose `add(subparsers)` defines it, what it does.
COMMANDS: tuple[tuple[str, str, str], ...] = (
    ("run", "clew.cli.run", "run a plan; go on where it stopped"),
    ("resume", "clew.cli.run", "go on with a run, under its own plan"),
    ("plan", "clew.cli.run", "say what a plan would run, how long, how much disk"),
    ("report", "clew.cli.run", "write a finished run's tables and report again"),
    ("verify", "clew.cli.keep", "recompute a run's tables and run a sample of it again"),
    ("pack", "clew.cli.keep", "put a run into one file"),
    ("unpack", "clew.cli.keep", "take a run out of a pack"),
    ("gc", "clew.cli.keep", "drop what nothing in a run refers to"),
    ("env", "clew.cli.env", "install, list and remove environments that simulators have of their own"),
    ("doctor", "clew.cli.doctor", "say what can run here, and the command that installs the rest"),
)  # fmt: skip


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        return _answered(words)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        gone = [stream for stream in (sys.stdout, sys.stderr) if _unread(stream)]
        if not gone:
            raise
        _silence(gone)
        return 141


def _answered(words: list[str]) -> int:
    try:
        arguments = _parsed(words)
        return _called(arguments.call, arguments)
    finally:
        if sys.stdout is not None:  # closed by the caller: `clew doctor >&-`
            sys.stdout.flush()  # while it can still be told that nobody reads


def _unread(stream: TextIO | None) -> bool:
    """Whether the other end of a stream is closed."""
    try:
        waiting = select.poll()
        waiting.register(stream.fileno(), 0)  # type: ignore[union-attr]
    except (AttributeError, OSError, ValueError):  # no stream, or none of the system's
        return False
    return any(what & (select.POLLERR | select.POLLHUP) for _, what in waiting.poll(0))


def _silence(streams: list[TextIO]) -> None:
    """Send what the interpreter still flushes at its end to nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in streams:
        os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def _called(call: Callable[[argparse.Namespace], int], arguments: argparse.Namespace) -> int:
    from clew.core.errors import Diverged, Refused

    try:
        return call(arguments)
    except Refused as error:
        print(f"clew: {error}", file=sys.stderr)
        return 2
    except Diverged as error:
        print(f"clew: {error}", file=sys.stderr)
        return 1


def _parsed(words: list[str]) -> argparse.Namespace:
    """The arguments, with the function to call as `call`."""
    from clew import __version__

    parser = Parser(
        prog="clew",
        description="Do agents recover from their own mistakes? Replay finds the state, "
        "the task's own oracle judges it.",
        epilog="clew COMMAND --help says more about one.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"clew {__version__}")
    subparsers = parser.add_subparsers(
        title="commands", metavar="COMMAND", required=True, parser_class=Parser
    )
    command = words[0] if words else ""
    modules = {name: module for name, module, _ in COMMANDS}
    if command in modules:
        importlib.import_module(modules[command]).add(subparsers)
    elif command.startswith("-") or not command:
        for name, _, summary in COMMANDS:
            subparsers.add_parser(name, help=summary)
    else:
        from clew.core.errors import nearest

        parser.error(f"there is no command {command!r}; {nearest(command, modules)}")
    return parser.parse_args(words)


class Parser(argparse.ArgumentParser):
    """Says what is wrong with a command line in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"clew: {message} (see {self.prog} --help)\n")
