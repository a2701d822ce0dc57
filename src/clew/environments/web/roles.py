"""From Chromium's accessibility roles and states to the role classes of `gui`. It reads no page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: Roles of Chromium's accessibility tree (ARIA's, and its own in CamelCase) → role class.
CLASSES: Mapping[str, str] = {
    "RootWebArea": "document", "Iframe": "document", "IframePresentational": "document",
    "document": "document", "article": "group", "application": "application",
    "alert": "alert", "alertdialog": "dialog", "dialog": "dialog", "Dialog": "dialog",
    "button": "button", "DisclosureTriangle": "button", "DisclosureTriangleGrouped": "button",
    "ColorWell": "button", "PopUpButton": "combobox", "popUpButton": "combobox",
    "checkbox": "checkbox", "switch": "checkbox", "radio": "radio", "combobox": "combobox",
    "ComboBoxSelect": "combobox", "ComboBoxMenuButton": "combobox", "TextFieldWithComboBox":
    "combobox", "textbox": "textbox", "searchbox": "textbox", "TextField": "textbox",
    "Date": "textbox", "DateTime": "textbox", "InputTime": "textbox", "spinbutton": "spinbox",
    "slider": "slider", "progressbar": "progress", "meter": "progress", "ProgressIndicator":
    "progress", "link": "link", "DocCredit": "link", "heading": "heading", "paragraph":
    "paragraph", "image": "image", "img": "image", "graphics-symbol": "image", "SvgRoot": "image",
    "Canvas": "canvas", "table": "grid", "grid": "grid", "treegrid": "grid", "row": "row",
    "LayoutTableRow": "row", "LayoutTable": "group", "LayoutTableCell": "group", "cell": "cell",
    "gridcell": "cell", "columnheader": "header", "rowheader": "header", "list": "list",
    "listbox": "list", "DescriptionList": "list", "MenuListPopup": "list", "listitem": "listitem",
    "option": "listitem", "MenuListOption": "listitem", "term": "listitem", "definition":
    "listitem", "menu": "menu", "menubar": "menubar", "menuitem": "menuitem", "menuitemcheckbox":
    "menuitem", "menuitemradio": "menuitem", "tab": "tab", "tablist": "tablist", "tabpanel": "page",
    "separator": "separator", "scrollbar": "scrollbar", "status": "status", "log": "status",
    "timer": "status", "marquee": "status", "toolbar": "toolbar", "tooltip": "tooltip", "tree":
    "tree", "treeitem": "treeitem", "LabelText": "label", "StaticText": "label", "label": "label",
    "Legend": "label", "caption": "label", "Figcaption": "label", "generic": "group", "group":
    "group", "radiogroup": "group", "form": "group", "region": "group", "main": "group",
    "navigation": "group", "banner": "group", "contentinfo": "group", "complementary": "group",
    "search": "group", "Section": "group", "sectionheader": "group", "sectionfooter": "group",
    "figure": "group", "blockquote": "group", "code": "group", "Details": "group", "rowgroup":
    "group", "Pre": "group", "mark": "group", "emphasis": "group", "strong": "group", "time":
    "group", "subscript": "group", "superscript": "group", "note": "group",
}  # fmt: skip

#: What is left out, its children taken by its parent: no element, or nothing but layout.
SKIPPED = frozenset({"InlineTextBox", "LineBreak", "ListMarker", "none", "presentation"})
#: What is left out when it has neither name nor focus.
SKIPPED_UNNAMED = frozenset({
    "generic", "Section", "LayoutTable", "LayoutTableRow", "LayoutTableCell", "LabelText",
    "rowgroup", "emphasis", "strong",
})  # fmt: skip
#: Classes that an act is meant for, when a pixel lies on what is inside them.
OPERABLE = frozenset({
    "button", "canvas", "checkbox", "combobox", "link", "listitem", "menuitem", "radio", "slider",
    "spinbox", "tab", "textbox", "treeitem", "cell", "header",
})  # fmt: skip
#: Classes whose content is edited text.
TEXTUAL = frozenset({"textbox", "combobox", "spinbox"})


def role_of(raw: Mapping[str, Any]) -> str:
    """The role class of a raw node."""
    return CLASSES.get(native_role(raw), "other")


def native_role(raw: Mapping[str, Any]) -> str:
    return str(raw.get("role", {}).get("value", ""))


def text_of(raw: Mapping[str, Any], field: str) -> str:
    """A raw node's `name` or `value` as text."""
    value = raw.get(field, {}).get("value", "")
    return value if isinstance(value, str) else f"{value:g}" if value is not None else ""


def properties(raw: Mapping[str, Any]) -> dict[str, Any]:
    """A raw node's properties by name."""
    return {p["name"]: p["value"].get("value") for p in raw.get("properties", ())}


def states_of(raw: Mapping[str, Any], role: str, shows: bool, offscreen: bool) -> tuple[str, ...]:
    """The states of a raw node, sorted."""
    has = properties(raw)
    states = {
        name
        for name in ("focused", "selected", "required", "readonly", "modal", "multiselectable",
                     "busy")
        if has.get(name) in (True, "true")
    }  # fmt: skip
    if not has.get("disabled"):
        states.add("enabled")
    if shows:
        states.add("showing")
    if offscreen:
        states.add("offscreen")
    if has.get("checked") in (True, "true", "mixed"):
        states.add("checked")
    if has.get("pressed") in (True, "true", "mixed"):
        states.add("pressed")
    if "expanded" in has:
        states.add("expanded" if has["expanded"] in (True, "true") else "collapsed")
    if has.get("invalid") not in (None, False, "false"):
        states.add("invalid")
    if has.get("editable"):
        states.add("editable")
    if role == "dialog":
        states.add("active")
    return tuple(sorted(states))
