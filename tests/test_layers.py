"""Imports go down only, the engine stays small, and only the registry knows a concrete plug-in.

Read from the source, so a file that cannot be imported here is checked as well.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import clew

ROOT = Path(clew.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))

ENGINE = {"core", "match", "replay"}
RUNNING = ENGINE | {"store", "stats", "registry", "environment_install", "run"}
#: What each part of clew may import, besides itself.
MAY_IMPORT: dict[str, set[str]] = {
    "core": set(),
    "match": {"core"},
    "replay": {"core", "match", "stats"},
    "store": {"core"},
    "stats": {"core"},
    "registry": {"core"},
    "environment_install": {"core", "registry"},
    "doctor": {"core", "registry", "environment_install"},
    "run": RUNNING,
    "testing": {"core", "match", "replay", "stats", "store"},
    "environments": {"core"},
    "policies": {"core"},
    "report": {"core", "match", "stats", "store", "run"},
    "studies": RUNNING | {"report"},
    "cli": RUNNING | {"doctor", "report", "studies"},
}
#: Parts that travel to the simulators' interpreters, where only numpy is sure to be.
TRAVELLING = {"core", "match", "replay", "store", "stats", "run", "registry", "testing"}
#: What they may use where it imports, and never need.
GUARDED = {"cv2", "fast_ssim", "zstandard", "tomli", "ray", "pytest", "hypothesis"}


@dataclass(frozen=True)
class Import:
    file: Path
    line: int
    module: str
    guarded: bool

    @property
    def top(self) -> str:
        return self.module.partition(".")[0]

    @property
    def part(self) -> str:
        """The part of clew that is imported, for an import of clew."""
        return self.module.split(".")[1] if "." in self.module else ""

    def __str__(self) -> str:
        return f"{self.file.relative_to(ROOT)}:{self.line} imports {self.module}"


def part_of(file: Path) -> str:
    return file.relative_to(ROOT).parts[0].removesuffix(".py")


def imports_of(file: Path) -> Iterator[Import]:
    """Every import in a file; guarded is one in a function, a `try`, or for type checking only."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    yield from _imports(tree.body, file, guarded=False)


def _imports(nodes: list[ast.stmt], file: Path, guarded: bool) -> Iterator[Import]:
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(file, node.lineno, alias.name, guarded)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}:{node.lineno}: imports are absolute"
            for alias in node.names:
                is_part = node.module == "clew" and (ROOT / alias.name).exists()
                is_file = (ROOT / f"{alias.name}.py").exists() and node.module == "clew"
                whole = f"clew.{alias.name}" if is_part or is_file else str(node.module)
                yield Import(file, node.lineno, whole, guarded)
        else:
            protects = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Try, ast.If))
            inner = [child for child in ast.iter_child_nodes(node) if _holds_statements(child)]
            yield from _imports(inner, file, guarded or protects)  # type: ignore[arg-type]


def _holds_statements(node: ast.AST) -> bool:
    return isinstance(node, (ast.stmt, ast.ExceptHandler, ast.match_case))


def every_import(parts: set[str]) -> list[Import]:
    return [found for file in FILES if part_of(file) in parts for found in imports_of(file)]


def test_every_part_of_clew_has_its_place_in_the_house():
    parts = {part_of(file) for file in FILES} - {"__init__", "__main__"}
    assert parts <= set(MAY_IMPORT)


@pytest.mark.parametrize("part", sorted(MAY_IMPORT))
def test_imports_go_down_only(part):
    allowed = MAY_IMPORT[part] | {part, ""}
    assert [
        str(found)
        for found in every_import({part})
        if found.top == "clew" and found.part not in allowed
    ] == []


def test_the_order_of_the_parts_has_no_circle():
    placed: set[str] = set()
    left = dict(MAY_IMPORT)
    while left:
        ready = [part for part, needs in left.items() if needs - {part} <= placed]
        assert ready, f"a circle among {sorted(left)}"
        placed |= {ready[0]}
        del left[ready[0]]


def test_nothing_imports_a_concrete_environment_or_policy():
    """Only the registry makes plug-ins, by name. A plug-in may use its own and shared modules."""
    for found in every_import(set(MAY_IMPORT)):
        if found.part in {"environments", "policies"}:
            assert part_of(found.file) == found.part, str(found)
            target = ROOT.joinpath(*found.module.split(".")[1:3])
            is_plugin = (target / "manifest.json").exists()
            assert not is_plugin or target in found.file.parents, str(found)


def test_the_engine_needs_the_standard_library_and_numpy_alone():
    known = sys.stdlib_module_names | {"clew", "numpy"}
    for found in every_import(TRAVELLING):
        assert found.top in known or (found.guarded and found.top in GUARDED), str(found)


def test_core_match_and_replay_are_under_2000_lines_of_code():
    """Lines that hold code: blank lines, comments and docstrings are not to be saved on."""
    files = [file for file in FILES if part_of(file) in ENGINE]
    assert sum(code_lines(file.read_text(encoding="utf-8")) for file in files) < 2000


def code_lines(source: str) -> int:
    blank = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
    lines = {
        line
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type not in blank and token.type != tokenize.ENDMARKER
        for line in range(token.start[0], token.end[0] + 1)
    }
    for node in ast.walk(ast.parse(source)):
        documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
        if isinstance(node, documented) and ast.get_docstring(node) is not None:
            lines -= set(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    return len(lines)


def test_code_lines_are_counted_without_words():
    source = '"""Says.\n\nMore."""\n# why\n\ndef f():\n    """Says."""\n    return """a\nb"""\n'
    assert code_lines(source) == 3


def test_no_file_is_over_600_lines():
    assert {file.name: n for file in FILES if (n := len(file.read_text().splitlines())) > 600} == {}


def test_every_module_says_what_it_is():
    assert [str(file) for file in FILES if not ast.get_docstring(ast.parse(file.read_text()))] == []


def test_every_file_of_the_package_travels_with_the_engine():
    """A worker reads an environment's data files from the zip; one that stays behind is missed there."""
    from clew.run.code import SUFFIXES

    kept = {".pyc", ".typed", *SUFFIXES}
    assert [str(f) for f in ROOT.rglob("*") if f.is_file() and f.suffix not in kept] == []
