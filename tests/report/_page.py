"""Reads a page back: a parser that refuses what is not well-formed, and the tables it found."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"br", "img", "meta"}
SHAPES = {"circle", "line", "rect"}


@dataclass
class Node:
    name: str
    attributes: dict[str, str | None]
    children: list[Node | str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(c if isinstance(c, str) else c.text for c in self.children)

    def all(self, name: str) -> list[Node]:
        nodes = [c for c in self.children if isinstance(c, Node)]
        return [n for n in nodes if n.name == name] + [m for n in nodes for m in n.all(name)]

    def one(self, name: str, **attributes: str) -> Node:
        (found,) = [n for n in self.all(name) if attributes.items() <= n.attributes.items()]
        return found


class Parser(HTMLParser):
    """A tree, or an AssertionError where an element is not closed in its order."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Node("", {})
        self.open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len({name for name, _ in attrs}) == len(attrs), f"{tag} repeats an attribute"
        node = Node(tag, dict(attrs))
        self.open[-1].children.append(node)
        if tag not in VOID:
            self.open.append(node)

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1].name == tag, f"</{tag}> closes <{self.open[-1].name}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)


def parse(text: str) -> Node:
    assert text.startswith("<!doctype html>\n")
    parser = Parser()
    parser.feed(text)
    parser.close()
    assert len(parser.open) == 1, f"<{parser.open[-1].name}> is not closed"
    return parser.root


def rows(page: Node, caption: str) -> list[list[str]]:
    """The body and foot cells of the table whose caption begins so."""
    (table,) = [t for t in page.all("table") if t.one("caption").text.startswith(caption)]
    parts = table.all("tbody") + table.all("tfoot")
    return [
        [cell.text for cell in row.children if isinstance(cell, Node)]
        for part in parts
        for row in part.all("tr")
    ]
