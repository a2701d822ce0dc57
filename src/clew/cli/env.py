"""`clew env`: the environments' own virtual environments. The work is in `environment_install`."""

from __future__ import annotations

import argparse
import sys
from typing import Any


def add(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "env", description="Virtual environments that simulators have to themselves."
    )
    verbs = parser.add_subparsers(title="verbs", metavar="VERB", required=True)
    install = verbs.add_parser("install", help="build one from its pinned list, or finish it")
    install.add_argument("name", metavar="NAME")
    install.set_defaults(call=_install)
    listing = verbs.add_parser("list", help="say which there are, and where")
    listing.set_defaults(call=_list)
    remove = verbs.add_parser("remove", help="delete one, with its older versions")
    remove.add_argument("name", metavar="NAME")
    remove.set_defaults(call=_remove)


def _install(arguments: argparse.Namespace) -> int:
    from clew.environment_install import install

    python = install(arguments.name, _progress)
    print(f"{arguments.name} runs in {python}")
    return 0


def _list(arguments: argparse.Namespace) -> int:
    from clew.doctor import remedy_of
    from clew.environment_install import installations, interpreter
    from clew.registry import manifests

    for name, found in manifests("environment").items():
        remedy = remedy_of(found)
        python = None if remedy else interpreter(name)
        print(f"{name:<20} {python or 'missing: ' + remedy}")
        for folder in installations(name):
            if not python or folder not in python.parents:
                print(f"{'':<20} interrupted, or of another list or Python: {folder}")
    return 0


def _remove(arguments: argparse.Namespace) -> int:
    from clew.environment_install import remove

    for folder in remove(arguments.name, _progress):
        print(f"removed {folder}")
    return 0


def _progress(line: str) -> None:
    print(f"clew: {line}", file=sys.stderr, flush=True)
