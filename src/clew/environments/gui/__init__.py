"""What graphical environments share: the node form, locators, settling. No environment of its own."""

from clew.environments.gui.locate import Found, NotFound, centre, find, hit, hit_notes
from clew.environments.gui.nodes import ROLES, STATES, Node, channel, nodes_of, normalised
from clew.environments.gui.points import check_on_screen
from clew.environments.gui.settle import PRESETS, Settle, settle_of, settled

__all__ = [
    "PRESETS", "ROLES", "STATES", "Found", "Node", "NotFound", "Settle", "centre", "channel",
    "check_on_screen", "find", "hit", "hit_notes", "nodes_of", "normalised", "settle_of", "settled",
]  # fmt: skip
