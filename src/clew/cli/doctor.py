"""`clew doctor`: what can run here and why not. The looking is in `clew.doctor`."""

from __future__ import annotations

import argparse
from typing import Any


def add(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "doctor",
        description="Say what can run here: one line per environment and policy (works, "
        "protocol-tested, or missing with the command that installs it).",
    )
    parser.set_defaults(call=_doctor)


def _doctor(arguments: argparse.Namespace) -> int:
    from clew.doctor import lines

    for line in lines():
        print(line)
    return 0
