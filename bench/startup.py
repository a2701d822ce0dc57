"""How long `clew --help` takes, beside an empty Python and `pytest --help`."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

REPEATS = 15
COMMANDS = {
    "python -c pass": ["-c", "pass"],
    "clew --help": ["-m", "clew", "--help"],
    "clew --version": ["-m", "clew", "--version"],
    "clew doctor": ["-m", "clew", "doctor"],
    "pytest --help": ["-m", "pytest", "--help"],
}


def main() -> None:
    times: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(REPEATS):
        for name, words in COMMANDS.items():
            began = time.perf_counter()
            subprocess.run([sys.executable, *words], capture_output=True, check=True)
            times[name].append(time.perf_counter() - began)
    medians = {name: statistics.median(each) for name, each in times.items()}
    print(f"{'command':<16} {'median ms':>10} {'x python':>9} {'x pytest':>9}")
    for name, median in medians.items():
        of_python = median / medians["python -c pass"]
        of_pytest = median / medians["pytest --help"]
        print(f"{name:<16} {median * 1e3:>10.0f} {of_python:>9.1f} {of_pytest:>9.2f}")


if __name__ == "__main__":
    main()
