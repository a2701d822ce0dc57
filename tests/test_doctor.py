"""The doctor tells what is missing and what to type."""

from __future__ import annotations

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
