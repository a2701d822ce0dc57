"""Checks read what is in the home folder and on the screen; hostile documents fail, and harm nothing."""

from __future__ import annotations

import os
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from clew.core import Refused
from clew.environments.desktop import oracles
from clew.environments.gui import Node

openpyxl = pytest.importorskip("openpyxl")
docx = pytest.importorskip("docx")
HERE = ("enabled", "showing")


@dataclass
class Home:
    """A home folder, and a screen with two elements and one window."""

    home: Path

    def nodes(self):
        return (
            Node(0, "textbox", "Display", text="42 ", states=HERE),
            Node(1, "checkbox", "Wrap", states=("checked", *HERE)),
        )

    def windows(self):
        return ({"title": "notes.txt - Editor", "class": "editor", "active": True},)


@pytest.fixture
def world(tmp_path):
    return Home(tmp_path)


def unmet(world, check, **arguments):
    (one,) = oracles.validated([{"check": check, **arguments}], "task")
    return oracles.unmet(one, world)


def test_a_text_file_is_compared_exactly(world):
    (world.home / "a.txt").write_text("one\ntwo\n")
    assert unmet(world, "file_text", path="a.txt", equals="one\ntwo\n") == ""
    assert "'one" in unmet(world, "file_text", path="a.txt", equals="one\ntwo")
    assert unmet(world, "file_text", path="a.txt", contains="two", lacks="three") == ""
    assert "contains" in unmet(world, "file_text", path="a.txt", lacks="two")
    assert "No such file" in unmet(world, "file_text", path="b.txt", equals="")


def test_presence_and_listings(world):
    (world.home / "d").mkdir()
    (world.home / "d" / "x").touch()
    (world.home / "d" / ".hidden").touch()
    assert unmet(world, "folder_lists", path="d", equals=["x"]) == ""
    assert "['x']" in unmet(world, "folder_lists", path="d", equals=[])
    assert unmet(world, "file_there", path="d", folder=True) == ""
    assert unmet(world, "file_there", path="d/y", there=False) == ""
    assert "not there" in unmet(world, "file_there", path="d/y")


def test_the_cells_of_a_workbook(world):
    book = openpyxl.Workbook()
    book.active["A1"], book.active["B2"] = "tea", 3.5
    book.active["B3"] = "=SUM(B1:B2)"
    book.active["A1"].font = openpyxl.styles.Font(bold=True)
    book.save(world.home / "t.xlsx")
    cells = {"A1": "tea", "B2": 3.5, "B3": "=SUM(B1:B2)", "C1": None}
    assert unmet(world, "sheet_cells", path="t.xlsx", cells=cells) == ""
    assert "3.5" in unmet(world, "sheet_cells", path="t.xlsx", cells={"B2": 4})
    assert unmet(world, "sheet_names", path="t.xlsx", equals=["Sheet"]) == ""
    assert unmet(world, "cell_style", path="t.xlsx", cell="A1", bold=True) == ""
    assert "not bold" in unmet(world, "cell_style", path="t.xlsx", cell="B2", bold=True)
    assert "no sheet" in unmet(world, "sheet_cells", path="t.xlsx", cells={"A1": 1}, sheet="X")


def test_the_cells_of_an_open_document(world):
    odf = pytest.importorskip("odf.opendocument")
    from odf.table import Table, TableCell, TableRow
    from odf.text import P

    book, table = odf.OpenDocumentSpreadsheet(), Table(name="Prices")
    row = TableRow()
    table.addElement(TableRow(numberrowsrepeated=1))
    cell = TableCell(valuetype="string")
    cell.addElement(P(text="tea"))
    row.addElement(TableCell(numbercolumnsrepeated=2))
    row.addElement(cell)
    row.addElement(TableCell(valuetype="float", value="3.5"))
    row.addElement(TableCell(valuetype="float", value="7", formula="of:=SUM([.D2:.D3])"))
    table.addElement(row)
    book.spreadsheet.addElement(table)
    book.save(world.home / "t.ods")
    cells = {"A1": None, "C2": "tea", "D2": 3.5, "E2": "=SUM(D2:.D3)"}
    assert unmet(world, "sheet_cells", path="t.ods", cells=cells, sheet="Prices") == ""


def test_the_paragraphs_of_a_document(world):
    document = docx.Document()
    document.add_paragraph("Title", style="Heading 1")
    document.add_paragraph().add_run("loud").bold = True
    document.add_paragraph("")
    document.save(world.home / "d.docx")
    assert unmet(world, "document_paragraphs", path="d.docx", equals=["Title", "loud"]) == ""
    assert unmet(world, "paragraph_style", path="d.docx", paragraph=0, style="Heading 1") == ""
    assert unmet(world, "paragraph_style", path="d.docx", paragraph=1, bold=True) == ""
    assert "left" in unmet(world, "paragraph_style", path="d.docx", paragraph=1, alignment="right")
    assert "3 paragraphs" in unmet(world, "paragraph_style", path="d.docx", paragraph=9)


def test_an_image_by_its_size_and_pixels(world):
    image = pytest.importorskip("PIL.Image")
    image.new("RGB", (20, 10), (255, 0, 0)).save(world.home / "p.png")
    assert unmet(world, "image", path="p.png", size=[20, 10], pixels={"3,4": [250, 0, 0]}) == ""
    assert "20×10" in unmet(world, "image", path="p.png", size=[10, 10])
    assert "[255, 0, 0]" in unmet(world, "image", path="p.png", pixels={"0,0": [0, 0, 0]})
    assert "no pixel" in unmet(world, "image", path="p.png", pixels={"20,0": [0, 0, 0]})


def test_elements_and_windows(world):
    assert unmet(world, "widget", role="textbox", name="display:", text="42") == ""
    assert "'42 '" in unmet(world, "widget", role="textbox", name="Display", text="43")
    assert unmet(world, "widget", role="checkbox", states=["checked"]) == ""
    assert unmet(world, "widget", role="checkbox", lacks_states=["checked"]) != ""
    assert unmet(world, "widget", role="dialog", there=False) == ""
    assert unmet(world, "window", title="notes.txt") == ""
    assert "notes.txt" in unmet(world, "window", title="notes", there=False)


def test_the_score_is_the_fraction_of_checks_that_hold(world):
    checks = oracles.validated(
        [{"check": "window", "title": "notes"}, {"check": "window", "title": "zzz"}], "task"
    )
    judged = oracles.judge(checks, world)
    assert (judged.passed, judged.score) == (False, 0.5)
    assert judged.parts == {"0 window": 1.0, "1 window": 0.0}


@pytest.mark.parametrize("path", ["/etc/passwd", "../x", "a/../../x", ""])
def test_a_path_that_leaves_the_home_is_refused(world, path):
    with pytest.raises(Refused, match="leaves the home"):
        unmet(world, "file_text", path=path, contains="root")


def test_links_and_pipes_are_not_followed(world, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside")
    (outside / "secret").write_text("x")
    (world.home / "link").symlink_to(outside / "secret")
    (world.home / "folder").symlink_to(outside)
    os.mkfifo(world.home / "pipe")
    assert "link" in unmet(world, "file_text", path="link", equals="x")
    assert "link" in unmet(world, "file_text", path="folder/secret", equals="x")
    assert "no plain file" in unmet(world, "file_text", path="pipe", equals="x")


def test_broken_and_bursting_documents_are_failed_checks(world):
    (world.home / "a.xlsx").write_bytes(b"not a zip")
    with zipfile.ZipFile(world.home / "b.xlsx", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x", bytes(oracles.LARGEST_UNPACKED + 1))
    with zipfile.ZipFile(world.home / "c.docx", "w") as archive:
        archive.writestr("x", b"")
    (world.home / "d.png").write_bytes(b"\x89PNG\r\n\x1a\nxx")
    assert "no document" in unmet(world, "sheet_cells", path="a.xlsx", cells={"A1": 1})
    assert "unpacks to" in unmet(world, "sheet_cells", path="b.xlsx", cells={"A1": 1})
    assert "cannot be read" in unmet(world, "document_paragraphs", path="c.docx", equals=[])
    assert "cannot be read" in unmet(world, "image", path="d.png", size=[1, 1])


@pytest.mark.parametrize(
    ("checks", "said"),
    [
        ([], "no check"),
        ([{"check": "file_txt"}], "'file_text'"),
        ([{"path": "x"}], "check 0 of t"),
        ([{"check": "file_text"}], "path"),
        ([{"check": "window", "title": "x", "color": 1}], "color"),
        (["file_text"], "check 0 of t"),
    ],
)
def test_a_wrong_check_is_refused_with_its_place(checks, said):
    with pytest.raises(Refused, match=said):
        oracles.validated(checks, "t")
