"""AT-SPI's numbers for roles and states, and what each is in our node form. Data only.

Numbers and words: `AtspiRole` and `AtspiStateType` of at-spi2-core's atspi-constants.h.
"""

from __future__ import annotations

from collections.abc import Sequence

#: One line per role class: the class, then the native roles that it stands for.
_CLASSES = """
alert: alert, notification, info bar
application: application
button: push button, toggle button, push button menu
canvas: canvas, drawing area, chart, image map
cell: table cell
checkbox: check box, switch
column: table column header, column header
combobox: combo box, autocomplete
dialog: dialog, color chooser, file chooser, font chooser, input method window
document: document frame, document spreadsheet, document presentation, document text, document web, document email, html container, article, embedded
grid: table
group: panel, filler, form, grouping, section, scroll pane, split pane, viewport, layered pane, root pane, glass pane, option pane, internal frame, landmark, block quote, definition, log, description list, directory pane
header: header, table row header, row header, title bar
heading: heading
image: image, icon, desktop icon, animation, video
label: label, accelerator label, caption, static, footer, description term, description value, footnote, mark, subscript, superscript
link: link
list: list, list box
listitem: list item
menu: menu, popup menu
menubar: menu bar
menuitem: menu item, check menu item, radio menu item, tearoff menu item
page: page
paragraph: paragraph, comment, content deletion, content insertion, suggestion
progress: progress bar, level bar
radio: radio button
row: table row
scrollbar: scroll bar
separator: separator
slider: slider, dial, rating
spinbox: spin button, date editor
status: status bar, timer
tab: page tab
tablist: page tab list
terminal: terminal
textbox: text, entry, password text, editbar
toolbar: tool bar
tooltip: tool tip
tree: tree, tree table
treeitem: tree item
window: frame, window, desktop frame
"""

#: Native roles by their number.
NATIVE_ROLES: Sequence[str] = (
    "invalid", "accelerator label", "alert", "animation", "arrow", "calendar", "canvas",
    "check box", "check menu item", "color chooser", "column header", "combo box", "date editor",
    "desktop icon", "desktop frame", "dial", "dialog", "directory pane", "drawing area",
    "file chooser", "filler", "focus traversable", "font chooser", "frame", "glass pane",
    "html container", "icon", "image", "internal frame", "label", "layered pane", "list",
    "list item", "menu", "menu bar", "menu item", "option pane", "page tab", "page tab list",
    "panel", "password text", "popup menu", "progress bar", "push button", "radio button",
    "radio menu item", "root pane", "row header", "scroll bar", "scroll pane", "separator",
    "slider", "spin button", "split pane", "status bar", "table", "table cell",
    "table column header", "table row header", "tearoff menu item", "terminal", "text",
    "toggle button", "tool bar", "tool tip", "tree", "tree table", "unknown", "viewport",
    "window", "extended", "header", "footer", "paragraph", "ruler", "application",
    "autocomplete", "editbar", "embedded", "entry", "chart", "caption", "document frame",
    "heading", "page", "section", "redundant object", "form", "link", "input method window",
    "table row", "tree item", "document spreadsheet", "document presentation", "document text",
    "document web", "document email", "comment", "list box", "grouping", "image map",
    "notification", "info bar", "level bar", "title bar", "block quote", "audio", "video",
    "definition", "article", "landmark", "log", "marquee", "math", "rating", "timer", "static",
    "math fraction", "math root", "subscript", "superscript", "description list",
    "description term", "description value", "footnote", "content deletion", "content insertion",
    "mark", "suggestion", "push button menu", "switch",
)  # fmt: skip

#: The role class of each native role; what is not named is `other`.
ROLE_CLASSES: dict[str, str] = {
    native.strip(): line.split(":")[0]
    for line in _CLASSES.strip().splitlines()
    for native in line.split(":")[1].split(",")
}

#: Bits of the state set that are states of our form.
STATE_BITS: dict[int, str] = {
    1: "active", 3: "busy", 4: "checked", 5: "collapsed", 7: "editable", 8: "enabled",
    10: "expanded", 12: "focused", 16: "modal", 18: "multiselectable", 20: "pressed",
    22: "selectable", 23: "selected", 24: "enabled", 25: "showing", 33: "required",
    36: "invalid", 43: "readonly",
}  # fmt: skip
#: Bits that are read but are no state of their own.
DEFUNCT, EXPANDABLE, EXPANDED, SHOWING, VISIBLE, MANAGES = 6, 9, 10, 25, 30, 31


def native_role(number: int) -> str:
    """The platform's word for a role number; `role N` for one that came later."""
    return NATIVE_ROLES[number] if 0 <= number < len(NATIVE_ROLES) else f"role {number}"


def states_of(bits: int, native: str) -> set[str]:
    """The states of our form in a state set (bit n = state n)."""
    states = {word for bit, word in STATE_BITS.items() if bits >> bit & 1}
    if bits >> EXPANDABLE & 1 and not bits >> EXPANDED & 1:
        states.add("collapsed")
    if native == "password text":
        states.add("password")
    return states
