"""The accessibility trees of real applications: names, places, acts."""

import dataclasses
import os
import shutil
import signal
import time

import pytest

from clew.core import Element, Keys, Pointer
from clew.environments.desktop.atspi import Accessibility
from clew.environments.gui import ROLES, STATES, NotFound, centre, find, settled
from clew.environments.gui.settle import Settle

pytest.importorskip("Xlib")
if not all(map(shutil.which, ("Xvfb", "openbox", "dbus-daemon"))):
    pytest.skip("a desktop session needs Xvfb, openbox and dbus-daemon", allow_module_level=True)

from clew.environments.desktop.applications import application
from clew.environments.desktop.atspi import x_windows
from clew.environments.desktop.display import Display, Screen

QUIET = Settle("quiet", quiet_ms=80, cap_ms=3_000)


class Desk:
    """A desktop with one application, and the tree of it."""

    def __init__(self, name, *arguments, files=()):
        self.display = display = Display(Screen(1280, 800), "2026-01-01 10:00:00")
        self.accessibility = Accessibility(
            display.bus_address, lambda: x_windows(display.x), display.accessibility_address
        )
        for path, content in files:
            display.put(path, content)
        started = application(name)
        display.launch(dataclasses.replace(started, command=(*started.command, *arguments)))
        self.until(lambda nodes: any("active" in n.states for n in nodes), 60)
        self.rest()

    def until(self, condition, seconds=10):
        """The first tree for which a condition holds."""
        deadline = time.monotonic() + seconds
        while not condition(nodes := self.nodes()):
            assert time.monotonic() < deadline, [f"{n.role} {n.name} {n.text}" for n in nodes]
        return nodes

    def nodes(self):
        return self.accessibility.tree().nodes

    def found(self, role, name, *within):
        return find(Element(role, name, within), self.nodes()).node

    def click(self, node):
        self.display.inputs.pointer(Pointer("click", (centre(node),)), self.rest)
        self.rest()

    def type(self, text):
        self.display.inputs.type(text, self.rest)
        self.rest()

    def keys(self, *keys):
        self.display.inputs.keys(Keys("press", keys), self.rest)
        self.rest()

    def rest(self):
        settled(QUIET, self.display.frame.changed, self.display.busy, due=self.display.timer_due)

    def close(self):
        self.accessibility.close()
        self.display.close()


def desk_with(name, *packages):
    """A fixture of one desktop for the tests of one application."""

    @pytest.fixture(scope="module")
    def fixture():
        program = application(name).command[0]
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
        desk = Desk(name)
        yield desk
        desk.close()

    return fixture


mousepad = desk_with("mousepad")
galculator = desk_with("galculator")
gnome_calculator = desk_with("gnome-calculator")


def textbox(nodes):
    return next(n for n in nodes if n.role == "textbox" and "editable" in n.states)


def display_of(nodes):
    """The text of a calculator's first text box."""
    return next(n.text for n in nodes if n.role == "textbox")


def test_a_tree_is_in_the_one_form_parents_first(mousepad):
    nodes = mousepad.nodes()
    assert [n.id for n in nodes] == list(range(len(nodes)))
    assert all(n.parent < n.id for n in nodes)
    assert {n.role for n in nodes} <= ROLES
    assert {state for n in nodes for state in n.states} <= STATES
    assert (nodes[0].role, nodes[0].name, nodes[0].parent) == ("application", "mousepad", -1)


def test_two_readings_of_an_unchanged_window_are_equal(mousepad):
    mousepad.rest()
    assert mousepad.nodes() == mousepad.nodes()


def test_one_application_is_read_by_its_name_and_another_name_gives_nothing(mousepad):
    assert mousepad.accessibility.tree("mousepad").nodes == mousepad.nodes()
    assert mousepad.accessibility.tree("no such thing").nodes == ()


def test_the_menus_are_there_by_name_and_closed_ones_are_not_entered(mousepad):
    names = [n.name for n in mousepad.nodes() if n.role == "menu"]
    assert names == ["File", "Edit", "Search", "View", "Document", "Help"]
    assert not [n for n in mousepad.nodes() if n.role == "menuitem"]


def test_a_menu_pressed_by_its_action_shows_its_items_and_the_pixel_of_one_is_right(mousepad):
    done = mousepad.accessibility.press(mousepad.found("menu", "File").id)
    assert (done.way, done.detail, done.pixel) == ("action", "click", None)
    nodes = mousepad.until(lambda nodes: any(n.role == "menuitem" for n in nodes))
    assert {"Quit", "Save As..."} <= {n.name.strip() for n in nodes if n.role == "menuitem"}
    mousepad.keys("escape")
    mousepad.until(lambda nodes: not any(n.role == "menuitem" for n in nodes))


def test_the_text_that_was_typed_is_the_text_of_the_tree(mousepad):
    text = 'Grüße, √2 < 中 & "quotes"\n\tend'
    mousepad.keys("ctrl", "a")
    mousepad.type(text)
    box = textbox(mousepad.until(lambda nodes: textbox(nodes).text == text))
    assert {"focused", "enabled", "showing"} <= set(box.states)


def test_a_text_is_set_as_a_whole_without_keys(mousepad):
    done = mousepad.accessibility.set(textbox(mousepad.nodes()).id, "set é\nat once")
    assert done.way == "text"
    assert textbox(mousepad.nodes()).text == "set é\nat once"


def test_a_text_that_is_too_long_is_cut_and_counted(mousepad):
    box = textbox(mousepad.nodes())
    assert mousepad.accessibility.set(box.id, "0123456789" * 1_500).way == "text"
    snapshot = mousepad.accessibility.tree()
    assert textbox(snapshot.nodes).text == "0123456789" * 1_000
    assert snapshot.notes["texts_cut"] == 1
    assert mousepad.accessibility.set(box.id, "").way == "text"


def test_a_dialog_is_the_focused_window_and_its_button_is_clicked_by_its_place(mousepad):
    mousepad.keys("ctrl", "l")
    nodes = mousepad.until(lambda nodes: any(n.role == "dialog" for n in nodes))
    dialog = next(n for n in nodes if n.role == "dialog")
    assert "active" in dialog.states
    mousepad.click(mousepad.found("button", "Cancel", dialog.name))
    mousepad.until(lambda nodes: not any(n.role == "dialog" for n in nodes))


def test_a_number_is_set_by_the_value_of_a_spin_button(mousepad):
    mousepad.accessibility.set(textbox(mousepad.nodes()).id, "1\n2\n3\n4\n5")
    mousepad.keys("ctrl", "l")
    nodes = mousepad.until(lambda nodes: any(n.role == "spinbox" for n in nodes))
    spin = next(n for n in nodes if n.role == "spinbox")
    assert mousepad.accessibility.set(spin.id, "3").way == "value"
    assert next(n.value for n in mousepad.nodes() if n.role == "spinbox") == "3"
    mousepad.keys("escape")
    mousepad.until(lambda nodes: not any(n.role == "dialog" for n in nodes))


def test_a_node_that_has_gone_is_told(mousepad):
    mousepad.keys("ctrl", "l")
    mousepad.until(lambda nodes: any(n.role == "dialog" for n in nodes))
    cancel = mousepad.found("button", "Cancel")
    mousepad.keys("escape")
    tree = mousepad.accessibility
    mousepad.display.until(lambda: len(mousepad.display.windows()) == 1, time.monotonic() + 5, "")
    with pytest.raises(NotFound, match="is not in the last tree"):
        tree.press(99_999)
    with pytest.raises(NotFound, match="has gone"):
        tree.press(cancel.id)


def test_buttons_are_where_they_are_clicked_and_toggle_buttons_are_buttons(galculator):
    assert galculator.found("button", "7").native_role == "toggle button"
    for key in "7*6=":
        galculator.click(galculator.found("button", key))
    galculator.until(lambda nodes: display_of(nodes).strip() == "42")


def test_buttons_are_pressed_by_their_action(galculator):
    galculator.click(galculator.found("button", "AC"))
    for key in "9-4=":
        assert galculator.accessibility.press(galculator.found("button", key).id).way == "action"
        galculator.rest()
    galculator.until(lambda nodes: display_of(nodes).strip() == "5")


def test_a_button_that_cannot_be_used_is_not_enabled(galculator):
    with pytest.raises(NotFound, match="neither showing nor enabled"):
        galculator.found("button", "MR")


def test_gtk4_boxes_are_on_the_screen_where_the_button_is_clicked(gnome_calculator):
    for name in ("8 8", "+ +", "5 5", "= ="):
        gnome_calculator.click(gnome_calculator.found("button", name))
    gnome_calculator.until(lambda nodes: any(n.text.strip() == "13" for n in nodes))


def test_items_of_a_gtk4_menu_are_on_the_screen_where_they_are_clicked(gnome_calculator):
    gnome_calculator.click(gnome_calculator.found("button", "Basic"))
    nodes = gnome_calculator.until(
        lambda nodes: any(n.role == "menuitem" and n.name == "Advanced" for n in nodes)
    )
    gnome_calculator.click(find(Element("menuitem", "Advanced"), nodes).node)
    gnome_calculator.until(
        lambda nodes: any(n.name == "Advanced" for n in nodes if n.role == "button")
    )


def test_gtk4_boxes_without_the_windows_are_none_rather_than_wrong(gnome_calculator):
    display = gnome_calculator.display
    tree = Accessibility(display.bus_address, None, display.accessibility_address)
    snapshot = tree.tree()
    tree.close()
    assert {n.box for n in snapshot.nodes} == {None}
    assert snapshot.notes["windows_not_placed"] == 1


def test_an_application_that_was_stopped_is_named_in_bounded_time():
    desk = Desk("mousepad")
    try:
        pids = [pid for pid in desk.display.room.processes() if _runs(pid, "mousepad")]
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        began = time.monotonic()
        stopped = desk.accessibility.tree()
        assert time.monotonic() - began < 4
        assert pids
        assert stopped.nodes == ()
        assert len(stopped.notes["silent"]) == 1
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
        desk.until(lambda nodes: len(nodes) > 10)
    finally:
        desk.close()


def _runs(pid, name):
    with open(f"/proc/{pid}/comm", encoding="ascii") as file:
        return file.read().strip() == name


@pytest.mark.slow
def test_cells_of_a_spreadsheet_are_read_and_clicked_by_their_name():
    row = ["one", "2", "three é", "4.5"]
    desk = Desk("libreoffice-calc")
    try:
        nodes = desk.until(lambda nodes: any(n.name == "B2" for n in nodes), 60)
        grid = [n for n in nodes if n.role == "cell" and n.headers]
        assert 200 < len(grid) <= 1_500
        assert grid[0].name == "A1"
        for place in ("C5", "A1"):
            cell = desk.found("cell", place)
            assert cell.headers == (place[0], place[1:])
            desk.click(cell)
            desk.until(lambda nodes, at=place: "focused" in _cell(nodes, at).states)
        desk.type("\t".join(row) + "\n")
        nodes = desk.until(lambda nodes: _cell(nodes, "D1").text == "4.5", 20)
        assert [_cell(nodes, f"{column}1").text for column in "ABCD"] == row
        assert len([n for n in nodes if n.role == "menubar"]) == 1
        done = desk.accessibility.set(_cell(desk.nodes(), "C5").id, "by name")
        assert (done.way, done.types, done.replaces) == ("focus", "by name\n", False)
        desk.type(done.types)
        desk.until(lambda nodes: _cell(nodes, "C5").text == "by name")
    finally:
        desk.close()


def _cell(nodes, name):
    return next(n for n in nodes if n.role == "cell" and n.name == name)


@pytest.mark.slow
def test_paragraphs_of_a_document_are_read_and_a_tool_is_clicked_where_it_is():
    desk = Desk("libreoffice-writer")
    try:
        desk.click(desk.found("button", "Bold"))
        desk.type("first line")
        desk.keys("enter")
        desk.type("second")
        desk.until(
            lambda nodes: (
                [n.text for n in nodes if n.role == "paragraph" and n.text]
                == ["first line", "second"]
            )
        )
        desk.until(lambda nodes: any(n.name == "Bold" and "checked" in n.states for n in nodes))
    finally:
        desk.close()
