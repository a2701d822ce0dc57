"""Tables that several tests use."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from clew.stats import Table

#: 0/1 outcomes of two to eight scenarios with one to six attempts each.
outcomes = st.dictionaries(
    st.sampled_from("abcdefgh"),
    st.lists(st.sampled_from([0, 1]), min_size=1, max_size=6),
    min_size=2,
)


def random_table(seed: int, scenarios: int = 40, repeats: int = 5, skill: float = 0.5) -> Table:
    rng = np.random.default_rng(seed)
    passed = rng.random((scenarios, repeats)) < skill
    return Table({f"{i:03}": row for i, row in enumerate(passed)})


def in_clusters(table: Table, size: int) -> dict[str, str]:
    """Every `size` neighbouring scenarios share a cluster; the last one may be smaller."""
    return {name: f"c{i // size:03}" for i, name in enumerate(table.scenarios)}
