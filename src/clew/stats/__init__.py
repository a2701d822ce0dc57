"""Rates with their uncertainty, from outcomes alone. Knows no run, no study and no environment."""

from clew.stats.agreement import Agreement, agreement
from clew.stats.attempts import pass_at_k, success_at_k
from clew.stats.bootstrap import DRAWS, Bootstrap, Estimate, rate
from clew.stats.contrasts import Contrast, Contrasts, contrast, contrasts
from clew.stats.groups import Macro, macro
from clew.stats.oracle import oracle
from clew.stats.table import Table, VoidRates, VoidRule, tabulate, void_rates
from clew.stats.wilson import wilson

__all__ = [
    "DRAWS", "Agreement", "Bootstrap", "Contrast", "Contrasts", "Estimate", "Macro", "Table",
    "VoidRates", "VoidRule", "agreement", "contrast", "contrasts", "macro", "oracle", "pass_at_k",
    "rate", "success_at_k", "tabulate", "void_rates", "wilson",
]  # fmt: skip
