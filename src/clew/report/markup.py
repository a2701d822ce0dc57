"""HTML and SVG in which every text is escaped unless it is markup already. No templates."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

#: Elements without content: those of HTML have no end, those of SVG close themselves.
_VOID, _SHAPES = frozenset({"br", "img", "meta"}), frozenset({"circle", "line", "rect"})

#: Cells of more characters may break into lines.
LONG = 24


class Html(str):
    """Finished markup; any other string is text, and is escaped where it is put into a tag."""

    __slots__ = ()


def escaped(text: str) -> Html:
    """`text` for an element or a quoted attribute.

    What cannot be printed (controls, lone surrogates, marks that turn the reading direction) is
    shown as its escape, so that a name cannot rearrange the page.
    """
    visible = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
    return Html(html.escape(visible, quote=True))


def tag(name: str, /, *children: str, **attributes: str | int | None) -> Html:
    """An element. Of attribute names a trailing `_` is dropped and `_` becomes `-`; None is left
    out."""
    pairs = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escaped(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _VOID or name in _SHAPES:
        return Html(f"<{name}{pairs}{'/' * (name in _SHAPES)}>")
    return Html(f"<{name}{pairs}>{joined(children)}</{name}>")


def joined(parts: Iterable[str], between: str = "") -> Html:
    """Parts one after another; those that are text are escaped."""
    return Html(escaped(between).join(p if isinstance(p, Html) else escaped(p) for p in parts))


def paragraph(*children: str, kind: str | None = None) -> Html:
    """A paragraph; `kind` is its class."""
    return tag("p", *children, class_=kind)


@dataclass(frozen=True)
class Column:
    """A column of a table: its title, and whether it holds numbers."""

    title: str
    numbers: bool = True


def table(
    caption: str,
    columns: Sequence[Column],
    rows: Sequence[Sequence[str]],
    foot: Sequence[Sequence[str]] = (),
    kind: str | None = None,
) -> Html:
    """A table with a caption whose first column names its rows, in a box that may scroll; `kind`
    is its class."""
    head = tag("tr", *(tag("th", c.title, scope="col", class_=_kind(c)) for c in columns))
    parts = [tag("caption", tag("span", caption)), tag("thead", head)]
    parts.append(tag("tbody", *(_row(columns, row) for row in rows)))
    if foot:
        parts.append(tag("tfoot", *(_row(columns, row) for row in foot)))
    box = {"role": "region", "aria_label": str(caption), "tabindex": "0"}
    return tag("div", tag("table", *parts, class_=kind), class_="scroll", **box)


def _row(columns: Sequence[Column], row: Sequence[str]) -> Html:
    first, *others = row
    cells = [
        tag("td", cell, class_=_kind(c) or ("long" if len(cell) > LONG else None))
        for c, cell in zip(columns[1:], others)
    ]
    return Html(tag("tr", tag("th", first, scope="row", class_=_kind(columns[0])), *cells) + "\n")


def _kind(column: Column) -> str | None:
    return "number" if column.numbers else None
