"""Which code made a result: short digests of the engine and of a policy's or environment's source.

Built-in plug-ins are part of the engine. Of other code the file of its module counts, or all source
files of its top-level package; what that imports from elsewhere does not. Nothing is imported here.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from functools import lru_cache
from importlib.machinery import PathFinder
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from clew.core import Refused, digest
from clew.registry import Kind, manifest

#: What counts as source, in a package and in the engine.
SUFFIXES = frozenset({
    ".conf", ".css", ".html", ".js", ".json", ".py", ".sh", ".toml", ".txt", ".xml", ".yaml",
})  # fmt: skip
_SHORT = 12
#: (name, short digest) of the engine and of each policy and environment of other code, sorted.
Code = tuple[tuple[str, str], ...]


def short(name: str) -> str:
    """A digest as results and messages name it."""
    return name[:_SHORT]


def listing(root: Path) -> dict[str, bytes]:
    """The source files below a folder by their names in it, sorted."""
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.suffix in SUFFIXES and "__pycache__" not in path.parts and path.is_file()
    }


def digest_of(files: Mapping[str, bytes]) -> str:
    """One digest of files by name; equal sources give equal digests."""
    return digest("".join(f"{digest(data)} {name}\n" for name, data in files.items()).encode())


@lru_cache(maxsize=256)
def loaded_source(kind: Kind, name: str) -> str:
    """As `source`, asked once in a process: what was imported stays, whatever becomes of its file."""
    return source(kind, name)


def source(kind: Kind, name: str) -> str:
    """A plug-in's digest as its source is now; empty for a built-in one and for what has no file."""
    found = manifest(kind, name)
    if found.distribution == "clew":
        return ""
    top, *inner = found.object.partition(":")[0].split(".")
    spec = PathFinder.find_spec(top, [*sys.path, os.getcwd()]) or find_spec(top)
    if spec is None:
        return ""
    file = Path(spec.origin) if spec.has_location and spec.origin else None
    if file is None:  # a namespace: of its folders only what the name leads to
        places = [Path(place, *inner) for place in spec.submodule_search_locations or ()]
        named = [place.with_suffix(".py") for place in places]
        files = {file.name: file.read_bytes() for file in named if file.is_file()}
    elif spec.submodule_search_locations is None:
        files = {file.name: file.read_bytes()} if file.is_file() else {}
    else:
        files = listing(file.parent)
    return short(digest_of(files)) if files else ""


def changed(was: Mapping[str, str], now: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Name → (digest then, digest now) of what is known of both and differs."""
    return {n: (was[n], now[n]) for n in sorted(was) if n in now and was[n] != now[n]}


def made_otherwise(made_by: Mapping[Code, int], now: Mapping[str, str]) -> str:
    """How many results were made by other code than `now`, and what differs; or nothing."""
    others = 0
    differs: set[str] = set()
    for code, count in made_by.items():
        found = changed(dict(code), now)
        others += count if found else 0
        differs |= {f"{name} {then} -> {new}" for name, (then, new) in found.items()}
    if not others:
        return ""
    total = sum(made_by.values())
    results, were = ("result", "was") if total == 1 else ("results", "were")
    return f"of {total} {results} {others} {were} made by other code: {', '.join(sorted(differs))}"


def code_items(about: Mapping[str, Any]) -> Code:
    """The name and digest of each part of the code that made a result, as far as it says."""
    code = about.get("code")
    return tuple(sorted(code.items())) if code else ()


def other_code(what: str, folder: Path) -> Refused:
    """The sentence that stops a run before it mixes."""
    return Refused(
        f"{folder}: {what}; put that code back, begin another folder, or go on with --mixed"
        " (tables will say so)"
    )
