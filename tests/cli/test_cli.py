"""The command line: quick help, one-line errors, exit codes."""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys

import pytest

from clew import __version__, cli
from clew.core import Diverged, Evidence, Refused


def clew(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "clew", *words],
        env={**os.environ, **variables}, capture_output=True, text=True,
    )  # fmt: skip


def ending_of(call, capsys) -> tuple[int, str]:
    code = cli._called(call, argparse.Namespace())
    return code, capsys.readouterr().err


def test_help_names_every_command():
    ended = clew("--help")
    assert ended.returncode == 0
    for name, _, _ in cli.COMMANDS:
        assert re.search(rf"^    {name} ", ended.stdout, re.MULTILINE), name


@pytest.mark.parametrize("name", [name for name, _, _ in cli.COMMANDS])
def test_every_command_of_the_table_has_help_of_its_own(name, capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main([name, "--help"])
    assert ended.value.code == 0
    assert f"clew {name}" in capsys.readouterr().out


@pytest.mark.parametrize("words", [["--help"], ["--version"]])
def test_help_and_version_import_neither_the_core_nor_numpy(words):
    code = (
        "import sys\nfrom clew.cli import main\n"
        f"try: main({words})\nexcept SystemExit: pass\n"
        "print([m for m in sys.modules if m.startswith(('clew.core', 'numpy', 'clew.cli.'))])"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout.splitlines()[-1] == "[]"


def test_the_version_is_the_packages():
    assert clew("--version").stdout == f"clew {__version__}\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "required: COMMAND"),
        (["docter"], "there is no command 'docter'; did you mean 'doctor'?"),
        (["env"], "required: VERB"),
        (["env", "install"], "required: NAME"),
        (["doctor", "--quick"], "unrecognized arguments: --quick"),
        (["--verison"], "--help"),
        (["env", "install", "no-such-world"], "there is no environment 'no-such-world'"),
        (["env", "remove", "../../x"], "there is no environment '../../x'"),
    ],
)
def test_bad_input_is_one_line_on_stderr_and_exit_code_2(words, message):
    ended = clew(*words)
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert ended.stderr.startswith("clew: ")
    assert message in ended.stderr
    assert ended.stderr.count("\n") == 1


def test_what_is_refused_ends_with_2_and_a_divergence_with_1(capsys):
    def refuses(_: argparse.Namespace) -> int:
        raise Refused("the plan names no policy")

    def diverges(_: argparse.Namespace) -> int:
        raise Diverged(7, Evidence(False, {"position_mm": 2.5}))

    assert ending_of(refuses, capsys) == (2, "clew: the plan names no policy\n")
    code, line = ending_of(diverges, capsys)
    assert code == 1
    assert line == "clew: the state after 7 actions is not the recorded one: position_mm 2.5\n"


def test_any_other_error_keeps_its_traceback():
    def breaks(_: argparse.Namespace) -> int:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        cli._called(breaks, argparse.Namespace())


def piped(into: str, *words: str, shared: bool = False) -> tuple[int, str]:
    """Exit code and stderr of a command whose stdout goes into another one."""
    command = f'"{sys.executable}" -m clew {" ".join(words)}{" 2>&1" if shared else ""} | {into}'
    ended = subprocess.run(
        ["bash", "-c", f'{command}; exit "${{PIPESTATUS[0]}}"'], capture_output=True, text=True
    )
    return ended.returncode, ended.stderr


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("words", [["doctor"], ["--help"], ["env", "list"], ["run", "--help"]])
def test_a_reader_that_went_away_ends_any_command_quietly(words, shared):
    code, said = piped("true", *words, shared=shared)
    assert said == ""
    assert code in ((0, 141) if "--help" in words else (141,))  # argparse may swallow it itself


def test_a_closed_stdout_is_no_error():
    ended = subprocess.run(
        ["bash", "-c", f'"{sys.executable}" -m clew doctor >&-'], capture_output=True, text=True
    )
    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_broken_pipe_that_is_not_the_readers_keeps_its_traceback(monkeypatch):
    def breaks(_: list[str]) -> int:
        raise BrokenPipeError("a worker's socket")

    monkeypatch.setattr(cli, "_answered", breaks)
    with pytest.raises(BrokenPipeError, match="a worker's socket"):
        cli.main(["doctor"])


def test_the_doctor_has_one_line_for_each_environment_and_policy():
    from clew import registry

    ended = clew("doctor")
    assert ended.returncode == 0, ended.stderr
    for kind in registry.KINDS:
        for name in registry.manifests(kind):
            rows = re.findall(rf"^  {re.escape(name)} +(.*)$", ended.stdout, re.MULTILINE)
            assert len(rows) == 1, name
            assert re.match(r"works|protocol-tested|missing", rows[0])
    for word in ("python", "disk", "frames"):
        assert re.search(rf"^{word} ", ended.stdout, re.MULTILINE)


def test_the_doctor_says_what_installs_a_missing_environment(tmp_path):
    from clew import registry

    ended = clew("doctor", CLEW_HOME=str(tmp_path))
    for name, found in registry.manifests("environment").items():
        if found.own_environment:
            assert re.search(
                rf"^  {name} +missing +clew env install {name}$", ended.stdout, re.MULTILINE
            )
