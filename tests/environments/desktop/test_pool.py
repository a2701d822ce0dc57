"""The next session of a start is made ready before it is asked for, and changes nothing."""

import os
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from clew.core import NOTHING, Refused, Text
from clew.environments.desktop import Desktop
from clew.environments.desktop.sandbox import RoomError

from ._sessions import FRAME, SMALL, frame_digest


def children():
    return [
        pid for p in Path("/proc/self/task").glob("*/children") for pid in p.read_text().split()
    ]


def run(environment, start):
    with closing(environment.open(start)) as opened:
        first = frame_digest(opened.observe(FRAME))
        return opened, [first, frame_digest(opened.act(Text("echo one\n"), FRAME))]


def test_a_start_that_was_opened_twice_is_ready_the_third_time():
    with closing(Desktop()) as environment:
        start = environment.start("xterm/open", **SMALL)
        cold = [run(environment, start)[1] for _ in range(2)]
        waiting = environment._pool._ready[start.key()][0]
        ready = waiting.result()
        warm, found = run(environment, start)
        assert warm is ready
        assert cold == [found, found]
    assert children() == []


def test_a_prepared_session_that_broke_is_not_handed_out():
    with closing(Desktop()) as environment:
        start = environment.start("xterm/open", **SMALL)
        for _ in range(2):
            _, expected = run(environment, start)
        broken = environment._pool._ready[start.key()][0].result()
        room = broken.display.room
        os.kill(room.processes()[0], 9)
        with pytest.raises(RoomError):
            room.report("its end", time.monotonic() + 10)
        handed, found = run(environment, start)
        assert handed is not broken
        assert found == expected


@pytest.mark.slow
def test_one_session_waits_at_most_whatever_was_opened():
    with closing(Desktop(warm=1)) as environment:
        starts = [environment.start("xterm/open", **SMALL, advance_ms=ms) for ms in (1, 2)]
        for start in (*starts, *starts):
            run(environment, start)
        assert sum(map(len, environment._pool._ready.values())) == 1
        assert environment._pool._ready[starts[1].key()]


def test_none_is_prepared_where_none_is_wanted():
    with closing(Desktop(warm=0)) as environment:
        start = environment.start("xterm/open", **SMALL)
        for _ in range(3):
            run(environment, start)
        assert environment._pool._worker is None


def test_closing_the_environment_ends_open_and_prepared_sessions():
    environment = Desktop()
    start = environment.start("xterm/open", **SMALL)
    for _ in range(2):
        environment.open(start)
    environment.close()
    assert children() == []


def test_a_start_of_another_definition_is_refused():
    environment = Desktop()
    start = environment.start("xterm/open")
    for wrong in (
        replace(start, environment="web"), replace(start, definition="0" * 64),
        replace(start, revision=99), replace(start, task="xterm/opem"),
        replace(start, options={**start.options, "screen": "1x1"}),
    ):  # fmt: skip
        with pytest.raises(Refused):
            environment.open(wrong)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"scren": "800x600"}, "did you mean 'screen'"),
        ({"screen": "800"}, "WIDTHxHEIGHT"),
        ({"screen": "100x9999"}, "320 to 4096"),
        ({"clock": "virtual"}, "always 'real'"),
        ({"date": "tomorrow"}, "2026-01-15"),
        ({"advance_ms": -1}, "whole number"),
        ({"settle": "quite"}, "did you mean 'quiet'"),
    ],
)
def test_an_option_that_means_nothing_is_refused(options, sentence):
    with pytest.raises(Refused, match=sentence):
        Desktop().start("xterm/open", **options)


def test_the_settle_rule_is_spelt_out_in_the_start():
    options = Desktop().start("xterm/open", settle="papers").options
    assert options["settle"] == {"rule": "fixed", "quiet_ms": 0, "cap_ms": 10_000, "timers_ms": 0}
    assert options["clock"] == "real"


def test_the_fingerprint_names_versions_fonts_and_confinement():
    facts = Desktop().fingerprint()
    assert {"xvfb", "openbox", "libgtk-3-0", "fonts", "confinement", "renderer", "xterm"} <= set(
        facts
    )
    assert facts["confinement"].startswith(("bubblewrap", "none: "))


def test_tasks_of_your_own_are_added_from_a_file(tmp_path):
    (tmp_path / "mine.toml").write_text(
        """application = "xterm"
[[tasks]]
name = "mine"
instruction = "Make a file."
checks = [{ check = "file_text", path = "made", equals = "" }]
"""
    )
    desktop = Desktop(warm=0, tasks=[str(tmp_path / "mine.toml")])
    assert {"mine", "xterm-hello"} <= set(desktop.tasks())
    with closing(desktop.open(desktop.start("mine"))) as opened:
        assert not opened.judge().passed
        opened.act(Text("> made\n"), NOTHING)
        assert opened.judge().passed
    with pytest.raises(Refused, match=r"no-such\.toml"):
        Desktop(tasks=[str(tmp_path / "no-such.toml")])
