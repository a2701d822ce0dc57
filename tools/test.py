"""Runs every test: all of them in `.venv`, then each simulator's in that simulator's environment.

Run by `make test` with `.venv/bin/python`. Exits non-zero if anything failed.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

from clew.core import Refused
from clew.environment_install import install

ROOT = Path(__file__).resolve().parent.parent
#: The environments with an interpreter of their own, and their tests; LIBERO's slow ones take long.
OWN = {
    "metaworld": ["tests/environments/test_metaworld.py"],
    "libero": ["tests/environments/test_libero.py", "-m", "not slow"],
}


def main() -> int:
    pythons = {name: installed(name) for name in OWN}
    installed("web")  # without it the tests of its applications say that they were skipped, and why
    python = Path(sys.executable)
    passed = [pytest(python, ["-m", "not slow", "-n", "4", "--dist", "worksteal"])]
    # One at a time: they measure kills, full disks and screens.
    passed.append(pytest(python, ["-m", "slow"]))
    for name, python in pythons.items():
        if python:
            print(f"\ntests of {name}, in its own environment:", flush=True)
            path = {"PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{test_tools(name, python)}"}
            passed.append(pytest(python, OWN[name], path))
    return 0 if all(passed) and all(pythons.values()) else 1


def installed(name: str) -> Path | None:
    try:
        return install(name)
    except Refused as error:
        print(f"clew: {error}", file=sys.stderr, flush=True)
        return None


def pytest(python: Path, arguments: list[str], extra: dict[str, str] | None = None) -> bool:
    command = [str(python), "-m", "pytest", *arguments]
    return subprocess.run(command, cwd=ROOT, env={**os.environ, **(extra or {})}).returncode == 0


def test_tools(name: str, python: Path) -> Path:
    """A folder with pytest for an environment's own Python, whose packages stay as pinned."""
    lock = ROOT / "requirements" / "tests.txt"
    key = hashlib.sha256(lock.read_bytes() + str(python).encode()).hexdigest()[:12]
    folder = ROOT / ".make" / f"{name}-{key}"
    stamp = folder / "stamp"
    if not stamp.exists():
        pip = [str(python), "-m", "pip", "--disable-pip-version-check", "install", "-q"]
        listed = [
            "--no-deps",
            "--require-hashes",
            "-r",
            str(lock),
            "--target",
            str(folder),
            "--upgrade",
        ]
        subprocess.run([*pip, *listed], check=True, stdin=subprocess.DEVNULL)
        stamp.touch()
    return folder


if __name__ == "__main__":
    sys.exit(main())
