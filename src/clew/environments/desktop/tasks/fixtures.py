"""Office documents and pictures that tasks start from, made from tables. It reads no task's file.

A table means the same document everywhere; its bytes depend on nothing else but the versions of
the libraries that write them, so a task is defined by the table, not by the bytes.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable, Mapping
from pathlib import PurePosixPath
from typing import Any

from clew.core import Refused, nearest

#: What stands where a library would write the time; the earliest that a zip archive can hold.
_TIME = (1980, 1, 1, 0, 0, 0)
_WRITTEN_TIME = re.compile(rb"(<dcterms:(created|modified)[^>]*>)[^<]*")
_LARGEST_PX = 4096


def built(path: str, table: Mapping[str, Any]) -> bytes:
    """The bytes of the file that a table describes; the end of `path` says of which kind.

    `.xlsx`: `sheets`, sheet name → rows of texts, numbers and formulas (`=…`); "" is an empty cell.
    `.docx`: `paragraphs`, each a text, or a table with `text` and, as needed, `style` (a name of
    Word's) and `bold`.
    `.png`: `size` [width, height]; as needed `background` [red, green, blue], otherwise white, and
    `rectangles`, tables of `box` [left, top, right, bottom] (right and bottom not part of it) and
    `colour`, the later ones above.

    Raises `Refused`, naming `path`, for another kind and for a table that is not of this form.
    """
    kind = PurePosixPath(path).suffix
    if kind not in _KINDS:
        raise Refused(
            f"file {path!r} cannot be made from a table; {nearest(kind, _KINDS)}, or give its text"
        )
    return _KINDS[kind](table, f"file {path!r}")


def _workbook(table: Mapping[str, Any], where: str) -> bytes:
    from openpyxl import Workbook

    _known(table, {"sheets"}, where)
    book = Workbook()
    book.remove(book.active)
    for name, rows in _given(table, "sheets", dict, where).items():
        sheet = book.create_sheet(name)
        for number, row in enumerate(rows):
            if not isinstance(row, list) or not all(type(v) in (str, int, float) for v in row):
                raise Refused(
                    f"row {number} of sheet {name!r} of {where} is {row!r}: "
                    "it must be a list of texts and numbers"
                )
            sheet.append([None if value == "" else value for value in row])
    return _steady(book.save)


def _document(table: Mapping[str, Any], where: str) -> bytes:
    from docx import Document

    _known(table, {"paragraphs"}, where)
    document = Document()
    known = {style.name for style in document.styles}
    for number, given in enumerate(_given(table, "paragraphs", list, where)):
        one = {"text": given} if isinstance(given, str) else given
        at = f"paragraph {number} of {where}"
        _known(one, {"text", "style", "bold"}, at)
        style = one.get("style", "Normal")
        if style not in known:
            raise Refused(f"{at} has the style {style!r}; {nearest(style, known)}")
        run = document.add_paragraph(style=style).add_run(_given(one, "text", str, at))
        if "bold" in one:
            run.bold = one["bold"]
    return _steady(document.save)


def _picture(table: Mapping[str, Any], where: str) -> bytes:
    from PIL import Image

    _known(table, {"size", "background", "rectangles"}, where)
    width, height = _numbers(table, "size", 2, _LARGEST_PX, where)
    background = _numbers({"background": [255] * 3, **table}, "background", 3, 255, where)
    picture = Image.new("RGB", (width, height), background)
    for number, one in enumerate(table.get("rectangles", ())):
        at = f"rectangle {number} of {where}"
        _known(one, {"box", "colour"}, at)
        picture.paste(_numbers(one, "colour", 3, 255, at), _numbers(one, "box", 4, _LARGEST_PX, at))
    data = io.BytesIO()
    # Not compressed: builds of zlib differ in the bytes that they make.
    picture.save(data, "PNG", compress_level=0)
    return data.getvalue()


def _steady(save: Callable[[io.BytesIO], None]) -> bytes:
    """What `save` writes, a zip archive, without compression and with one time everywhere."""
    written, steady = io.BytesIO(), io.BytesIO()
    save(written)
    with zipfile.ZipFile(written) as source, zipfile.ZipFile(steady, "w") as target:
        for name in source.namelist():
            content = _WRITTEN_TIME.sub(rb"\g<1>1980-01-01T00:00:00Z", source.read(name))
            target.writestr(zipfile.ZipInfo(name, _TIME), content)
    return steady.getvalue()


_KINDS: Mapping[str, Callable[[Mapping[str, Any], str], bytes]] = {
    ".xlsx": _workbook, ".docx": _document, ".png": _picture,
}  # fmt: skip


def _given(table: Mapping[str, Any], field: str, kind: type, where: str) -> Any:
    value = table.get(field)
    if not isinstance(value, kind) or not value:
        raise Refused(f"{where}: {field} is {value!r}: it must be a {kind.__name__}, not empty")
    return value


def _numbers(
    table: Mapping[str, Any], field: str, count: int, most: int, where: str
) -> tuple[int, ...]:
    value = table.get(field)
    if (
        not isinstance(value, (list, tuple))
        or len(value) != count
        or not all(type(n) is int and 0 <= n <= most for n in value)
    ):
        raise Refused(f"{where}: {field} is {value!r}: {count} whole numbers from 0 to {most}")
    return tuple(value)


def _known(table: Any, fields: set[str], where: str) -> None:
    if not isinstance(table, Mapping):
        raise Refused(f"{where} is {table!r}: it must be a table")
    for name in table:
        if name not in fields:
            raise Refused(f"{where} has the field {name!r}; {nearest(name, fields)}")
