"""An environment's own virtual environment: built once, finished if broken off, verified, cached.

The packages are tiny wheels made here, so nothing comes from a network.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from clew import environment_install as own
from clew.core import Refused


def wheel(folder: Path, name: str, needs: str = "") -> str:
    """A wheel of one empty module; returns its pinned, hashed line."""
    facts = f"{name}-1.0.dist-info"
    requires = f"Requires-Dist: {needs}\n" if needs else ""
    files = {
        f"{name}.py": "",
        f"{facts}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n{requires}",
        f"{facts}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = f"{facts}/RECORD"
    rows = [f"{path},sha256={_record_hash(text)},{len(text)}" for path, text in files.items()]
    files[record] = "\n".join([*rows, f"{record},,"]) + "\n"
    file = folder / f"{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(file, "w") as packed:
        for path, text in files.items():
            packed.writestr(path, text)
    return f"{name}==1.0 --hash=sha256:{hashlib.sha256(file.read_bytes()).hexdigest()}\n"


def _record_hash(text: str) -> str:
    raw = hashlib.sha256(text.encode()).digest()
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


class World:
    """A third-party package `pond` with an own environment, and a home for it."""

    def __init__(self, tmp_path: Path) -> None:
        self.packages, self.home = tmp_path / "packages", tmp_path / "home"
        self.wheels = tmp_path / "wheels"
        self.plugin = self.packages / "pond_plugin"
        facts = self.packages / "pond_plugin-1.0.dist-info"
        for folder in (self.wheels, self.plugin, facts):
            folder.mkdir(parents=True)
        (self.plugin / "__init__.py").write_text("")
        (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: pond-plugin\nVersion: 1.0\n")
        (facts / "entry_points.txt").write_text("[clew.plugins]\npond = pond_plugin\n")
        self.lists(wheel(self.wheels, "quack"))

    def lists(self, *pins: str, imports: tuple[str, ...] = ("quack",), **fields: object) -> None:
        head = f"--no-index\n--find-links {self.wheels.as_uri()}\n"
        (self.plugin / "list.txt").write_text(head + "".join(pins))
        manifest = {
            "kind": "environment", "name": "pond", "object": "pond_plugin:Pond",
            "summary": "ducks", "status": "works", "imports": list(imports),
            "own_environment": "list.txt", **fields,
        }  # fmt: skip
        (self.plugin / "manifest.json").write_text(json.dumps(manifest))

    def command(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "clew", "env", *words]

    def variables(self) -> dict[str, str]:
        path = {"PYTHONPATH": str(self.packages), "CLEW_HOME": str(self.home)}
        return {**os.environ, **path}

    def clew(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*words), env=self.variables(), capture_output=True, text=True
        )


@pytest.fixture
def world(tmp_path, monkeypatch):
    made = World(tmp_path)
    monkeypatch.syspath_prepend(str(made.packages))
    monkeypatch.setenv("CLEW_HOME", str(made.home))
    return made


@pytest.fixture(scope="module")
def pond(tmp_path_factory):
    """A world whose environment is installed once for the tests that only look at it."""
    made = World(tmp_path_factory.mktemp("pond"))
    made.installed = made.clew("install", "pond")
    return made


@pytest.mark.slow
def test_an_installed_environment_runs_in_an_interpreter_of_its_own(pond):
    assert pond.installed.returncode == 0, pond.installed.stderr
    python = pond.installed.stdout.removeprefix("pond runs in ").strip()
    where = subprocess.run(
        [python, "-I", "-c", "import quack; print(quack.__file__)"], capture_output=True, text=True
    )
    assert where.stdout.startswith(str(pond.home / "environments" / "pond"))


def test_the_second_call_neither_builds_nor_looks_for_packages(pond):
    for file in pond.wheels.iterdir():
        file.rename(file.with_suffix(".away"))
    again = pond.clew("install", "pond")
    for file in pond.wheels.iterdir():
        file.rename(file.with_suffix(".whl"))
    assert (again.returncode, again.stdout, again.stderr) == (0, pond.installed.stdout, "")


def test_the_listing_says_where_it_is(pond):
    listed = pond.clew("list")
    line = next(row for row in listed.stdout.splitlines() if row.startswith("pond "))
    assert line.split(maxsplit=1)[1] == pond.installed.stdout.removeprefix("pond runs in ").strip()


def test_another_list_is_another_environment(pond, monkeypatch):
    monkeypatch.syspath_prepend(str(pond.packages))
    monkeypatch.setenv("CLEW_HOME", str(pond.home))
    before = own.interpreter("pond")
    assert before
    listed = (pond.plugin / "list.txt").read_text()
    (pond.plugin / "list.txt").write_text(listed + "# another list\n")
    assert own.interpreter("pond") is None
    (pond.plugin / "list.txt").write_text(listed)
    assert own.interpreter("pond") == before


def test_what_is_not_installed_has_no_interpreter(world):
    assert own.interpreter("pond") is None


def test_an_environment_without_one_of_its_own_runs_here(world):
    world.lists(own_environment="")
    assert own.interpreter("pond") == Path(sys.executable)
    with pytest.raises(Refused, match=r"lacks quack; run: pip install 'pond-plugin'"):
        own.install("pond")


@pytest.mark.slow
def test_an_interrupted_installation_is_finished(world):
    first = own.install("pond", say=str)
    (first.parent.parent / own.STAMP).unlink()
    (first.parent.parent / "pyvenv.cfg").write_text("half a fi")
    assert own.interpreter("pond") is None
    lines: list[str] = []
    assert own.install("pond", lines.append) == first == own.interpreter("pond")
    assert any("interrupted" in line for line in lines)


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGKILL, -9), (signal.SIGINT, 130)])
def test_an_installation_that_was_broken_off_is_finished_by_the_next(world, number, code):
    victim = subprocess.Popen(
        world.command("install", "pond"), env=world.variables(), stderr=subprocess.PIPE, text=True,
        # A shell ignores Ctrl-C in what it starts in the background, and children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    assert victim.stderr
    assert "installing pond into" in victim.stderr.readline()
    victim.send_signal(number)
    assert victim.wait() == code
    victim.stderr.close()
    assert own.interpreter("pond") is None
    again = world.clew("install", "pond")
    assert again.returncode == 0, again.stderr
    assert own.interpreter("pond")


@pytest.mark.slow
def test_two_at_once_build_one(world):
    both = [
        subprocess.Popen(
            world.command("install", "pond"), env=world.variables(),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for _ in range(2)
    ]  # fmt: skip
    ended = [each.communicate() for each in both]
    assert [each.returncode for each in both] == [0, 0]
    assert ended[0][0] == ended[1][0]
    assert sum("installing pond into" in err for _, err in ended) == 1


@pytest.mark.slow
def test_a_download_that_is_not_the_pinned_one_is_not_installed(world):
    world.lists("quack==1.0 --hash=sha256:" + "0" * 64 + "\n")
    with pytest.raises(Refused, match="'pond' is not installed: pip could not install its list"):
        own.install("pond", say=str)
    assert own.interpreter("pond") is None


@pytest.mark.slow
def test_a_list_that_lacks_a_package_is_not_taken_for_installed(world):
    world.lists(wheel(world.wheels, "quack", needs="beak>=2"))
    with pytest.raises(Refused, match="'pond' is not installed: its packages do not fit together"):
        own.install("pond", say=str)
    assert own.interpreter("pond") is None


@pytest.mark.slow
def test_an_import_that_fails_leaves_no_stamp(world):
    world.lists(wheel(world.wheels, "quack"), imports=("quack", "honk"))
    with pytest.raises(Refused, match="an import failed") as refused:
        own.install("pond", say=str)
    assert "then run again: clew env install pond" in str(refused.value)
    assert own.interpreter("pond") is None


@pytest.mark.slow
def test_removing_deletes_every_version(world):
    own.install("pond", say=str)
    half = world.home / "environments" / "pond" / "0123"
    half.mkdir()
    removed = world.clew("remove", "pond")
    assert removed.returncode == 0, removed.stderr
    assert removed.stdout.count("removed ") == 2
    assert own.installations("pond") == []
    assert own.interpreter("pond") is None


def test_a_python_that_nobody_has_is_one_clear_sentence(world):
    world.lists(python=">=3.77")
    with pytest.raises(Refused, match=r"'pond' needs Python >=3.77, and clew runs on 3\."):
        own.interpreter("pond")


def test_another_python_is_looked_for_on_the_path(world, tmp_path, monkeypatch):
    other = 10 if sys.version_info.minor != 10 else 11
    world.lists(python=f"==3.{other}")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Refused, match=rf"install one of python3\.{other} and put it on PATH"):
        own.interpreter("pond")
    (tmp_path / f"python3.{other}").write_text("#!/bin/sh\n")
    (tmp_path / f"python3.{other}").chmod(0o755)
    assert own.interpreter("pond") is None


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"CLEW_HOME": "/a", "XDG_DATA_HOME": "/b"}, "/a"),
        ({"CLEW_HOME": "", "XDG_DATA_HOME": "/b"}, "/b/clew"),
        ({"CLEW_HOME": "", "XDG_DATA_HOME": "", "HOME": "/c"}, "/c/.local/share/clew"),
    ],
)
def test_the_home_follows_the_usual_variables(monkeypatch, variables, expected):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert own.home() == Path(expected)
