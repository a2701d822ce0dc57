"""The conformance kit on `web`, and the same frames in other processes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from clew.core import Element, Pointer, Text, Tool, Wait
from clew.environments.web import Web
from clew.testing import EnvironmentConformance

REPLAY = """
import json, sys
from clew.core import value_digest
from clew.environments.web import Web
web, found = Web(), []
for task in sys.argv[1:]:
    session = web.open(web.start(task))
    for action in web.solution(task):
        found.append(value_digest(session.act(action, frozenset({"frame"}))["frame"]))
    session.close()
web.close()
print(json.dumps(found))
"""
TASKS = ("office-settings", "office-delete", "office-emergency")


@pytest.mark.slow
class TestConformance(EnvironmentConformance):
    channels = frozenset({"frame", "tree", "url", "title"})
    repeats = 2

    def environment(self):
        return Web(tasks=[str(Path(__file__).with_name("dice.toml"))])

    def starts(self, environment):
        return [environment.start("dice", seed) for seed in (0, 1)]

    def actions(self, start):
        return [
            Element("textbox", "Name", verb="type", text="Ada"),
            Pointer("click", ((30, 60),)),
            Element("button", "Throw"),
            Wait(400),
        ]

    def refused(self, start):
        return [Tool.call("shell"), Text("x", seat="reference"), Element("nothing", "x")]


@pytest.mark.slow
def test_frames_are_equal_to_the_byte_in_fresh_processes():
    runs = [
        json.loads(
            subprocess.run(
                [sys.executable, "-c", REPLAY, *TASKS], capture_output=True, check=True,
                text=True, env=dict(os.environ), timeout=300,
            ).stdout
        )
        for _ in range(3)
    ]  # fmt: skip
    assert len(runs[0]) == 15
    assert runs[0] == runs[1] == runs[2]
