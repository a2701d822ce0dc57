"""The documents say what is: their Python runs, and their links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])


def test_the_engine_page_runs_as_it_stands(monkeypatch, capsys):
    pytest.importorskip("mujoco")
    text = (ROOT / "docs" / "engine.md").read_text("utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.S)
    assert len(blocks) >= 6
    space: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, "docs/engine.md", "exec"), space)
    said = capsys.readouterr().out
    assert "True" in said
    assert "3 of 3" in said


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text("utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
