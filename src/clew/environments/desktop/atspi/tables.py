"""The cells of tables: those that show in a huge one, the columns' names in a small one.

A spreadsheet has 2^31 children: they are counted, never listed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from clew.environments.desktop.atspi import records
from clew.environments.desktop.atspi.records import (
    ACCESSIBLE,
    BOX,
    COMPONENT,
    NAME,
    ON_SCREEN,
    STATES,
    TABLE,
    TEXT,
    TEXT_CHARACTERS,
    Record,
    call,
    method,
    prop,
)
from clew.environments.desktop.atspi.words import states_of
from clew.environments.gui.nodes import Box

if TYPE_CHECKING:
    from clew.environments.desktop.atspi.reading import Reading

#: Cells of one table that are read at most.
CELLS = 1_500

_Place = tuple[int, int]


def read_shown_cells(reading: Reading, table: Record) -> None:
    """Append the cells from the upper left to the lower right one that shows."""
    corners = _corners(reading, table)
    if corners is None:
        reading.notes.tables_not_read += 1
        return
    (top, left), (bottom, right) = corners
    budget = max(1, min(CELLS, reading.left))
    columns = range(left, min(right + 1, left + budget))
    rows = range(top, min(bottom + 1, top + max(1, budget // len(columns))))
    reading.notes.nodes_left_out += (bottom - top + 1) * (right - left + 1) - len(rows) * len(
        columns
    )
    cells = _cells(reading, table, [(row, column) for row in rows for column in columns])
    _describe(reading, cells)
    _place(reading, cells, top, left)
    table.children += cells.values()
    reading.left -= len(cells)


def name_columns(reading: Reading, table: Record) -> None:
    """Give the cells of a table that was read whole the names of their columns."""
    cells = [each for each in table.children if each.role == "cell"]
    if not cells:
        return
    counted = reading.ask([table], prop(TABLE, "NColumns"))[0]
    columns = records.integer(counted)
    if not 0 < columns <= len(cells):
        return
    answers = reading.answers(
        [call(table, TABLE, "GetColumnDescription", "i", column) for column in range(columns)]
    )
    for position, cell in enumerate(cells):
        name = records.text(answers[position % columns])
        cell.headers = (name,) if name else ()


def _corners(reading: Reading, table: Record) -> tuple[_Place, _Place] | None:
    """(row, column) of the upper left and of the lower right cell on the screen."""
    x, y, width, height = _visible(table)
    points = ((x + 2, y + 2), (x + width - 3, y + height - 3))
    found = [
        records.reference(records.first(answer))
        for answer in reading.answers(
            [call(table, COMPONENT, "GetAccessibleAtPoint", "iiu", *p, ON_SCREEN) for p in points]
        )
    ]
    cells = [Record(reference) for reference in found if reference is not None]
    if len(cells) != 2:
        return None
    indices = reading.ask(cells, method(ACCESSIBLE, "GetIndexInParent"))
    top, left, bottom, right = (
        records.integer(answer)
        for answer in reading.answers(
            [
                call(table, TABLE, member, "i", records.integer(index))
                for index in indices
                for member in ("GetRowAtIndex", "GetColumnAtIndex")
            ]
        )
    )
    if not (0 <= top <= bottom and 0 <= left <= right):
        return None
    return (top, left), (bottom, right)


def _visible(table: Record) -> Box:
    """The part of a table that its ancestors do not cut off, as the application counts pixels."""
    left, top, right, bottom = -(1 << 20), -(1 << 20), 1 << 20, 1 << 20
    at: Record | None = table
    while at is not None:
        if at.raw is not None and at.shift == table.shift:
            x, y, width, height = at.raw
            left, top = max(left, x), max(top, y)
            right, bottom = min(right, x + width), min(bottom, y + height)
        at = at.parent
    return left, top, right - left, bottom - top


def _cells(reading: Reading, table: Record, places: Sequence[_Place]) -> dict[_Place, Record]:
    answers = reading.answers([call(table, TABLE, "GetAccessibleAt", "ii", *p) for p in places])
    cells = {}
    for place, answer in zip(places, answers):
        reference = records.reference(records.first(answer))
        if reference is not None and reading.claim(reference, table):
            cells[place] = Record(
                reference, table, table.depth + 1, "table cell", "cell", shift=table.shift
            )
    return cells


def _describe(reading: Reading, cells: dict[_Place, Record]) -> None:
    every = list(cells.values())
    texts = reading.ask(every, method(TEXT, "GetText", "ii", 0, -1))
    states = reading.ask(every, STATES)
    for (place, cell), text, state in zip(cells.items(), texts, states):
        cell.text = records.text(text, TEXT_CHARACTERS)
        cell.bits = records.bits(state)
        cell.states = states_of(cell.bits, cell.native)
        cell.interfaces = frozenset({COMPONENT, TEXT})
        column, row = _letters(place[1]), str(place[0] + 1)
        cell.name, cell.headers = column + row, (column, row)
    # One name tells whether the table is a spreadsheet, whose cells are named by their place.
    if every and records.text(reading.ask(every[:1], NAME)[0]) != every[0].name:
        for cell, name in zip(every, reading.ask(every, NAME)):
            cell.name, cell.headers = records.text(name), ()


def _letters(column: int) -> str:
    """A spreadsheet's name of a column: A to Z, AA, …"""
    word = ""
    while column >= 0:
        column, letter = divmod(column, 26)
        word = chr(ord("A") + letter) + word
        column -= 1
    return word


def _place(reading: Reading, cells: dict[_Place, Record], top: int, left: int) -> None:
    """Boxes from those of the first row and column: a grid needs no box of every cell."""
    edge = [cell for (row, column), cell in cells.items() if row == top or column == left]
    boxes = reading.ask(edge, BOX)
    for cell, answer in zip(edge, boxes):
        cell.raw = records.box(answer)
    for (row, column), cell in cells.items():
        above, beside = cells.get((top, column)), cells.get((row, left))
        if above and beside and above.raw and beside.raw:
            cell.raw = (above.raw[0], beside.raw[1], above.raw[2], beside.raw[3])
