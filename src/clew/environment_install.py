"""Virtual environments that simulators have to themselves; `clew.registry` knows which need one.

Each lies under `$CLEW_HOME/environments/NAME/DIGEST`, the digest being of its pinned list, the
Python version and the platform. Its stamp is written last, so a folder without one is an
installation that was interrupted: it is built anew, from the downloads that pip has kept.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from clew.core.errors import Refused
from clew.registry import Manifest, manifest, prepare

STAMP = "installed.json"
LIST = "requirements.txt"
#: Minor versions of Python 3 that clew runs on, the newest first.
MINORS = (13, 12, 11, 10)

Say = Callable[[str], None]


@dataclass(frozen=True)
class Place:
    """Where an environment's own virtual environment is, or would be."""

    folder: Path
    base_python: Path

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    @property
    def installed(self) -> bool:
        return (self.folder / STAMP).is_file()


def home() -> Path:
    """`$CLEW_HOME`, else `$XDG_DATA_HOME/clew`, else `~/.local/share/clew`."""
    if os.environ.get("CLEW_HOME"):
        return Path(os.environ["CLEW_HOME"]).absolute()
    data = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(data, "clew").absolute()


def interpreter(name: str) -> Path | None:
    """The Python that runs this environment's units; None if it is still to be installed.

    Instant: a stamp is looked up and nothing is started. An environment without one of its own
    runs in the current interpreter, whether or not its imports are there.
    """
    found = manifest("environment", name)
    if not found.own_environment:
        return Path(sys.executable)
    place = place_of(found)
    return place.python if place.installed else None


def place_of(found: Manifest) -> Place:
    """The place for a manifest's own environment. Raises `Refused` if no Python suits it."""
    minor, base_python = _base_python(found)
    what = (found.requirements(), f"python3.{minor}".encode(), sysconfig.get_platform().encode())
    digest = hashlib.sha256(b"\n".join(what)).hexdigest()[:16]
    return Place(home() / "environments" / found.name / digest, base_python)


def install(name: str, say: Say = print) -> Path:
    """Build, verify and stamp an environment's own virtual environment; returns its Python.

    Instant and offline when it is installed already. A second caller waits for the first. Raises
    `Refused` if a step fails; calling again then finishes the work.
    """
    found = manifest("environment", name)
    if not found.own_environment:
        python = _needs_nothing(found)
        prepare(found, say)
        return python
    place = place_of(found)
    if place.installed:
        return place.python
    with _locked(place.folder, say) as lock:
        if not place.installed:
            _build(found, place, say, lock)
    return place.python


def remove(name: str, say: Say = print) -> list[Path]:
    """Delete every installation of an environment, also of older lists; returns what went."""
    manifest("environment", name)
    folders = installations(name)
    for folder in folders:
        with _locked(folder, say):
            # The stamp goes first: a removal that is interrupted must not look installed.
            (folder / STAMP).unlink(missing_ok=True)
            shutil.rmtree(folder)
    return folders


def installations(name: str) -> list[Path]:
    """The folders of an environment: installed, interrupted, or of an older list."""
    top = home() / "environments" / name
    return sorted(entry for entry in top.iterdir() if entry.is_dir()) if top.is_dir() else []


def _needs_nothing(found: Manifest) -> Path:
    missing = found.missing()
    if missing:
        raise Refused(
            f"environment {found.name!r} runs in the interpreter that runs clew, which lacks "
            f"{' and '.join(missing)}; run: {found.install_command()}"
        )
    return Path(sys.executable)


def _base_python(found: Manifest) -> tuple[int, Path]:
    """The minor version and the Python to build with: the running one if it suits."""
    running = sys.version_info.minor
    if found.accepts_python(running):
        return running, Path(sys.executable)
    for minor in MINORS:
        path = shutil.which(f"python3.{minor}") if found.accepts_python(minor) else None
        if path:
            return minor, Path(path)
    suits = [f"python3.{minor}" for minor in MINORS if found.accepts_python(minor)]
    raise Refused(
        f"environment {found.name!r} needs Python {found.python}, and clew runs on 3.{running}; "
        f"install one of {', '.join(suits) or 'no version that clew runs on'} and put it on PATH"
    )


def _build(found: Manifest, place: Place, say: Say, lock: int) -> None:
    if place.folder.exists():
        say(f"an installation of {found.name} was interrupted; building it anew")
        shutil.rmtree(place.folder)
    say(f"installing {found.name} into {place.folder} (this may take minutes)")
    place.folder.mkdir(parents=True)
    (place.folder / LIST).write_bytes(found.requirements())
    for failure, command in _steps(found, place):
        # The children hold the lock as well: after a kill -9 of this process the next caller
        # waits for a pip that is still writing.
        ended = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=2, pass_fds=(lock,))
        if ended.returncode:
            raise Refused(
                f"environment {found.name!r} is not installed: {failure} (exit code "
                f"{ended.returncode}, see above); then run again: {found.install_command()}"
            )
    _write_stamp(found, place)


def _steps(found: Manifest, place: Place) -> Iterator[tuple[str, list[str]]]:
    """The commands that build and verify, each with what its failure means."""
    python = [str(place.python), "-I"]
    pip = [*python, "-m", "pip", "--disable-pip-version-check", "--no-input"]
    make = [str(place.base_python), "-I", "-m", "venv", str(place.folder)]
    yield "Python's venv failed" + _venv_hint(place), make
    # Without --no-deps, pips before 23.1 find no hash for a requirement with an extra. Whether
    # the list is complete is what `pip check` tells.
    listed = ["-q", "--no-deps", "--require-hashes", "--requirement", str(place.folder / LIST)]
    yield "pip could not install its list", [*pip, "install", *listed]
    yield "its packages do not fit together", [*pip, "check"]
    imports = "; ".join(f"import {module}" for module in found.imports)
    yield "an import failed" + _apt_hint(found), [*python, "-c", imports]


def _venv_hint(place: Place) -> str:
    if place.base_python != Path(sys.executable) or importlib.util.find_spec("ensurepip"):
        return ""
    return f"; an administrator must run: apt-get install python3.{sys.version_info.minor}-venv"


def _apt_hint(found: Manifest) -> str:
    if not found.apt or not shutil.which("apt-get"):
        return ""
    return f"; it may need: apt-get install {' '.join(found.apt)}"


def _write_stamp(found: Manifest, place: Place) -> None:
    """The stamp appears whole or not at all, also after a power cut."""
    facts = {
        "environment": found.name,
        "list_sha256": hashlib.sha256(found.requirements()).hexdigest(),
        "platform": sysconfig.get_platform(),
    }
    half = place.folder / f"{STAMP}.half"
    with open(half, "w", encoding="utf-8") as file:
        json.dump(facts, file, indent=1)
        file.flush()
        os.fsync(file.fileno())
    os.replace(half, place.folder / STAMP)


@contextmanager
def _locked(folder: Path, say: Say) -> Iterator[int]:
    """One process at a time for a folder; yields the descriptor that holds the lock."""
    import fcntl

    folder.parent.mkdir(parents=True, exist_ok=True)
    with open(folder.with_suffix(".lock"), "w", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"another process is at work on {folder}; waiting for it")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield file.fileno()
