"""A desktop keeps every promise of an environment: the public kit, on an editor and a terminal."""

import pytest

from clew.core import Control, Keys, Text
from clew.environments.desktop import Desktop
from clew.testing import EnvironmentConformance

from ._sessions import SMALL


@pytest.mark.slow
class TestDesktop(EnvironmentConformance):
    channels = frozenset({"frame", "windows"})
    repeats = 2

    def environment(self):
        return Desktop()

    def starts(self, environment):
        return [environment.start(task, **SMALL) for task in ("mousepad/open", "xterm/open")]

    def actions(self, start):
        return [Text("one\n"), Keys("press", ("up",)), Text("2 é")]

    def refused(self, start):
        return [Control((0.0,)), Text("\x1b")]
