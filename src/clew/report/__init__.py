"""One static page for a finished run. It computes no outcome and needs no study's code."""

from clew.report.page import write_report

__all__ = ["write_report"]
