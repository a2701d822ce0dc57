"""Documents and pictures made from tables: what is in them, and that they are the same each time."""

from __future__ import annotations

import datetime
import io
import subprocess
import sys
import zipfile
from dataclasses import replace

import pytest
from docx import Document
from openpyxl import load_workbook
from PIL import Image

from clew.core import Refused
from clew.environments.desktop.tasks.fixtures import built
from clew.environments.desktop.tasks.reading import tasks_of

SHEETS = {"sheets": {"Sales": [["Month", "Sold"], ["May", 12.5], ["", "=B2*2"]], "Notes": [["x"]]}}
LETTER = {
    "paragraphs": [
        {"text": "Results", "style": "Heading 1"}, "plain", {"text": "loud", "bold": True},
    ]
}  # fmt: skip
CARD = {
    "size": [40, 20],
    "background": [10, 20, 30],
    "rectangles": [
        {"box": [0, 0, 20, 10], "colour": [200, 0, 0]},
        {"box": [5, 5, 10, 10], "colour": [0, 200, 0]},
    ],
}
TABLES = {"a.xlsx": SHEETS, "a.docx": LETTER, "a.png": CARD}


def test_a_workbook_has_its_sheets_in_order_with_their_cells():
    book = load_workbook(io.BytesIO(built("shop/a.xlsx", SHEETS)))
    assert book.sheetnames == ["Sales", "Notes"]
    rows = [[cell.value for cell in row] for row in book["Sales"].iter_rows()]
    assert rows == [["Month", "Sold"], ["May", 12.5], [None, "=B2*2"]]


def test_a_document_has_its_paragraphs_with_style_and_weight():
    found = Document(io.BytesIO(built("a.docx", LETTER))).paragraphs
    assert [(p.text, p.style.name, p.runs[0].bold) for p in found] == [
        ("Results", "Heading 1", None), ("plain", "Normal", None), ("loud", "Normal", True),
    ]  # fmt: skip


def test_a_picture_has_its_size_and_its_rectangles_above_each_other():
    picture = Image.open(io.BytesIO(built("a.png", CARD)))
    assert (picture.size, picture.mode) == ((40, 20), "RGB")
    points = [(39, 19), (0, 0), (19, 9), (20, 9), (5, 5), (10, 5)]
    red, green, back = (200, 0, 0), (0, 200, 0), (10, 20, 30)
    assert [picture.getpixel(p) for p in points] == [back, red, red, back, green, red]


def test_a_picture_is_white_where_nothing_else_is_said():
    assert Image.open(io.BytesIO(built("a.png", {"size": [2, 3]}))).getcolors() == [
        (6, (255, 255, 255))
    ]


@pytest.mark.parametrize("path", TABLES)
def test_another_process_at_another_time_makes_the_same_bytes(path):
    program = (
        "import sys\n"
        "from clew.environments.desktop.tasks.fixtures import built\n"
        f"sys.stdout.write(built({path!r}, {TABLES[path]!r}).hex())\n"
    )
    made = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True,
        env={"PYTHONHASHSEED": "7", "TZ": "Asia/Tokyo"},
    )  # fmt: skip
    assert made.stdout == built(path, TABLES[path]).hex()


@pytest.mark.parametrize("path", ["a.xlsx", "a.docx"])
def test_no_time_of_making_is_in_a_document(path):
    archive = zipfile.ZipFile(io.BytesIO(built(path, TABLES[path])))
    assert {member.date_time for member in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
    properties = archive.read("docProps/core.xml")
    assert properties.count(b"1980-01-01T00:00:00Z") == 2
    assert str(datetime.date.today()).encode() not in properties


@pytest.mark.parametrize(
    ("path", "table", "said"),
    [
        ("a.odp", {}, "file 'a.odp' cannot be made from a table"),
        ("a.xlsx", {"sheet": {}}, "has the field 'sheet'; did you mean 'sheets'"),
        ("a.xlsx", {"sheets": {}}, "sheets is {}: it must be a dict, not empty"),
        ("a.xlsx", {"sheets": {"S": [["x"], 3]}}, "row 1 of sheet 'S' of file 'a.xlsx' is 3"),
        ("a.docx", {"paragraphs": [{"text": "x", "style": "Heading1"}]}, "did you mean 'Heading 1'"),
        ("a.docx", {"paragraphs": [3]}, "paragraph 0 of file 'a.docx' is 3: it must be a table"),
        ("a.png", {"size": [3]}, "size is [3]: 2 whole numbers from 0 to 4096"),
        ("a.png", {"size": [3, 3], "background": [0, 0, 256]}, "3 whole numbers from 0 to 255"),
        ("a.png", {"size": [3, 3], "rectangles": [{"box": [0, 0, 1, 1]}]}, "colour is None"),
    ],
)  # fmt: skip
def test_a_wrong_table_is_refused_with_what_is_wrong(path, table, said):
    with pytest.raises(Refused) as refused:
        built(path, table)
    assert said in str(refused.value)


def test_a_task_is_defined_by_its_tables_and_not_by_what_a_library_writes(tmp_path):
    (tmp_path / "tasks.toml").write_text(
        """application = "xterm"
[[tasks]]
name = "a"
instruction = "Look."
checks = [{ check = "window", window_class = "XTerm" }]
files = { "a.png" = { size = [4, 4] }, "a.txt" = "text" }
"""
    )
    (task,) = tasks_of(tmp_path / "tasks.toml").values()
    other_library = replace(task, files={**task.files, "a.png": b"other bytes"})
    assert other_library.definition() == task.definition()
    for changed in (
        replace(task, files={**task.files, "a.txt": b"other text"}),
        replace(task, tables={"a.png": {"size": [4, 5]}}),
    ):
        assert changed.definition() != task.definition()
