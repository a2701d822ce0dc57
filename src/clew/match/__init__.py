"""Is this state that state? A ladder of comparisons, each reported; it runs and replays nothing."""

from clew.match.changes import Changes, changes

from clew.match.ladder import (  # isort: skip
    PRESETS, Both, Exact, Pixels, State, Tree, Unchecked, both, compare, preset,
)  # fmt: skip
from clew.match.ssim import Likeness, Ssim, ssim
from clew.match.tree import TreeDifference, tree_difference

__all__ = [
    "PRESETS", "Both", "Changes", "Exact", "Likeness", "Pixels", "Ssim", "State", "Tree",
    "TreeDifference", "Unchecked", "both", "changes", "compare", "preset", "ssim", "tree_difference",
]  # fmt: skip
