"""The documents say what is: their Python runs, and their links lead somewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])


def run_page(page: Path) -> int:
    """Run all Python of a page, in order and in one namespace; the number of blocks."""
    blocks = re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.S)
    space: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, str(page), "exec"), space)
    return len(blocks)


def test_the_engine_page_runs_as_it_stands_and_shows_what_it_says(capsys):
    pytest.importorskip("mujoco")
    assert run_page(ROOT / "docs" / "engine.md") >= 6
    said = capsys.readouterr().out
    assert "stopped by actions - passed: False" in said
    assert "rescued: True by 11 new actions" in said
    assert "3 of 3, 95 % interval [0.44, 1.00]" in said
    values = dict(re.findall(r"taken over after (\d+) actions: (\d) of 3", said))
    assert values == {"0": "3", "40": "3", "55": "3", "60": "0", "80": "0"}
    ((moving, whole),) = re.findall(r"(\d+) of (\d+) actions have to move", said)
    assert 0 < int(moving) < 0.6 * int(whole)


def test_the_gymnasium_page_runs_as_it_stands(capsys):
    pytest.importorskip("gymnasium")
    pytest.importorskip("mujoco")
    assert run_page(ROOT / "docs" / "environments" / "gymnasium.md") >= 3
    said = capsys.readouterr().out
    assert "vector.identical 1" in said
    assert "(25,) 0.0 {'is_success': False}" in said


@pytest.fixture(scope="module")
def rail(tmp_path_factory) -> Path:
    """The package of docs/extending.md, each file from its block, and installed as pip would."""
    text = (ROOT / "docs" / "extending.md").read_text("utf-8")
    folder = tmp_path_factory.mktemp("rail")
    (folder / "my_rail").mkdir()
    (folder / "my_rail" / "__init__.py").touch()
    for name, block in re.findall(r"```\w+\n(?:#|//) (\S+)\n(.*?)```", text, re.S):
        (folder / name).write_text(block)
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    facts = folder / "my_rail-1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    lines = [
        line
        for group, points in project["entry-points"].items()
        for line in (f"[{group}]", *(f"{name} = {value}" for name, value in points.items()))
    ]
    (facts / "entry_points.txt").write_text("\n".join(lines))
    return folder


def in_rail(folder: Path, *words: str) -> str:
    ended = subprocess.run(
        [sys.executable, *words], cwd=folder, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{ROOT / 'src'}"},
    )  # fmt: skip
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def test_the_example_environment_and_policy_pass_the_conformance_kit(rail):
    said = in_rail(rail, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_rail.py")
    assert int(re.findall(r"(\d+) passed", said)[0]) >= 20
    assert "failed" not in said
    assert "skipped" not in said


def test_the_example_is_found_listed_and_used_by_its_names(rail):
    listed = in_rail(rail, "-m", "clew", "doctor")
    assert re.search(r"^  rail +works +A cart on a rail", listed, re.MULTILINE)
    assert re.search(r"^  rail/pusher +works +Pushes towards", listed, re.MULTILINE)
    said = in_rail(rail, "use_rail.py")
    assert said.startswith("until Judgement(passed=True, score=")
    assert "state.objects_mm 0" in said


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text("utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
