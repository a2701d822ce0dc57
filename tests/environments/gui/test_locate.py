"""A locator means one node, or says which condition failed."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.core import Element
from clew.environments.gui import ROLES, Node, NotFound, centre, channel, find, hit, nodes_of
from clew.environments.gui.nodes import normalised
from clew.match.tree import tree_difference

HERE = ("enabled", "showing")
TREE = (
    Node(0, "window", "Editor", states=("active", *HERE), box=(0, 0, 400, 300)),
    Node(1, "toolbar", "Main", 0, states=HERE, box=(0, 0, 400, 30)),
    Node(2, "button", "_Save…", 1, states=HERE, box=(10, 5, 20, 20)),
    Node(3, "button", "Save", 0, states=HERE, box=(10, 200, 60, 20)),
    Node(4, "button", "Print", 0, states=("showing",), box=(90, 200, 60, 20)),
    Node(5, "grid", "Prices", 0, states=HERE, box=(0, 50, 400, 100)),
    Node(6, "cell", "", 5, states=HERE, box=(0, 70, 50, 20), headers=("Tea", "Price")),
    Node(7, "cell", "", 5, states=HERE, box=(0, 90, 50, 20), headers=("Coffee", "Price")),
    Node(8, "window", "Other", states=HERE, box=(400, 0, 100, 100)),
    Node(9, "button", "Save", 8, states=HERE, box=(400, 0, 20, 20)),
)  # fmt: skip


def test_the_first_in_reading_order_of_the_focused_window_is_meant():
    found = find(Element("button", "save"), TREE)
    assert (found.node.id, found.candidates) == (2, 2)
    assert found.notes() == {
        "role": "button", "name": "_Save…", "box": [10, 5, 20, 20], "candidates": 2,
    }  # fmt: skip


def test_named_ancestors_narrow_a_locator():
    assert find(Element("button", "Save", within=("Other",)), TREE).node.id == 9
    assert find(Element("button", "Save", within=("Editor", "Main")), TREE).candidates == 1
    with pytest.raises(NotFound, match="elsewhere"):
        find(Element("button", "Save", within=("Main", "Editor")), TREE)


def test_a_cell_is_found_by_its_row_and_column_headers():
    assert find(Element("cell", "", within=("Prices", "Coffee", "Price")), TREE).node.id == 7


def test_what_is_not_there_is_told_from_what_cannot_be_used():
    with pytest.raises(NotFound, match="neither showing nor enabled"):
        find(Element("button", "Print"), TREE)
    with pytest.raises(NotFound, match="is not there: nothing was done"):
        find(Element("button", "Undo"), TREE)


def test_an_active_modal_dialog_is_the_focused_window():
    dialog = Node(10, "dialog", "Sure?", 0, states=("active", "modal", *HERE), box=(50, 50, 90, 90))
    inside = Node(11, "button", "Save", 10, states=HERE, box=(60, 250, 20, 20))
    assert find(Element("button", "Save"), (*TREE, dialog, inside)).node.id == 11


def test_a_pixel_hits_the_smallest_showing_node():
    assert hit(12, 8, TREE).name == "_Save…"
    assert hit(200, 8, TREE).name == "Main"
    assert hit(1000, 1000, TREE) is None


def test_a_node_without_a_box_cannot_be_clicked():
    assert centre(TREE[3]) == (40, 210)
    with pytest.raises(NotFound, match="no box"):
        centre(Node(0, "button", "Save"))


def test_parents_in_a_loop_end():
    loop = (Node(0, "group", "a", 1, states=HERE), Node(1, "button", "b", 0, states=HERE))
    assert find(Element("button", "b", within=("a",)), loop).node.id == 1


@pytest.mark.parametrize(
    ("shown", "name"),
    [("_File", "file"), ("Save As…", "save as"), ("Name:", "name"), ("Tools...", "tools"),
     ("A  b\n c", "a b c"), ("E-mail *", "e-mail"), ("ﬁle", "file"), ("", "")],
)  # fmt: skip
def test_names_are_compared_as_people_read_them(shown, name):
    assert normalised(shown) == name


@given(st.text(max_size=20))
def test_normalising_twice_changes_nothing(name):
    assert normalised(normalised(name)) == normalised(name)


def test_a_tree_is_read_back_from_its_channel_and_equals_itself():
    stored = json.loads(json.dumps(channel(TREE)))
    assert nodes_of(stored) == TREE
    difference = tree_difference(stored, channel(TREE))
    assert (difference.added, difference.removed, difference.changed) == (0, 0, 0)
    assert {node.role for node in TREE} <= ROLES
