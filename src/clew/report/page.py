"""The page as a whole: its skeleton, its sections in reading order, and the file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from clew.core import Refused
from clew.report import results, sections
from clew.report.frames import Gallery, gallery
from clew.report.markup import Html, tag
from clew.report.style import STYLE
from clew.run.folder import RunFolder, write_private

#: Nothing is fetched and nothing runs: styles and images stand in the page itself.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


class Study(Protocol):
    """What the page needs of a study: which one it is."""

    name: str


def write_report(study: Study, folder: RunFolder, tables: Mapping[str, Any]) -> Path:
    """Write `report.html` into the run's folder, whole or not at all; its path.

    Equal tables and frames give an equal file. Raises `Refused` for a study that has no page or
    a run that lacks a scenario's attempt, `Damaged` where a frame cannot be read.
    """
    if study.name != "roborecover":
        raise Refused(f"there is no report for the study {study.name!r}; valid: roborecover")
    shown = gallery(folder, tables["scenarios"]) if tables["frames"] else Gallery()
    path = folder.path / "report.html"
    write_private(path, page(tables, shown))
    return path


def page(tables: Mapping[str, Any], shown: Gallery) -> str:
    """The HTML of a report, from tables and pictures alone."""
    body = [
        sections.opening(tables), sections.banners(tables), results.funnel(tables),
        results.rates(tables), results.paired(tables), results.groups(tables),
        sections.scenarios(tables), sections.frames(tables, shown), sections.made(tables),
    ]  # fmt: skip
    head = [
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=POLICY),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", f"{tables['name']} · RoboRecover report"),
        tag("style", Html(STYLE)),
    ]
    whole = tag(
        "html", tag("head", *_lined(head)), tag("body", tag("main", *_lined(body))), lang="en"
    )
    return f"<!doctype html>\n{whole}\n"


def _lined(parts: list[Html]) -> list[Html]:
    return [Html(f"{part}\n") for part in parts]
