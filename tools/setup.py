"""Sets up `.venv` for `make`: locked packages, clew itself, system packages. Runs nothing else.

    python3 tools/setup.py run     what `make demo` needs
    python3 tools/setup.py dev     what `make test` and `make check` need

Standard library only. Every step leaves a stamp of all it depended on, and is skipped, without
touching the network, while that stamp is true.
"""

from __future__ import annotations

import ctypes.util
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
LOCKS = {kind: ROOT / "requirements" / f"{kind}.txt" for kind in ("run", "dev")}
OLDEST = (3, 10)

#: What draws frames without a screen: the libraries, and Debian's packages of them.
GL_PACKAGES = {"OSMesa": "libosmesa6", "EGL": "libegl1", "GL": "libgl1"}

#: Debian's packages of graphical sessions, for the tests: the desktop, a browser, applications.
SESSION_PACKAGES = (
    "at-spi2-core", "bubblewrap", "chromium", "dbus", "faketime", "fonts-dejavu-core", "galculator",
    "gimp", "gnome-calculator", "gsettings-desktop-schemas", "libatk-adaptor", "libreoffice-calc",
    "libreoffice-gtk3", "libreoffice-writer", "mousepad", "openbox", "pcmanfm", "x11-utils",
    "xterm", "xvfb",
)  # fmt: skip


def main(kind: str) -> None:
    version = make_venv()
    install_packages(kind, version)
    install_clew(version)
    install_gl()
    if kind == "dev":
        install_sessions()


def make_venv() -> str:
    """Make `.venv` if there is no usable one; returns its Python's version."""
    version = version_of(PYTHON)
    if version:
        return version
    if sys.version_info < OLDEST:
        found = f"{sys.version_info[0]}.{sys.version_info[1]}"
        stop(f"clew needs Python 3.10 or newer, {sys.executable} is {found}; say make PYTHON=…")
    if not has_venv():
        package = f"python3.{sys.version_info[1]}-venv"
        if not apt_install([package]) or not has_venv():
            stop(f"Python's venv is missing; an administrator must run: apt-get install {package}")
    say("making .venv")
    run([sys.executable, "-m", "venv", "--clear", str(VENV)])
    return version_of(PYTHON)


def install_packages(kind: str, version: str) -> None:
    """Install the locked packages of a kind; those of `dev` include those of `run`."""
    stamps = {each: digest(version.encode(), lock.read_bytes()) for each, lock in LOCKS.items()}
    if any(is_stamped(each, stamps[each]) for each in {kind, "dev"}):
        return
    say(f"installing the packages of requirements/{kind}.txt into .venv (a few minutes)")
    # The list is complete. Resolving it again fails in older pips (before 23.1), which find no
    # hash for a requirement with an extra.
    pip(["--no-deps", "--require-hashes", "--requirement", str(LOCKS[kind])])
    stamp(kind, stamps[kind])


def install_clew(version: str) -> None:
    """Install clew so that edits take effect; the build back end is among the locked packages."""
    project = (ROOT / "pyproject.toml").read_bytes()
    true = digest(version.encode(), project, str(ROOT).encode())
    if is_stamped("clew", true):
        return
    pip(["--no-deps", "--no-build-isolation", "--no-index", "--editable", str(ROOT)])
    stamp("clew", true)


def install_gl() -> None:
    """Install missing GL libraries if allowed; without them clew works, and frames are off."""
    if sys.platform != "linux":
        return
    missing = [p for library, p in GL_PACKAGES.items() if not ctypes.util.find_library(library)]
    true = digest(" ".join(missing).encode())
    if not missing or is_stamped("gl", true):
        return
    if not apt_install(missing):
        say(f"frames may be off; an administrator can run: apt-get install {' '.join(missing)}")
    stamp("gl", true)


def install_sessions() -> None:
    """Install what graphical sessions need if allowed; without it their tests say what is missing."""
    if sys.platform != "linux" or not shutil.which("dpkg-query"):
        return
    missing = [p for p in SESSION_PACKAGES if not is_installed(p)]
    true = digest(" ".join(missing).encode())
    if not missing or is_stamped("sessions", true):
        return
    if not apt_install(missing):
        say(
            f"graphical sessions are off; an administrator can run: apt-get install {' '.join(missing)}"
        )
    stamp("sessions", true)


def is_installed(package: str) -> bool:
    """Whether dpkg has this package, whole."""
    command = ["dpkg-query", "--show", "--showformat=${db:Status-Abbrev}", package]
    ended = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    return ended.stdout.startswith("ii")


def apt_install(packages: Sequence[str]) -> bool:
    """Whether apt installed those of `packages` that it offers; False where it may not."""
    may = [] if os.geteuid() == 0 else ["sudo", "-n"]
    if not shutil.which("apt-get"):
        return False
    if may and not (shutil.which("sudo") and succeeds([*may, "true"])):
        return False
    say(f"installing system packages: {' '.join(packages)}")
    apt = [*may, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq"]
    succeeds([*apt, "update"])
    offered = [p for p in packages if succeeds(["apt-cache", "show", p])]
    return bool(offered) and succeeds(
        [*apt, "install", "--yes", "--no-install-recommends", *offered]
    )


def has_venv() -> bool:
    """Whether this Python can make a virtual environment with pip in it."""
    return succeeds([sys.executable, "-c", "from ensurepip import bootstrap; import venv"])


def version_of(python: Path) -> str:
    """Version and platform tag of a virtual environment's Python; empty if it or its pip is broken."""
    code = "import pip, sys; print(sys.version, sys.platform, sys.prefix)"
    if not python.exists():
        return ""
    ended = subprocess.run([str(python), "-c", code], capture_output=True, text=True)
    return ended.stdout if ended.returncode == 0 else ""


def pip(arguments: Sequence[str]) -> None:
    run([str(PYTHON), "-m", "pip", "--disable-pip-version-check", "install", "-q", *arguments])


def run(command: Sequence[str]) -> None:
    ended = subprocess.run(command, stdin=subprocess.DEVNULL)
    if ended.returncode:
        stop(f"this failed, see above; run make again to go on: {' '.join(command)}")


def succeeds(command: Sequence[str]) -> bool:
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True).returncode == 0


def digest(*parts: bytes) -> str:
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def is_stamped(step: str, true: str) -> bool:
    file = VENV / f".stamp-{step}"
    return file.exists() and file.read_text() == true


def stamp(step: str, true: str) -> None:
    (VENV / f".stamp-{step}").write_text(true)


def say(line: str) -> None:
    print(f"set-up: {line}", flush=True)


def stop(line: str) -> None:
    sys.exit(f"set-up: {line}")


if __name__ == "__main__":
    if sys.argv[1:] not in (["run"], ["dev"]):
        stop("usage: python3 tools/setup.py run|dev")
    main(sys.argv[1])
