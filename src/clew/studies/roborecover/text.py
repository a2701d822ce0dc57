"""The tables of a RoboRecover study as text for a terminal. Formats; computes nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from clew.report.numbers import counted

#: Fewer scenarios than this make percentile intervals too short (docs/statistics.md).
FEW = 20


def text(tables: Mapping[str, Any]) -> str:
    """The funnel, the rates, the contrasts and the retrospective oracle."""
    parts = [_funnel(tables["funnel"])]
    for name, title in (("initial", "from initial states"), ("recovery", "from recovery states")):
        parts.append(_rates(title, tables[name], tables["statistics"]))
    parts.append(_contrasts(tables["recovery"]))
    if tables["faults"]:
        faults = [
            [f["stage"], f["party"], f["kind"], str(f["units"]), f["detail"]]
            for f in tables["faults"]
        ]
        parts.append(grid(["failures by error in", "party", "cause", "units", "it said"], faults))
    parts += [f"note: {sentence}" for sentence in _notes(tables)]
    if tables["voids"]:
        rows = [[v["stage"], v["party"], v["kind"], str(v["units"])] for v in tables["voids"]]
        parts.append(grid(["voids in", "party", "cause", "units"], rows))
    return _harmless("\n\n".join(part for part in parts if part))


def _notes(tables: Mapping[str, Any]) -> list[str]:
    """What keeps a reader from taking a rate for more than it is."""
    found = []
    if tables["screening"]["also_evaluated"]:
        found.append(
            "policies that screened the scenarios are evaluated on them too: "
            + ", ".join(tables["screening"]["also_evaluated"])
        )
    if 0 < tables["recovery"]["scenarios"] < FEW:
        found.append(f"under {FEW} recovery scenarios: percentile intervals run short")
    if tables["solved_starts"]:
        found.append(
            "starts already solved before anyone acts, left out: "
            + ", ".join(tables["solved_starts"])
        )
    if not tables["frames"]:
        found.append("frames are off: validation compared states, no pixels")
    return found + _mixes(tables.get("run", {}))


def _mixes(run: Mapping[str, Any]) -> list[str]:
    """What the results were made by, where that was not one thing."""
    found = []
    if run.get("mixed"):
        found.append("this run mixes fingerprints: versions or machines differ between its results")
    for name in run.get("mixed_code", ()):
        digests = " and ".join(run["code"][name])
        found.append(f"this run mixes code: its results were made by {name} {digests}")
    if run.get("after_void"):
        results = counted(run["after_void"], "result")
        found.append(f"{results} came from a later try, after the unit had stayed void")
    return found


def _funnel(rows: Sequence[Mapping[str, Any]]) -> str:
    lines = [
        [r["stage"], str(r["entered"]), str(r["left"]),
         ", ".join(f"{n} {reason}" for reason, n in r["dropped"].items())]
        for r in rows
    ]  # fmt: skip
    return grid(["funnel", "in", "out", "dropped"], lines)


def _rates(title: str, table: Mapping[str, Any], statistics: Mapping[str, Any]) -> str:
    if not table["scenarios"]:
        return (
            f"{title}: {counted(table['too_few'], 'scenario')}, from fewer than two episodes:"
            " too few to rate"
        )
    rows = [
        [r["policy"], _percent(r), _interval(r), f"{r['passed']}/{r['scheduled']}", str(r["void"]),
         " / ".join(_share(r["trial_rates"][k]) for k in ("void_failed", "void_left_out", "void_passed"))]
        for r in table["rates"]
    ]  # fmt: skip
    best = table["oracle"]
    rows.append(["(retrospective oracle)", _percent(best), _interval(best), "", "", ""])
    head = [
        title,
        "rate",
        f"{statistics['confidence']:.0%} interval",
        "trials",
        "void",
        "void = 0 / out / 1",
    ]
    note = (
        f"{counted(table['scenarios'], 'scenario')} of {counted(table['episodes'], 'episode')};"
        f" {statistics['method']}, {counted(statistics['draws'], 'draw')}, seed {statistics['seed']}; voids count as failed; W: Wilson over scenarios"
    )
    return grid(head, rows) + "\n" + note


def _contrasts(table: Mapping[str, Any]) -> str:
    if not table["contrasts"]:
        return ""
    rows = [
        [f"{c['a']} − {c['b']}", f"{c['difference']:+.1%}",
         "no spread" if c["low"] == c["high"] else f"[{c['low']:+.1%}, {c['high']:+.1%}]",
         _share(c["detectable"])]
        for c in table["contrasts"]
    ]  # fmt: skip
    head = ["paired contrast, recovery", "difference", "interval", "smallest detectable"]
    return grid(head, rows) + "\nunadjusted for multiple comparisons"


def _harmless(text: str) -> str:
    """Names come from a plan: what could move a terminal's cursor or colour is shown as a sign."""
    return "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in text)


def _percent(row: Mapping[str, Any]) -> str:
    return f"{row['rate']:.1%}"


def _interval(row: Mapping[str, Any]) -> str:
    """The bootstrap's interval; where all scenarios are alike it has no width: Wilson's, marked."""
    if row["low"] == row["high"] and "wilson" in row:
        return f"[{row['wilson'][0]:.1%}, {row['wilson'][1]:.1%}] W"
    if row["low"] == row["high"]:
        return "no spread"
    return f"[{row['low']:.1%}, {row['high']:.1%}]"


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.1%}"


def grid(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A plain table: the first column flush left, the others too, widths as needed."""
    lines = [[_harmless(cell).replace("\n", "\N{REPLACEMENT CHARACTER}") for cell in line]
             for line in (head, *rows)]  # fmt: skip
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    drawn = ["  ".join(c.ljust(w) for c, w in zip(line, widths)).rstrip() for line in lines]
    return "\n".join([drawn[0], "─" * max(map(len, drawn)), *drawn[1:]])
