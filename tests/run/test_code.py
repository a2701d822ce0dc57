"""The digest of code changes with its source, and with nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from clew.core import Refused
from clew.run.code import changed, made_otherwise, other_code, source

ENGINE = (("engine", "ab12"),)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_module_is_its_file(here: Path) -> None:
    (here / "own_policy.py").write_text("def make(): return 1\n")
    first = source("policy", "own_policy:make")
    assert len(first) == 12
    (here / "another.py").write_text("x = 1\n")
    assert source("policy", "own_policy:make") == first
    (here / "own_policy.py").write_text("def make(): return 2\n")
    assert source("policy", "own_policy:make") not in ("", first)


def test_a_package_is_all_its_source_files(here: Path) -> None:
    (here / "own_package" / "part").mkdir(parents=True)
    (here / "own_package" / "__init__.py").touch()
    (here / "own_package" / "part" / "scene.xml").write_text("<a/>")
    first = source("environment", "own_package.part:Env")
    (here / "own_package" / "__pycache__").mkdir()
    (here / "own_package" / "__pycache__" / "x.py").write_text("")
    (here / "own_package" / "weights.bin").write_bytes(b"1")
    assert source("environment", "own_package.part:Env") == first != ""
    (here / "own_package" / "part" / "scene.xml").write_text("<b/>")
    assert source("environment", "own_package.part:Env") not in ("", first)


def test_of_a_folder_without_init_only_the_named_module_counts(here: Path) -> None:
    (here / "own_folder").mkdir()
    (here / "own_folder" / "mine.py").write_text("1")
    (here / "own_folder" / "other.py").write_text("1")
    first = source("policy", "own_folder.mine:make")
    (here / "own_folder" / "other.py").write_text("2")
    assert source("policy", "own_folder.mine:make") == first != ""
    (here / "own_folder" / "mine.py").write_text("2")
    assert source("policy", "own_folder.mine:make") not in ("", first)


def test_what_is_built_in_is_the_engines_and_what_is_nowhere_has_none(here: Path) -> None:
    assert source("policy", "unreliable/coin") == ""
    assert source("policy", "no_such_module:make") == ""
    with pytest.raises(Refused, match="there is no policy"):
        source("policy", "unreliable/cion")


def test_how_many_results_differ_and_in_what_is_one_clause() -> None:
    """Golden: 60 of 120 by another engine, as a user would say it."""
    made_by = {ENGINE: 60, (("engine", "cd34"), ("policy m:f", "1")): 60}
    assert made_otherwise(made_by, {"engine": "cd34", "policy m:f": "1"}) == (
        "of 120 results 60 were made by other code: engine ab12 -> cd34"
    )
    assert made_otherwise({ENGINE: 1}, {"engine": "cd34"}).startswith("of 1 result 1 was made by")
    assert made_otherwise(made_by, {}) == "", "nothing is known of now"
    assert made_otherwise({(): 9}, {"engine": "cd34"}) == "", "these results say nothing"
    assert changed({"a": "1", "b": "2"}, {"a": "1", "b": "3", "c": "4"}) == {"b": ("2", "3")}
    assert str(other_code("it differs", Path("run"))).startswith("run: it differs; put that code")
