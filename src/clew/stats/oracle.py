"""The retrospective oracle: every scenario given to its best policy. Not a policy one can deploy."""

from __future__ import annotations

from collections.abc import Mapping

from clew.stats.bootstrap import Bootstrap, Estimate
from clew.stats.table import Table, paired, shares


def oracle(policies: Mapping[str, Table], bootstrap: Bootstrap) -> Estimate:
    """The mean over scenarios of the best policy's rate there, with its interval.

    It selects on the outcomes that it scores, so chance raises it, the more so the more policies
    and the fewer attempts; the interval carries this, and does not correct it. Raises `Refused`
    where the policies are not rated on the same scenarios, or as `Bootstrap.blocks` does.
    Source: RoboRecover, section 5.4 and appendix E.2.
    """
    scenarios = paired(policies)
    columns, denominator = shares(list(policies.values()))
    best = columns.max(axis=1, keepdims=True)
    return bootstrap.mean(scenarios, best, denominator)
