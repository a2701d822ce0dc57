"""The checks of desktop tasks: files, documents, widgets, windows. They look, and change nothing.

A check is a table of a task's file: `check` names one of `CHECKS`, the rest are its arguments. What
is read here was written by applications that an agent drove, so links are not followed, paths
stay in the home folder, and large or broken documents are a failed check, with the reason.
"""

from __future__ import annotations

import hashlib
import inspect
import io
import os
import stat
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Protocol

from clew.core import Judgement, Refused, nearest
from clew.environments.gui import Node, normalised

#: Limits on what a check opens: a document that is larger, or unpacks to more, fails.
LARGEST_FILE = 32 << 20
LARGEST_UNPACKED = 256 << 20


class World(Protocol):
    """What an oracle may look at."""

    @property
    def home(self) -> Path:
        """The session's home folder, as seen from outside."""
        ...

    def nodes(self) -> Sequence[Node]:
        """The accessibility tree now."""
        ...

    def windows(self) -> Sequence[Mapping[str, Any]]:
        """The windows now: `title`, `class`, `active`."""
        ...


class Unmet(Exception):
    """A check does not hold; the message says what was found instead."""


def judge(checks: Sequence[Mapping[str, Any]], world: World) -> Judgement:
    """Passed when every check holds; the score is the fraction that does, by name in `parts`."""
    parts: dict[str, float] = {}
    for number, check in enumerate(checks):
        parts[f"{number} {check['check']}"] = float(not unmet(check, world))
    return Judgement(all(parts.values()), sum(parts.values()) / len(parts), parts)


def unmet(check: Mapping[str, Any], world: World) -> str:
    """Why a check does not hold; empty if it does."""
    arguments = {name: value for name, value in check.items() if name != "check"}
    try:
        CHECKS[check["check"]](world, **arguments)
    except Unmet as error:
        return str(error)
    return ""


def validated(checks: Any, where: str) -> tuple[Mapping[str, Any], ...]:
    """The checks of a task's file. Raises `Refused`, naming `where`, for an unknown check or
    argument and for none at all."""
    if not isinstance(checks, list) or not checks:
        raise Refused(f"{where} has no check: a task needs one at least")
    for number, check in enumerate(checks):
        at = f"check {number} of {where}"
        if not isinstance(check, dict) or check.get("check") not in CHECKS:
            name = check.get("check") if isinstance(check, dict) else check
            raise Refused(f"{at} is {name!r}; {nearest(str(name), CHECKS)}")
        known = inspect.signature(CHECKS[check["check"]])
        arguments = {name: value for name, value in check.items() if name != "check"}
        try:
            known.bind(None, **arguments)
        except TypeError as error:
            raise Refused(f"{at}: {error}") from None
    return tuple(checks)


def file_text(
    world: World, path: str, equals: str | None = None, contains: str | None = None,
    lacks: str | None = None,
) -> None:  # fmt: skip
    """A text file, UTF-8, is exactly `equals`, or contains or lacks a text."""
    try:
        text = _bytes(world, path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise Unmet(f"{path} is not UTF-8: {error}") from None
    if equals is not None and text != equals:
        raise Unmet(f"{path} is {text[:200]!r}")
    if contains is not None and contains not in text:
        raise Unmet(f"{path} does not contain {contains!r}: {text[:200]!r}")
    if lacks is not None and lacks in text:
        raise Unmet(f"{path} contains {lacks!r}")


def file_sha256(world: World, path: str, equals: str) -> None:
    """A file has exactly these bytes."""
    found = hashlib.sha256(_bytes(world, path)).hexdigest()
    if found != equals:
        raise Unmet(f"{path} has the SHA-256 {found}")


def file_there(world: World, path: str, there: bool = True, folder: bool = False) -> None:
    """A file (or folder) is there, or is not."""
    try:
        kind = os.lstat(_path(world, path)).st_mode
    except OSError:
        kind = 0
    found = stat.S_ISDIR(kind) if folder else stat.S_ISREG(kind)
    if found != there:
        raise Unmet(f"{path} is {'not ' if there else ''}there")


def folder_lists(world: World, path: str, equals: list[str]) -> None:
    """A folder holds exactly these names, hidden ones aside."""
    try:
        found = sorted(n for n in os.listdir(_path(world, path)) if not n.startswith("."))
    except OSError as error:
        raise Unmet(f"{path} cannot be listed: {error.strerror}") from None
    if found != sorted(equals):
        raise Unmet(f"{path} holds {found}")


def sheet_cells(
    world: World, path: str, cells: Mapping[str, Any], sheet: str | None = None
) -> None:
    """Cells of a spreadsheet (.xlsx or .ods) have these values; a formula is its text, from `=`."""
    read = _ods_cells if path.endswith(".ods") else _xlsx_cells
    found = read(world, path, sheet, list(cells))
    wrong = {name: found[name] for name, wanted in cells.items() if found[name] != wanted}
    if wrong:
        raise Unmet(f"{path} has {wrong}")


def sheet_names(world: World, path: str, equals: list[str]) -> None:
    """The sheets of an .xlsx file, in order."""
    found = _workbook(world, path).sheetnames
    if found != equals:
        raise Unmet(f"{path} has the sheets {found}")


def cell_style(
    world: World, path: str, cell: str, bold: bool | None = None, fill: str | None = None
) -> None:
    """A cell of an .xlsx file is bold, or filled with a colour as `RRGGBB`."""
    found = _workbook(world, path).active[cell]
    if bold is not None and bool(found.font.b) != bold:
        raise Unmet(f"cell {cell} of {path} is {'' if found.font.b else 'not '}bold")
    if fill is not None and str(found.fill.fgColor.rgb)[-6:].upper() != fill.upper():
        raise Unmet(f"cell {cell} of {path} is filled with {found.fill.fgColor.rgb}")


def document_paragraphs(world: World, path: str, equals: list[str]) -> None:
    """The paragraphs of a .docx or .odt file, empty ones at the end aside."""
    read = _odt_paragraphs if path.endswith(".odt") else _docx_paragraphs
    found = read(world, path)
    while found and not found[-1]:
        found.pop()
    if found != equals:
        raise Unmet(f"{path} has the paragraphs {found}")


def paragraph_style(
    world: World, path: str, paragraph: int, style: str | None = None, bold: bool | None = None,
    alignment: str | None = None,
) -> None:  # fmt: skip
    """A paragraph of a .docx file, from 0, has a style, is all bold, or is aligned."""
    paragraphs = _docx(world, path).paragraphs
    if paragraph >= len(paragraphs):
        raise Unmet(f"{path} has {len(paragraphs)} paragraphs")
    found = paragraphs[paragraph]
    if style is not None and found.style.name != style:
        raise Unmet(f"paragraph {paragraph} of {path} has the style {found.style.name!r}")
    is_bold = bool(found.runs) and all(run.bold for run in found.runs if run.text.strip())
    if bold is not None and is_bold != bold:
        raise Unmet(f"paragraph {paragraph} of {path} is {'' if is_bold else 'not '}bold")
    side = "left" if found.alignment is None else found.alignment.name.lower()
    if alignment is not None and side != alignment:
        raise Unmet(f"paragraph {paragraph} of {path} is aligned {side}")


def image(
    world: World, path: str, size: list[int] | None = None,
    pixels: Mapping[str, list[int]] | None = None, tolerance: int = 8,
) -> None:  # fmt: skip
    """An image has this size [width, height] and at "x,y" these colours, RGB, within a tolerance."""
    picture = _picture(world, path)
    if size is not None and list(picture.size) != size:
        raise Unmet(f"{path} is {picture.size[0]}×{picture.size[1]}")
    for place, wanted in (pixels or {}).items():
        x, y = (int(part) for part in place.split(","))
        if not (0 <= x < picture.size[0] and 0 <= y < picture.size[1]):
            raise Unmet(f"{path} has no pixel {place}")
        found = picture.getpixel((x, y))
        if any(abs(a - b) > tolerance for a, b in zip(found, wanted)):
            raise Unmet(f"pixel {place} of {path} is {list(found)}")


def widget(
    world: World, role: str, name: str | None = None, text: str | None = None,
    value: str | None = None, states: Sequence[str] = (), lacks_states: Sequence[str] = (),
    there: bool = True,
) -> None:  # fmt: skip
    """A showing element of this role and name has this text or value, has and lacks states."""
    shown = [n for n in world.nodes() if n.role == role and "showing" in n.states]
    named = [n for n in shown if name is None or normalised(n.name) == normalised(name)]
    fits = [
        n for n in named
        if (text is None or n.text.strip() == text) and (value is None or n.value == value)
        and set(states) <= set(n.states) and not set(lacks_states) & set(n.states)
    ]  # fmt: skip
    if bool(fits) != there:
        found = [(n.name, n.text[:60], n.value, n.states) for n in named[:5]]
        raise Unmet(f"{role} {name or ''!r} {'is not' if there else 'is'} so: {found}")


def window(
    world: World, title: str = "", window_class: str | None = None, there: bool = True
) -> None:
    """A window whose title contains a text, of a class (of WM_CLASS), is there, or is not."""
    shown = [(str(one["title"]), str(one["class"])) for one in world.windows()]
    fits = [one for one in shown if title in one[0] and window_class in (None, one[1])]
    if bool(fits) != there:
        raise Unmet(f"the windows are {shown}")


CHECKS: Mapping[str, Callable[..., None]] = {
    each.__name__: each
    for each in (
        file_text, file_sha256, file_there, folder_lists, sheet_cells, sheet_names, cell_style,
        document_paragraphs, paragraph_style, image, widget, window,
    )
}  # fmt: skip


def _path(world: World, path: str) -> Path:
    """A path in the home folder; none of its parts may be a link or lead out."""
    parts = PurePosixPath(path).parts
    if not parts or path.startswith("/") or ".." in parts:
        raise Refused(f"the path {path!r} of a check leaves the home folder: name one inside it")
    at = world.home
    for part in parts:
        at = at / part
        if at.is_symlink():
            raise Unmet(f"{path} is, or lies behind, a link")
    return at


def _bytes(world: World, path: str) -> bytes:
    try:
        fd = os.open(_path(world, path), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        raise Unmet(f"{path} cannot be read: {error.strerror}") from None
    with open(fd, "rb") as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise Unmet(f"{path} is no plain file")
        data = file.read(LARGEST_FILE + 1)
    if len(data) > LARGEST_FILE:
        raise Unmet(f"{path} is larger than {LARGEST_FILE} bytes")
    return data


def _zipped(world: World, path: str) -> Any:
    """An office document as a file object, once it is known not to unpack to more than allowed."""
    data = io.BytesIO(_bytes(world, path))
    try:
        with zipfile.ZipFile(data) as archive:
            unpacked = sum(member.file_size for member in archive.infolist())
    except zipfile.BadZipFile as error:
        raise Unmet(f"{path} is no document: {error}") from None
    if unpacked > LARGEST_UNPACKED:
        raise Unmet(f"{path} unpacks to {unpacked} bytes")
    data.seek(0)
    return data


def _opened(path: str, read: Callable[[], Any]) -> Any:
    """What a document library reads; whatever it raises on a broken document is a failed check."""
    try:
        return read()
    except Unmet:
        raise
    except Exception as error:  # noqa: BLE001 the boundary to a parser of hostile documents
        raise Unmet(f"{path} cannot be read: {type(error).__name__}: {error}") from None


def _workbook(world: World, path: str) -> Any:
    from openpyxl import load_workbook

    return _opened(path, lambda: load_workbook(_zipped(world, path)))


def _xlsx_cells(world: World, path: str, sheet: str | None, names: list[str]) -> dict[str, Any]:
    book = _workbook(world, path)
    if sheet is not None and sheet not in book.sheetnames:
        raise Unmet(f"{path} has no sheet {sheet!r}: {book.sheetnames}")
    page = book.active if sheet is None else book[sheet]
    return {name: page[name].value for name in names}


def _ods_cells(world: World, path: str, sheet: str | None, names: list[str]) -> dict[str, Any]:
    from odf.table import Table

    document = _odf(world, path)
    tables = document.spreadsheet.getElementsByType(Table)
    chosen = [t for t in tables if sheet is None or t.getAttribute("name") == sheet]
    if not chosen:
        raise Unmet(f"{path} has no sheet {sheet!r}")
    grid = _ods_grid(chosen[0], max(_row_column(name)[0] for name in names))
    return {name: grid.get(_row_column(name)) for name in names}


def _ods_grid(table: Any, rows: int) -> dict[tuple[int, int], Any]:
    """The filled cells by (row, column), from 0, of the first rows; repeats are followed."""
    from odf.table import TableCell, TableRow

    grid: dict[tuple[int, int], Any] = {}
    y = 0
    for row in table.getElementsByType(TableRow):
        times = int(row.getAttribute("numberrowsrepeated") or 1)
        x = 0
        for cell in row.getElementsByType(TableCell):
            repeats = int(cell.getAttribute("numbercolumnsrepeated") or 1)
            value = _ods_value(cell)
            if value is not None:
                filled = range(y, min(y + times, rows + 1))
                grid |= {(j, i): value for j in filled for i in range(x, x + min(repeats, 1024))}
            x += repeats
        y += times
        if y > rows:
            break
    return grid


def _ods_value(cell: Any) -> Any:
    from odf import teletype
    from odf.text import P

    formula = cell.getAttribute("formula")
    if formula:
        return "=" + formula.partition("=")[2].replace("[.", "").replace("]", "")
    if cell.getAttribute("valuetype") in ("float", "currency", "percentage"):
        number = float(cell.getAttribute("value"))
        return int(number) if number.is_integer() else number
    lines = [teletype.extractText(p) for p in cell.getElementsByType(P)]
    return "\n".join(lines) or None


def _row_column(name: str) -> tuple[int, int]:
    """`B3` as (2, 1)."""
    letters = name.rstrip("0123456789")
    column = 0
    for letter in letters:
        column = column * 26 + ord(letter) - ord("A") + 1
    return int(name[len(letters) :]) - 1, column - 1


def _odf(world: World, path: str) -> Any:
    from odf.opendocument import load

    return _opened(path, lambda: load(_zipped(world, path)))


def _odt_paragraphs(world: World, path: str) -> list[str]:
    from odf import teletype

    body = _odf(world, path).text
    return [
        teletype.extractText(node)
        for node in body.childNodes
        if getattr(node, "qname", ("", ""))[1] in ("p", "h")
    ]


def _docx(world: World, path: str) -> Any:
    from docx import Document

    return _opened(path, lambda: Document(_zipped(world, path)))


def _docx_paragraphs(world: World, path: str) -> list[str]:
    return [paragraph.text for paragraph in _docx(world, path).paragraphs]


def _picture(world: World, path: str) -> Any:
    from PIL import Image

    def opened() -> Any:
        picture = Image.open(io.BytesIO(_bytes(world, path)))
        if picture.size[0] * picture.size[1] > 64_000_000:
            raise Unmet(f"{path} is too large an image: {picture.size}")
        return picture.convert("RGB")

    return _opened(path, opened)
