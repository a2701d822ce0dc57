from __future__ import annotations

import pytest
from hypothesis import given

from clew.core import Refused
from clew.stats import Bootstrap, Table, oracle, rate

from ._tables import outcomes, random_table


def test_each_scenario_goes_to_its_best_policy():
    a = Table({"s": [1, 1], "t": [0, 0], "u": [0, 1]})
    b = Table({"s": [0, 0], "t": [1, 0], "u": [0, 0]})
    # (1 + 1/2 + 1/2) / 3 by hand; the better fixed policy has 1/2.
    assert oracle({"a": a, "b": b}, Bootstrap(1)).value == pytest.approx(2 / 3, abs=1e-15)


@given(outcomes)
def test_the_oracle_of_one_policy_is_its_rate(data):
    table, plan = Table(data), Bootstrap(1, draws=50)
    assert oracle({"only": table}, plan) == rate(table, plan)


def test_the_oracle_is_no_worse_than_any_policy():
    tables = {f"p{i}": random_table(i, skill=0.2 + i / 10) for i in range(6)}
    found = oracle(tables, Bootstrap(1))
    for table in tables.values():
        alone = rate(table, Bootstrap(1))
        assert (found.value, found.low, found.high) >= (alone.value, alone.low, alone.high)
    assert found.low < found.value < found.high


def test_policies_on_other_scenarios_are_refused():
    with pytest.raises(Refused, match="not rated on the same scenarios"):
        oracle({"a": Table({"s": [1], "t": [1]}), "b": Table({"s": [1]})}, Bootstrap(1))
