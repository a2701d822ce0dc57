"""The page's sections on results: funnel, rates, contrasts, groups. They show tables; a group's
interval is drawn here, from the table of scenarios."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from clew.report import charts
from clew.report.markup import Column, Html, joined, paragraph, table, tag
from clew.report.numbers import counted, percent, points, said
from clew.stats import Bootstrap, Table, rate, wilson

Tables = Mapping[str, Any]

#: Fewer scenarios than this say nothing beyond themselves: their rates stand without an interval.
FEW_IN_GROUP = 5
#: Under it a nominal 95 % percentile interval covered at most 94 % in simulation (docs/statistics.md).
FEW_SCENARIOS = 20

_STAGES = {
    "rollouts": "attempts from initial states; a failed one may have a recovery point",
    "rebuilding": "its state is rebuilt by replaying the actions, cold",
    "screening": "several policies try it: neither hopeless nor trivial is kept",
    "validation": "cold replays in new processes must reach the same state",
    "test split": "whole episodes go to test or to train",
}


def funnel(tables: Tables) -> Html:
    """How many deviations entered and left each stage, and why the others were dropped."""
    rows = tables["funnel"]
    most = max((row["entered"] for row in rows), default=0)
    return tag(
        "section",
        tag("h2", "From attempts to test scenarios", id="funnel"),
        paragraph(
            "Every bar has the scale of the first. The solid part goes on to the next stage; each"
            " other part was left out for one reason, in the order written below the bar. Voids are amber."
        ),
        tag("ol", *(_stage(row, most) for row in rows), class_="funnel"),
    )


def _stage(row: Mapping[str, Any], most: int) -> Html:
    dropped = row["dropped"]
    parts = [(row["left"], "kept")]
    parts += [(n, "void" if reason == "void" else "dropped") for reason, n in dropped.items()]
    what = _STAGES.get(row["stage"])
    # Scenarios of the train split are good ones, kept for another use.
    verb = "Set aside" if set(dropped) == {"train"} else "Dropped"
    reasons = [joined([tag("b", f"{n:,}"), f" {reason}"]) for reason, n in dropped.items()]
    name = [tag("strong", row["stage"].capitalize())]
    if what:
        name.append(tag("span", f" · {what}", class_="quiet"))
    return tag(
        "li",
        tag(
            "div",
            tag("span", *name),
            tag("span", f"{row['entered']:,} in → ", tag("strong", f"{row['left']:,} out"), class_="count"),
            class_="line",
        ),
        charts.bar(parts, most),
        paragraph(f"{verb}: ", joined(reasons, ", ") if reasons else "none", kind="why"),
    )  # fmt: skip


def rates(tables: Tables) -> Html:
    """Initial and recovery rates of every policy: the figure, the two tables, the voids."""
    initial, recovery = tables["initial"], tables["recovery"]
    parts = [tag("h2", "Initial and recovery rates", id="rates")]
    if initial["rates"] or recovery["rates"]:
        parts.append(_rates_figure(tables))
    parts.append(_rates_table("From initial states", initial, tables, ()))
    screened = tables["screening"]["also_evaluated"]
    parts.append(_rates_table("From recovery states", recovery, tables, screened))
    return tag("section", *parts, *_notes(tables), *_faults(tables), *_voids(tables))


def _rates_figure(tables: Tables) -> Html:
    initial, recovery = tables["initial"], tables["recovery"]
    drawing = charts.rates(initial["rates"], recovery["rates"], recovery["oracle"])
    return tag(
        "figure", drawing,
        tag(
            "figcaption", tag("span", "○ initial states", class_="key initial"), " and ",
            tag("span", "● recovery states", class_="key recovery"),
            f", each with its {level(tables)} interval. The two are rates over different states:"
            " the distance between them is no paired contrast.",
        ),
    )  # fmt: skip


def _rates_table(
    title: str, compared: Mapping[str, Any], tables: Tables, screened: Sequence[str]
) -> Html:
    if not compared["scenarios"]:
        return joined([tag("h3", title), paragraph("There are no scenarios to rate here.")])
    columns = [
        Column("Policy", False), Column("Rate"), Column(f"{level(tables)} interval"),
        Column("Passed / scheduled"), Column("Void"), Column("Voids failed"),
        Column("Voids left out"), Column("Voids passed"),
    ]  # fmt: skip
    rows = [_rated(row, screened) for row in compared["rates"]]
    best = compared["oracle"]
    foot = [["Retrospective oracle, not a policy one can deploy", percent(best["rate"]),
             said(best), "", "", "", "", ""]]  # fmt: skip
    caption = f"Success {title.lower()}: {counted(compared['scenarios'], 'scenario')}"
    return joined([tag("h3", title), table(caption, columns, rows, foot)])


def _notes(tables: Tables) -> list[Html]:
    """What keeps a reader from taking a rate for more than it is."""
    shown = [tables[name] for name in ("initial", "recovery") if tables[name]["scenarios"]]
    rows = [row for compared in shown for row in [*compared["rates"], compared["oracle"]]]
    notes = [
        "The rate is the mean over scenarios, with voids counted as failed. The last three columns"
        " are shares of scheduled trials, with voids read in all three ways.",
        "The retrospective oracle takes each scenario's best policy after the fact. It chooses on the"
        " outcomes that it scores, so it is optimistic.",
    ]
    if tables["recovery"]["scenarios"] and tables["screening"]["also_evaluated"]:
        notes.append(
            "† This policy also screened: scenarios were kept partly by how it did on them, so its"
            " recovery rate is not independent of their selection."
        )
    if any(row["low"] == row["high"] for row in rows):
        notes.append(
            "Where all scenarios had the same rate a bootstrap sees no spread, which is not certainty."
            " W is then Wilson's interval over the scenarios."
        )
    if any(compared["scenarios"] < FEW_SCENARIOS for compared in shown):
        notes.append(
            f"With under {FEW_SCENARIOS} scenarios percentile intervals run short: they cover less"
            " often than they say."
        )
    return [tag("ul", *(tag("li", note) for note in notes), class_="notes")] if shown else []


def _rated(row: Mapping[str, Any], screened: Sequence[str]) -> list[str]:
    readings = row["trial_rates"]
    return [
        row["policy"] + (" †" if row["policy"] in screened else ""),
        percent(row["rate"]), said(row),
        f"{row['passed']:,} / {row['scheduled']:,}", f"{row['void']:,}",
        *(percent(readings[k]) for k in ("void_failed", "void_left_out", "void_passed")),
    ]  # fmt: skip


def _faults(tables: Tables) -> list[Html]:
    """The table of failures that are somebody's error, or nothing."""
    if not tables["faults"]:
        return []
    columns = [
        Column("Stage", False), Column("Party at fault", False), Column("Cause", False),
        Column("It said", False), Column("Units"),
    ]  # fmt: skip
    rows = [
        [f["stage"], f["party"], f["kind"], f["detail"], f"{f['units']:,}"]
        for f in tables["faults"]
    ]
    caption = "Units that failed by an error, not by the oracle's word; they count as failed"
    return [tag("h3", "Failures by error", id="faults"), table(caption, columns, rows)]


def _voids(tables: Tables) -> list[Html]:
    """The table of voids, or nothing."""
    if not tables["voids"]:
        return []
    columns = [
        Column("Stage", False),
        Column("Party at fault", False),
        Column("Cause", False),
        Column("Units"),
    ]
    rows = [[v["stage"], v["party"], v["kind"], f"{v['units']:,}"] for v in tables["voids"]]
    return [
        tag("h3", "Voids", id="voids"),
        table("Units that stayed void: neither a pass nor a fail, and nobody's score", columns, rows),
    ]  # fmt: skip


def paired(tables: Tables) -> Html:
    """The paired contrasts of recovery; those of initial states folded away."""
    parts = [tag("h2", "Paired contrasts", id="contrasts")]
    if tables["recovery"]["contrasts"]:
        parts.append(_contrasts(tables["recovery"]["contrasts"], "Recovery", tables))
    else:
        parts.append(paragraph("There are no two policies with scenarios to compare."))
    if tables["initial"]["contrasts"]:
        folded = _contrasts(tables["initial"]["contrasts"], "Initial states", tables)
        parts.append(tag("details", tag("summary", "Contrasts from initial states"), folded))
    return tag("section", *parts)


def _contrasts(found: Sequence[Mapping[str, Any]], title: str, tables: Tables) -> Html:
    columns = [
        Column("Contrast, A − B", False), Column("Difference"), Column(f"{level(tables)} interval"),
        Column("Smallest detectable"), Column("Interval", False),
    ]  # fmt: skip
    rows = [
        [f"{c['a']} − {c['b']}", points(c["difference"]), f"{points(c['low'])} to {points(c['high'])}",
         _detectable(c["detectable"]), _side(c)]
        for c in found
    ]  # fmt: skip
    figure = tag(
        "figure", charts.forest(found, f"{title}: paired differences"),
        tag(
            "figcaption",
            f"Percentage points, A − B, with {level(tables)} intervals; right of zero favours A, the policy"
            " named first. A filled dot has an interval on one side of zero. The grey band is what"
            " this study could not see: differences under the smallest that it would have shown in"
            " 80% of repetitions.",
        ),
    )  # fmt: skip
    caption = f"{title}: A minus B on the same scenarios, in percentage points; not adjusted for multiple comparisons"
    return joined([figure, table(caption, columns, rows)])


def _detectable(value: float | None) -> str:
    return "none: no spread" if value is None else points(value).replace("+", "")


def _side(contrast: Mapping[str, Any]) -> str:
    if contrast["low"] == contrast["high"]:
        return "no spread"
    if not charts.holds_no_zero(contrast):
        return "includes zero"
    return "above zero" if contrast["low"] > 0 else "below zero"


def groups(tables: Tables) -> Html:
    """Recovery by task and by source."""
    return tag(
        "section",
        tag("h2", "Where recovery differs", id="groups"),
        *_grouped("By task", "task", tables["recovery_by_task"], tables),
        *_grouped("By source of the deviation", "source", tables["recovery_by_source"], tables),
    )


def _grouped(
    title: str, field: str, found: Sequence[Mapping[str, Any]], tables: Tables
) -> list[Html]:
    if not found:
        return [tag("h3", title), paragraph("There are no test scenarios.")]
    names = [row["policy"] for row in tables["recovery"]["rates"]]
    columns = [Column(field.capitalize(), False), Column("Scenarios")]
    columns += [Column(name) for name in names]
    rows = [_group(row, field, names, tables) for row in found]
    caption = (
        f"Recovery rate {title.lower()}, with {level(tables)} intervals; voids counted as failed"
    )
    parts = [tag("h3", title), table(caption, columns, rows)]
    if any(row["scenarios"] < FEW_IN_GROUP for row in found):
        note = f"Groups of under {FEW_IN_GROUP} scenarios are descriptive: rates of what was seen, without an interval."
        parts.append(paragraph(note, kind="small"))
    return parts


def _group(row: Mapping[str, Any], field: str, names: Sequence[str], tables: Tables) -> list[str]:
    few = row["scenarios"] < FEW_IN_GROUP
    name = (
        joined([row["group"], " ", tag("span", "descriptive", class_="tagged")])
        if few
        else row["group"]
    )
    cells: list[str] = [name, f"{row['scenarios']:,}"]
    for policy in names:
        figure = percent(row["rates"][policy])
        if few:
            cells.append(tag("span", figure, class_="cell quiet"))
        else:
            cells.append(
                tag(
                    "span",
                    figure,
                    tag("small", said(group_estimate(tables, field, row["group"], policy))),
                    class_="cell",
                )
            )
    return cells


def group_estimate(tables: Tables, field: str, group: str, policy: str) -> dict[str, Any]:
    """A policy's recovery rate over the test scenarios of one group, with its intervals.

    From the table of scenarios, with the run's own seed, draws and confidence.
    """
    trials, how = trials_each(tables), tables["statistics"]
    members = [s for s in tables["scenarios"] if s["split"] == "test" and s[field] == group]
    passed = {s["name"]: round(s["rates"][policy] * trials) for s in members}
    scored = Table({name: [1.0] * n + [0.0] * (trials - n) for name, n in passed.items()})
    found = rate(scored, Bootstrap(how["seed"], None, how["draws"], how["confidence"]))
    over_scenarios = wilson(found.value * found.n, found.n, how["confidence"])
    return {"rate": found.value, "low": found.low, "high": found.high, "wilson": over_scenarios}


def trials_each(tables: Tables) -> int:
    """Trials of every policy on every test scenario; 0 without scenarios."""
    recovery = tables["recovery"]
    if not recovery["scenarios"]:
        return 0
    return int(recovery["rates"][0]["scheduled"]) // int(recovery["scenarios"])


def level(tables: Tables) -> str:
    """The confidence of every interval on the page: `95%`."""
    return f"{100 * tables['statistics']['confidence']:g}%"
