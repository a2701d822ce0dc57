"""Whether processes are at work is told from what the scheduler did, not from one look at them."""

import os
import subprocess
import sys
import time

import pytest

from clew.environments.desktop.activity import Activity

#: Two processes that answer each other: at any instant one of them is asleep.
PING_PONG = """
import os
here, there = os.pipe(), os.pipe()
if os.fork():
    while True:
        os.write(here[1], b'x'); os.read(there[0], 1)
else:
    while True:
        os.read(here[0], 1); os.write(there[1], b'x')
"""


def seen_busy(pids, seconds):
    """The answers over some time."""
    activity, ends, found = Activity(lambda: pids), time.monotonic() + seconds, []
    while time.monotonic() < ends:
        found.append(activity.busy())
        time.sleep(0.005)
    return found


def test_a_process_that_waits_is_idle_after_a_moment():
    with subprocess.Popen(["sleep", "1000"]) as sleeper:
        answers = seen_busy([sleeper.pid], 0.4)
        sleeper.kill()
    assert answers[0]
    assert not answers[-1]


def test_processes_that_answer_each_other_are_never_idle():
    with subprocess.Popen([sys.executable, "-c", PING_PONG], start_new_session=True) as first:
        children = f"/proc/{first.pid}/task/{first.pid}/children"
        while not (second := open(children).read().split()):  # noqa: SIM115
            time.sleep(0.005)
        answers = seen_busy([first.pid, int(second[0])], 0.4)
        os.killpg(first.pid, 9)
    assert all(answers)


def test_a_process_that_has_ended_is_idle():
    with subprocess.Popen(["true"]) as ended:
        ended.wait()
    assert not seen_busy([ended.pid], 0.2)[-1]


#: An event loop with a timer, and what tells that it has begun to wait.
WAITS = "import select, sys\nprint(flush=True)\n{call}"


@pytest.mark.parametrize(
    ("call", "due"),
    [
        ("select.poll().poll(300_000)", False),
        ("select.poll().poll(None)", False),
        ("select.epoll().poll(300)", False),
        ("select.epoll().poll(None)", False),
        ("select.select([], [], [], None)", False),
        ("sys.stdin.read()", False),
        ("while True: pass", True),  # it runs for ever
        ("select.select([], [], [], 300)", True),  # how long is behind a pointer: it may be soon
    ],
)
def test_a_timer_counts_when_it_ends_soon(call, due):
    with subprocess.Popen(
        [sys.executable, "-c", WAITS.format(call=call)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    ) as loop:  # fmt: skip
        loop.stdout.readline()
        activity, ends = Activity(lambda: [loop.pid]), time.monotonic() + 1
        while activity.busy() and time.monotonic() < ends:
            time.sleep(0.005)
        assert activity.timer_due(400) == due
        assert activity.timer_due(300_000) == (due or "300" in call)
        loop.kill()


def test_a_machine_whose_calls_are_not_known_may_always_have_timers(monkeypatch):
    monkeypatch.setattr("platform.machine", lambda: "pdp11")
    assert Activity(lambda: [os.getpid()]).timer_due(400)
