"""The doctor tells what is missing and what to type."""

from __future__ import annotations

import itertools
import sys
import types

import pytest

from clew import doctor
from clew.registry import Manifest


def test_a_missing_package_is_answered_with_the_command_that_installs_it():
    found = Manifest(
        "policy", "p", "m:p", imports=("no_such_physics",), extra="deep", distribution="pond"
    )
    assert doctor.remedy_of(found) == "pip install 'pond[deep]'"


def test_a_policy_that_runs_in_an_environment_needs_what_that_needs(tmp_path, monkeypatch):
    found = Manifest("policy", "p", "m:p", imports=("no_such_physics",), environment="metaworld")
    monkeypatch.setenv("CLEW_HOME", str(tmp_path))
    assert doctor.remedy_of(found) == "clew env install metaworld"


def test_what_is_there_needs_no_remedy():
    assert doctor.remedy_of(Manifest("policy", "p", "m:p", imports=("json", "numpy.linalg"))) == ""


def test_the_machine_is_told_before_the_plugins():
    heads = [line.split()[0] for line in list(doctor.lines())[:3]]
    assert heads == ["python", "disk", "frames"]


def frames_line() -> str:
    return next(itertools.islice(doctor.lines(), 2, None))


@pytest.mark.skipif(sys.platform != "linux", reason="MUJOCO_GL chooses among these on Linux")
@pytest.mark.parametrize(
    ("chosen", "display", "said"),
    [
        ("foo", ":0", "off: MUJOCO_GL is 'foo', which MuJoCo does not know: unset it (valid: egl, "
         "osmesa)"),
        ("eg", "", "off: MUJOCO_GL is 'eg', which MuJoCo does not know: unset it (did you mean "
         "'egl'?)"),
        ("Disabled", ":0", "off: MUJOCO_GL is 'disabled'; unset it to have them"),
        ("glfw", "", "off: MUJOCO_GL is 'glfw', which needs a display; unset it to draw without "
         "one"),
        ("glfw", ":7", "on, by a window on the display :7 (MUJOCO_GL is 'glfw')"),
    ],
)  # fmt: skip
def test_frames_are_told_as_the_users_choice_leaves_them(monkeypatch, chosen, display, said):
    monkeypatch.setenv("MUJOCO_GL", chosen)
    monkeypatch.setenv("DISPLAY", display)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    assert frames_line() == f"frames   {said}"


@pytest.mark.skipif(sys.platform != "linux", reason="MUJOCO_GL chooses among these on Linux")
@pytest.mark.parametrize("way", doctor.OFFSCREEN)
def test_a_chosen_way_is_on_only_if_its_own_library_is_here(monkeypatch, way):
    monkeypatch.setenv("MUJOCO_GL", way)
    monkeypatch.setattr(doctor.ctypes.util, "find_library", lambda name: f"lib{name}.so")
    assert frames_line() == f"frames   on, by {way} (MUJOCO_GL is {way!r})"
    lacking = next(iter(doctor.OFFSCREEN[way]))
    monkeypatch.setattr(
        doctor.ctypes.util, "find_library", lambda name: None if name == lacking else "lib.so"
    )
    line = frames_line()
    assert line.startswith(f"frames   off: MUJOCO_GL is {way!r}, whose library is not here; ")
    assert line.endswith(f"apt-get install {doctor.OFFSCREEN[way][lacking]}")


def looker() -> tuple[str, str]:
    return "", "a pond of 3 m²"


def thirsty() -> tuple[str, str]:
    return "apt-get install water", ""


def confused() -> tuple[str, str]:
    raise OSError("no map")


@pytest.mark.parametrize(
    ("look", "said"),
    [
        ("looker", ("", "a pond of 3 m²")),
        ("thirsty", ("apt-get install water", "")),
        ("confused", ("its look at this machine failed: OSError: no map", "")),
        ("missing", None),
    ],
)
def test_a_plugin_looks_at_the_machine_itself(look, said, monkeypatch):
    here = types.SimpleNamespace(looker=looker, thirsty=thirsty, confused=confused)
    monkeypatch.setitem(sys.modules, "pond_look", here)
    found = doctor.looked(Manifest("environment", "pond", "m:p", look=f"pond_look:{look}"))
    assert found == said if said else "AttributeError" in found[0]


def test_the_desktop_without_its_programs_says_what_to_install(monkeypatch):
    pytest.importorskip("Xlib")
    monkeypatch.setenv("PATH", "/nowhere")
    lines = [line for line in doctor.lines() if line.startswith("  desktop")]
    assert "missing" in lines[0]
    assert "apt-get install xvfb openbox dbus" in lines[0]
