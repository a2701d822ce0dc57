"""Text never becomes markup, and an element is written as it is asked for."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from clew.report.markup import Column, escaped, joined, table, tag

from ._page import parse, rows
from ._study import HOSTILE, QUOTED

_text = st.text(st.characters(exclude_categories=()), max_size=20)


def _page(content: str):
    return parse(f"<!doctype html>\n{content}")


@given(_text, _text)
def test_any_text_stays_text(text, value):
    page = _page(tag("p", text, title=value))
    p = page.one("p")
    assert [c for c in page.children if c is not p and str(c).strip()] == []
    assert [type(c) for c in p.children] == [str] * bool(text)
    assert set(p.attributes) == {"title"}
    if text.isprintable():
        assert p.text == text
    if value.isprintable():
        assert p.attributes["title"] == value


@given(_text)
def test_what_cannot_be_printed_is_shown_as_its_escape(text):
    assert escaped(text).isprintable()
    escaped(text).encode("utf-8")


def test_a_turned_reading_direction_cannot_rearrange_the_page():
    assert escaped("a\u202eb\x00\ud800") == "a\\u202eb\\x00\\ud800"


def test_markup_is_not_escaped_twice():
    inner = tag("b", "1 < 2")
    assert tag("p", inner, " & more") == "<p><b>1 &lt; 2</b> &amp; more</p>"
    assert joined([inner, HOSTILE], ", ").count("<") == 2


def test_attribute_names_lose_their_underscores():
    assert tag("a", class_="x", aria_label="y", id=None) == '<a class="x" aria-label="y"></a>'


def test_a_table_has_a_caption_and_scopes():
    drawn = table("All", [Column("Name", False), Column("N")], [[HOSTILE, "1"]], [[QUOTED, "2"]])
    page = _page(drawn)
    assert [c.attributes["scope"] for c in page.all("th")] == ["col", "col", "row", "row"]
    assert rows(page, "All")[0] == [HOSTILE, "1"]
    assert page.one("div").attributes["tabindex"] == "0"
