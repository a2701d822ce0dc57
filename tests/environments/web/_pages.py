"""Small pages to try a browser on."""

from pathlib import Path

from clew.core import NOTHING


def page(folder: Path, body: str, **more: str) -> dict[str, str]:
    """A folder with one page, and more files, as the option `application`."""
    folder.mkdir(parents=True, exist_ok=True)
    head = "<!doctype html><html lang=en><meta charset=utf-8><title>Page</title>"
    (folder / "index.html").write_text(head + body, encoding="utf-8")
    for name, text in more.items():
        (folder / name.replace("_", ".")).write_text(text, encoding="utf-8")
    return {"folder": str(folder)}


def play(session, *actions):
    """The notes of each act."""
    return [dict(session.act(action, NOTHING).notes) for action in actions]


def texts(session):
    """The names of all that the tree shows."""
    tree = session.observe(frozenset({"tree"}))["tree"]
    return [node["name"] for node in tree if node["name"]]
