"""Plug-ins are found by name without being imported, and what is missing is one clear line."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

import clew
from clew import registry
from clew.core import Refused

SOURCE = Path(clew.__file__).parent

MANIFEST = {
    "kind": "environment",
    "name": "pond",
    "object": "pond_plugin.world:Pond",
    "summary": "ducks",
    "status": "works",
    "arguments": {"ducks": 3},
}
WORLD = """
class Pond:
    def __init__(self, ducks, depth_m=1.0):
        self.ducks, self.depth_m = ducks, depth_m
"""


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Lays a third-party package with a manifest on the path, as an installer would."""

    def lay(manifest: Any, name: str = "pond_plugin", announced: str | None = None) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        (folder / "__init__.py").write_text("")
        (folder / "world.py").write_text(WORLD)
        if manifest is not None:
            (folder / "manifest.json").write_text(json.dumps(manifest))
        facts = tmp_path / f"{name}-1.0.dist-info"
        facts.mkdir()
        distribution = name.replace("_", "-")
        (facts / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n"
        )
        (facts / "entry_points.txt").write_text(f"[clew.plugins]\nx = {announced or name}\n")
        return folder

    monkeypatch.syspath_prepend(str(tmp_path))
    yield lay
    for name in [name for name in sys.modules if name.partition(".")[0].endswith("_plugin")]:
        del sys.modules[name]


def test_a_third_party_environment_is_found_and_not_imported_until_it_is_asked_for(package):
    package(MANIFEST)
    found = registry.manifest("environment", "pond")
    assert (found.distribution, found.summary) == ("pond-plugin", "ducks")
    assert "pond" in registry.manifests("environment")
    assert "pond" not in registry.manifests("policy")
    assert "pond_plugin" not in sys.modules
    assert registry.environment("pond").ducks == 3


def test_a_package_may_hold_a_list_of_manifests_in_an_inner_package(package):
    folder = package(None, announced="pond_plugin.inner")
    (folder / "inner").mkdir()
    both = [{**MANIFEST, "name": name} for name in ("pond", "lake")]
    (folder / "inner" / "manifest.json").write_text(json.dumps(both))
    assert {"pond", "lake"} <= set(registry.manifests("environment"))


def test_an_unknown_name_is_refused_with_the_nearest(package):
    package(MANIFEST)
    with pytest.raises(Refused, match="there is no environment 'ponds'; did you mean 'pond'"):
        registry.manifest("environment", "ponds")


def test_two_packages_that_offer_one_name_are_refused_by_both_names(package):
    package(MANIFEST)
    package(MANIFEST, name="other_plugin")
    with pytest.raises(Refused, match=r"'pond' is offered by .*(pond|other)-plugin.*uninstall"):
        registry.manifest("environment", "pond")
    assert "pond" not in registry.manifests("environment")


def test_one_bad_package_does_not_take_the_others_down(package):
    package(None)
    assert "tabletop" in registry.manifests("environment")
    assert registry.manifest("environment", "tabletop").name == "tabletop"
    assert any("pond-plugin" in sentence for sentence in registry.problems())


def test_a_package_that_takes_a_built_in_name_is_left_out_and_named(package):
    package({**MANIFEST, "name": "tabletop"})
    assert registry.manifests("environment")["tabletop"].distribution == "clew"
    assert any("'tabletop' is offered by clew" in sentence for sentence in registry.problems())


def test_a_package_that_announces_plugins_without_a_manifest_is_named(package):
    package(None)
    with pytest.raises(Refused, match="'pond-plugin' announces clew plug-ins"):
        registry.manifest("environment", "pond")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sumary": "x"}, "field 'sumary'; did you mean 'summary'"),
        ({"kind": "enviroment"}, "kind 'enviroment' is unknown; did you mean 'environment'"),
        ({"status": "working"}, "status 'working' is unknown"),
        ({"name": "Pond"}, "name 'Pond' must be lower-case"),
        ({"name": "a/b"}, "name 'a/b' must be lower-case"),
        ({"kind": "policy", "name": "a/../b"}, "name 'a/../b' must be lower-case"),
        ({"name": 3}, "field 'name' must be text"),
        ({"object": "pond_plugin.world"}, "must be module:attribute"),
        ({"imports": "numpy"}, "field 'imports' must be a list"),
        ({"arguments": []}, "field 'arguments' must be an object"),
        ({"python": "~=3.10"}, "must be bounds like"),
        ({"python": ">=3.10,"}, "must be bounds like"),
        ({"own_environment": ["x"]}, "field 'own_environment' must be text"),
        ({"distribution": "clew"}, "field 'distribution'"),
    ],
)
def test_a_bad_manifest_is_refused_by_file_and_field(package, change, message):
    package({**MANIFEST, **change})
    with pytest.raises(Refused, match=message) as refused:
        registry.manifest("environment", "the pond that was announced")
    assert "manifest.json" in str(refused.value)


def test_a_manifest_that_is_not_json_is_refused_by_file(package):
    (package(MANIFEST) / "manifest.json").write_text("{")
    with pytest.raises(Refused, match=r"pond_plugin/manifest\.json is not JSON"):
        registry.manifest("environment", "pond")


@pytest.mark.parametrize(
    ("fields", "command"),
    [
        ({"extra": "deep"}, "pip install 'pond-plugin[deep]'"),
        ({}, "pip install 'pond-plugin'"),
        ({"own_environment": "list.txt"}, "clew env install pond"),
        ({"environment": "lake"}, "clew env install lake"),
    ],
)
def test_a_missing_import_is_one_line_with_the_exact_command(package, fields, command):
    package({**MANIFEST, "imports": ["json", "no_such_physics.engine"], **fields})
    with pytest.raises(Refused) as refused:
        registry.environment("pond")
    assert str(refused.value).endswith(f"run: {command}")
    assert "needs no_such_physics, " in str(refused.value)
    assert "\n" not in str(refused.value)
    assert "pond_plugin" not in sys.modules


def test_a_policy_in_a_plan_of_another_environment_is_told_where_it_belongs(package):
    package({**MANIFEST, "kind": "policy", "imports": ["no_such_physics"], "environment": "lake"})
    with pytest.raises(Refused) as refused:
        registry.policy("pond")
    assert str(refused.value) == (
        "policy 'pond' needs no_such_physics, which only the units of the environment 'lake' find, "
        f"and these run in {sys.executable}: use it in a plan of that environment; if that is not "
        "installed, run: clew env install lake"
    )


def test_arguments_go_over_those_of_the_manifest_and_unknown_ones_are_refused(package):
    package({**MANIFEST, "kind": "policy"})
    made = registry.policy("pond", depth_m=2.0)
    assert (made.ducks, made.depth_m) == (3, 2.0)
    assert registry.policy("pond", ducks=5).ducks == 5
    with pytest.raises(
        Refused, match="policy 'pond' has no argument 'depth'; did you mean 'depth_m'"
    ):
        registry.policy("pond", depth=2.0)


def test_a_missing_argument_is_refused(package):
    package({**MANIFEST, "arguments": {}})
    with pytest.raises(Refused, match="environment 'pond': missing a required argument: 'ducks'"):
        registry.environment("pond")


def test_a_policy_may_be_the_users_own_function_in_the_work_folder(tmp_path, monkeypatch):
    (tmp_path / "my_own_plugin.py").write_text("def make(skill=1):\n    return ('policy', skill)\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    assert registry.policy("my_own_plugin:make", skill=4) == ("policy", 4)
    with pytest.raises(Refused, match="has no 'mak'; did you mean 'make'"):
        registry.policy("my_own_plugin:mak")
    with pytest.raises(Refused, match="'my_owm_plugin', which is neither installed nor in"):
        registry.policy("my_owm_plugin:make")
    with pytest.raises(Refused, match="not of the form module:attribute"):
        registry.policy("my_own_plugin:")
    with pytest.raises(Refused, match="it must be callable"):
        registry.policy("my_own_plugin:__name__")


def test_an_import_that_fails_inside_the_users_module_keeps_its_own_error(tmp_path, monkeypatch):
    (tmp_path / "broken_plugin.py").write_text("import no_such_physics\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    with pytest.raises(ModuleNotFoundError, match="no_such_physics"):
        registry.policy("broken_plugin:make")


@pytest.mark.parametrize(
    ("python", "accepted"),
    [
        ("", {9, 10, 11, 12, 13, 14}),
        (">=3.10,<3.13", {10, 11, 12}),
        ("==3.10", {10}),
        ("> 3.10, <= 3.12", {11, 12}),
    ],
)
def test_python_bounds_are_understood(python, accepted):
    found = registry.Manifest("environment", "x", "x:y", python=python)
    assert {minor for minor in range(9, 15) if found.accepts_python(minor)} == accepted


def test_every_built_in_manifest_points_at_code_and_lists_that_exist():
    found = [*registry.manifests("environment").values(), *registry.manifests("policy").values()]
    for each in found:
        module = each.object.partition(":")[0].removeprefix("clew.").replace(".", "/")
        assert any((SOURCE / f"{module}{end}").is_file() for end in (".py", "/__init__.py")), each
        if each.own_environment:
            lines = each.requirements().decode().splitlines()
            pins = [line for line in lines if re.match(r"[A-Za-z0-9]", line)]
            assert pins
            assert all("==" in pin for pin in pins)
            assert each.requirements().decode().count("--hash=sha256:") >= len(pins)


def test_the_registry_works_from_inside_a_zip(tmp_path):
    archive = tmp_path / "engine.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        for file in SOURCE.rglob("*"):
            if file.is_file() and "__pycache__" not in file.parts:
                packed.write(file, file.relative_to(SOURCE.parent))
    code = (
        "import clew; from clew.registry import manifests\n"
        "assert 'engine.zip' in clew.__file__, clew.__file__\n"
        "for kind in ('environment', 'policy'):\n"
        "    for each in manifests(kind).values():\n"
        "        print(each.name, len(each.requirements()) if each.own_environment else 0)\n"
    )
    inside = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": str(archive), "PATH": ""}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    here = [
        f"{each.name} {len(each.requirements()) if each.own_environment else 0}"
        for kind in registry.KINDS
        for each in registry.manifests(kind).values()
    ]
    assert inside.stdout.split("\n")[:-1] == here
    assert here


HEAVY = "'mujoco', 'gymnasium', 'metaworld', 'cv2', 'playwright', 'PIL', 'Xlib', 'scipy'"


@pytest.mark.parametrize(
    ("listing", "none_of"),
    [
        ("registry.manifests('environment')", f"{HEAVY}, 'clew.environments', 'clew.policies'"),
        # Those that need programs look for them in code of their own.
        ("list(doctor.lines())", f"{HEAVY}, 'clew.policies'"),
    ],
)
def test_listing_every_plugin_imports_nothing_heavy(listing, none_of):
    code = (
        "import sys\n"
        "from clew import doctor, registry\n"
        f"print(len({listing}))\n"
        f"heavy = ({none_of})\n"
        "print([name for name in sys.modules if name.startswith(heavy)])\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    count, loaded = ended.stdout.splitlines()
    assert int(count) > 5
    assert loaded == "[]"
