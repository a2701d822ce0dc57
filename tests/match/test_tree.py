"""Accessibility-tree differences."""

import pytest

from clew.core import Refused
from clew.match import tree_difference


def node(role, name="", *children, **more):
    return {"role": role, "name": name, "children": list(children), **more}


WINDOW = node("window", "Editor", node("text", "body", value="abc"), node("button", "Save"))


def counts(a, b):
    found = tree_difference(a, b)
    return found.added, found.removed, found.changed


def test_a_tree_equals_itself():
    assert counts(WINDOW, WINDOW) == (0, 0, 0)


def test_typed_text_is_one_changed_node():
    typed = node("window", "Editor", node("text", "body", value="abcd"), node("button", "Save"))
    assert counts(WINDOW, typed) == (0, 0, 1)


def test_a_new_first_child_is_one_added_node_and_changes_no_other():
    bar = node("window", "Editor", node("button", "Find"), *WINDOW["children"])
    assert counts(WINDOW, bar) == (1, 0, 0)
    assert counts(bar, WINDOW) == (0, 1, 0)


def test_a_removed_dialog_counts_all_its_nodes():
    dialog = node("dialog", "Quit?", node("button", "Yes"), node("button", "No"))
    assert counts([WINDOW, dialog], [WINDOW]) == (0, 3, 0)


def test_a_renamed_button_is_changed_rather_than_added_and_removed():
    renamed = node("window", "Editor", WINDOW["children"][0], node("button", "Saved"))
    assert counts(WINDOW, renamed) == (0, 0, 1)


def test_a_flat_list_means_the_same_as_nested_nodes():
    flat = [
        {"id": 7, "parent": 3, "role": "button", "name": "Save"},
        {"id": 3, "parent": None, "role": "window", "name": "Editor"},
        {"id": 5, "parent": 3, "role": "text", "name": "body", "value": "abc"},
    ]
    assert counts(WINDOW, flat) == (0, 0, 0)


def test_ids_and_the_kind_of_sequence_do_not_count():
    assert counts(node("a", box=(1, 2, 3, 4), id=1), node("a", box=[1, 2, 3, 4], id=2)) == (0, 0, 0)


def test_a_deep_tree_does_not_exhaust_the_stack():
    deep, deeper = node("leaf"), node("leaf", "other")
    for _ in range(5000):
        deep, deeper = node("box", "", deep), node("box", "", deeper)
    assert counts(deep, deeper) == (0, 0, 1)


def test_what_is_not_a_tree_is_refused():
    with pytest.raises(Refused, match="neither a node nor a list"):
        tree_difference("tree", WINDOW)


LOOP = [
    {"id": 1, "role": "window"},
    {"id": 2, "parent": 3, "role": "box"},
    {"id": 3, "parent": 2, "role": "box"},
]


@pytest.mark.parametrize("tree", [LOOP, LOOP[1:], [{"id": 1, "parent": 1, "role": "box"}]])
def test_nodes_that_are_their_own_ancestors_are_refused(tree):
    with pytest.raises(Refused, match="are their own ancestors"):
        tree_difference(tree, tree)


def test_nested_nodes_that_hold_themselves_are_refused():
    box = {"role": "box", "children": []}
    box["children"].append({"role": "window", "children": [box]})
    for ours, theirs in ((box, box), (box, WINDOW), (WINDOW, box)):
        with pytest.raises(Refused, match="in two places, or under itself"):
            tree_difference(ours, theirs)


def test_a_flat_node_without_an_id_is_a_leaf():
    flat = [{"id": 1, "role": "window"}, {"parent": 1, "role": "text"}]
    assert counts(flat, [node("window", None, node("text", None))]) == (0, 0, 0)


@pytest.mark.parametrize(
    ("tree", "says"),
    [
        ([{"id": 1, "role": "a"}, {"id": 1, "parent": 1, "role": "b"}], "have the id 1"),
        (node("a", {1}), "accessibility node.name is a set"),
        ({"role": "a", "children": "bc"}, "neither a node nor a list"),
        ({"role": "a", "children": [3]}, "neither a node nor a list"),
        (None, "neither a node nor a list"),
    ],
)
def test_what_only_looks_like_a_tree_is_refused_in_a_sentence(tree, says):
    with pytest.raises(Refused, match=says):
        tree_difference(tree, tree)


def test_children_that_are_null_are_none():
    assert counts({"role": "a", "children": None}, {"role": "a"}) == (0, 0, 0)


def test_ids_and_names_of_any_kind_of_plain_data_are_taken():
    flat = [{"id": [1], "role": "a"}, {"id": "1", "parent": [1], "role": "b", "name": ["x"]}]
    assert counts(flat, [node("a", None, node("b", ["x"]))]) == (0, 0, 0)
