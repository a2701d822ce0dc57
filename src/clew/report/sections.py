"""The page's other sections: what was measured, warnings, scenarios, frames, how it was made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from clew.report.frames import Gallery, Picture
from clew.report.markup import Column, Html, joined, paragraph, table, tag
from clew.report.numbers import counted
from clew.report.results import Tables, level, trials_each

#: Rows of the table of scenarios; a large study's others are in tables.json.
MOST_ROWS = 400

_CONTENTS = (
    ("funnel", "Funnel"), ("rates", "Rates"), ("contrasts", "Contrasts"), ("groups", "By task and source"),
    ("scenarios", "Scenarios"), ("frames", "Frames"), ("made", "How it was made"),
)  # fmt: skip


def opening(tables: Tables) -> Html:
    """Title, one sentence of what was measured, the size of it, the contents."""
    recovery, initial = tables["recovery"], tables["initial"]
    policies = len(initial["rates"] or recovery["rates"])
    lede = (
        f"How often {counted(policies, 'policy finishes', 'policies finish')} {_listed(tables['tasks'])} in"
        f" {tables['environment']}: from initial states, and from states where an attempt had gone wrong,"
        " reached again by replaying its actions. The task's own oracle judges."
    )
    trials = sum(row["scheduled"] for table in (initial, recovery) for row in table["rates"])
    facts = [
        ("Policies", f"{policies:,}"), ("Initial scenarios", f"{initial['scenarios']:,}"),
        ("Recovery scenarios", f"{recovery['scenarios']:,}"), ("Scheduled trials", f"{trials:,}"),
        ("Void units", f"{_void(tables):,}"),
    ]  # fmt: skip
    return tag(
        "header",
        paragraph("RoboRecover report", kind="kicker"),
        tag("h1", tables["name"]),
        paragraph(lede, kind="lede"),
        tag("dl", *(tag("div", tag("dt", k), tag("dd", v)) for k, v in facts), class_="facts"),
        tag(
            "nav", *(tag("a", text, href=f"#{to}") for to, text in _CONTENTS), aria_label="Contents"
        ),
    )


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _void(tables: Tables) -> int:
    return sum(v["units"] for v in tables["voids"])


def banners(tables: Tables) -> Html:
    """What a reader must know before the first number."""
    found = []
    if tables["voids"]:
        scored = sum(row["void"] for t in ("initial", "recovery") for row in tables[t]["rates"])
        found.append(_banner("warn", (
            f"{counted(_void(tables), 'unit')} stayed void, {scored:,} of them among the rated trials."
            " Headline rates count a void as failed; the tables give all three readings. "
        ), tag("a", "Which, and why", href="#voids")))  # fmt: skip
    if tables["run"]["mixed"]:
        found.append(_banner("warn", (
            "This run mixes fingerprints: one environment's results come from more than one set of"
            " versions or machines, and their differences may move a rate. "
        ), tag("a", "See them", href="#made")))  # fmt: skip
    if mixed := tables["run"].get("mixed_code"):
        found.append(_banner("warn", (
            f"This run mixes code: its results were made by more than one version of {_listed(mixed)},"
            " and their differences may move a rate. "
        ), tag("a", "See them", href="#made")))  # fmt: skip
    if after := tables["run"].get("after_void"):
        found.append(_banner("note", (
            f"{counted(after, 'result')} came from a later try, after the unit had stayed void."
        )))  # fmt: skip
    if not tables["recovery"]["scenarios"]:
        found.append(_banner("warn", (
            "No scenario reached the test split, so there is no recovery rate. "
        ), tag("a", "Where they were dropped", href="#funnel")))  # fmt: skip
    also = tables["screening"]["also_evaluated"]
    if also and tables["recovery"]["scenarios"]:
        found.append(_banner("note", (
            f"{_listed(also)} screened the scenarios and {'is' if len(also) == 1 else 'are'} evaluated"
            " on them (†): their recovery rates are not independent of the selection."
        )))  # fmt: skip
    return joined(found)


def _banner(kind: str, text: str, *more: Html) -> Html:
    return tag("div", paragraph(text, *more), class_=f"banner {kind}", role="note")


def scenarios(tables: Tables) -> Html:
    """Every valid scenario, up to `MOST_ROWS`."""
    every = tables["scenarios"]
    parts = [tag("h2", "Scenarios", id="scenarios")]
    if not every:
        parts.append(paragraph("No candidate passed screening and validation."))
        return tag("section", *parts)
    names = [row["policy"] for row in tables["recovery"]["rates"]]
    screening, trials = tables["screening"], trials_each(tables)
    columns = [
        Column("Scenario", False), Column("Deviated", False), Column("Actions replayed"),
        Column("Screening"), Column("Split", False), *(Column(name) for name in names),
    ]  # fmt: skip
    rows = [
        [
            _over(tag("code", s["name"]), f"{s['task']} · episode {s['episode']}"),
            _over(s["policy"], s["source"]),
            f"{s['actions']:,}",
            _over(
                f"{s['screening']} / {screening['trials']}", f"{s['others_recovered']} by others"
            ),
            s["split"],
            *(_passes(s["rates"].get(name), trials) for name in names),
        ]
        for s in every[:MOST_ROWS]
    ]
    caption = (
        f"{counted(len(every), 'valid scenario')}. Screening: successes of all screening trials, and those"
        " by policies other than the one that deviated."
    )
    if names:
        caption += " Under each policy: passed / scheduled of the test scenario's trials, voids not passed."
    parts.append(table(caption, columns, rows, kind="dense"))
    if len(every) > MOST_ROWS:
        left = counted(len(every) - MOST_ROWS, "more scenario")
        parts.append(paragraph(f"{left} in tables.json beside this page.", kind="small"))
    return tag("section", *parts)


def _over(main: str, under: str) -> Html:
    """Two lines of one cell."""
    return tag("span", main, " ", tag("small", under), class_="cell")


def _passes(rate: float | None, trials: int) -> str:
    return "–" if rate is None else f"{round(rate * trials)} / {trials}"


def frames(tables: Tables, shown: Gallery) -> Html:
    """A few recovery states as they looked when they were rebuilt."""
    return tag(
        "section", tag("h2", "What recovery states look like", id="frames"), *_frames(tables, shown)
    )


def _frames(tables: Tables, shown: Gallery) -> list[Html]:
    if not tables["frames"]:
        return [
            paragraph("Frames were off in this run: states were compared by their bodies alone.")
        ]
    if not tables["scenarios"]:
        return [paragraph("There is no valid scenario to show.")]
    parts = [
        paragraph(
            f"{len(shown.pictures)} of {counted(len(tables['scenarios']), 'valid scenario')}, spread over tasks"
            " and sources. Each frame was recorded, without loss, when its state was rebuilt."
        ),
        tag("ul", *(_picture(p, tables) for p in shown.pictures), class_="gallery"),
    ]  # fmt: skip
    if shown.without:
        parts.append(
            paragraph(
                f"{counted(shown.without, 'chosen scenario')} without a recorded frame.",
                kind="small",
            )
        )
    if shown.too_large:
        note = f"{counted(shown.too_large, 'frame')} left out to keep this page small; all are in the run's store."
        parts.append(paragraph(note, kind="small"))
    return parts


def _picture(picture: Picture, tables: Tables) -> Html:
    s = picture.scenario
    alt = f"Recovery state of {s['task']}, scenario {s['name']}: {s['source']} deviation of {s['policy']}"
    size = {"width": picture.width, "height": picture.height}
    return tag("li", tag(
        "figure",
        tag("img", src=picture.address, alt=alt, **size),
        tag(
            "figcaption", tag("b", s["task"]), f" · {s['source']} · {s['split']}", tag("br"),
            f"{s['policy']} deviated, {counted(s['actions'], 'action')} replayed", tag("br"),
            f"screening {s['screening']} / {tables['screening']['trials']} · ", tag("code", s["name"]),
        ),
    ))  # fmt: skip


def made(tables: Tables) -> Html:
    """Everything that the numbers depend on."""
    how, screening, run = tables["statistics"], tables["screening"], tables["run"]
    also = screening["also_evaluated"]
    facts = [
        ("Intervals", f"{how['method']}; {counted(how['draws'], 'draw')}; seed {how['seed']}; {level(tables)}"),
        ("Voids", "counted as failed in every rate, interval and contrast"),
        ("Contrasts", "paired on scenarios, not adjusted for multiple comparisons"),
        ("Screening", (
            f"{counted(screening['trials'], 'trial')} by {_listed(screening['policies'])};"
            f" kept with {screening['least']} to {counted(screening['most'], 'success', 'successes')}"
        )),
        ("Screened and evaluated", _listed(also) if also else "no policy did both"),
        ("Frames", "on" if tables["frames"] else "off"),
        ("Plan", tag("code", run["plan_digest"])),
        ("Engine", tag("code", run["engine"])),
        *((f"Made by {name}", tag("code", ", ".join(digests)))
          for name, digests in run.get("code", {}).items()),
    ]  # fmt: skip
    return tag(
        "section",
        tag("h2", "How it was made", id="made"),
        paragraph(
            "The numbers of this page are those of tables.json beside it; intervals by task and source are"
            " drawn from its scenarios with the same seed. Equal plan, engine and fingerprint give equal numbers."
        ),
        tag("dl", *(joined([tag("dt", k), tag("dd", v)]) for k, v in facts), class_="made"),
        *_fingerprints(run),
    )


def _fingerprints(run: Mapping[str, Any]) -> list[Html]:
    """Facts that may move a state, one column for each set of them."""
    prints = dict(sorted(run["fingerprints"].items()))
    if not prints:
        return [paragraph("No fingerprint was recorded.")]
    names = sorted({fact for facts in prints.values() for fact in facts})
    columns = [Column("Fact", False), *(Column(digest, False) for digest in prints)]
    rows = [
        [_fact(name, prints), *(facts.get(name, "–") for facts in prints.values())]
        for name in names
    ]
    caption = f"{counted(len(prints), 'fingerprint')}: what may move a state on the machines that ran this"
    return [tag("h3", "Fingerprints"), table(caption, columns, rows)]


def _fact(name: str, prints: Mapping[str, Mapping[str, str]]) -> str:
    if len({facts.get(name) for facts in prints.values()}) == 1:
        return name
    return joined([name, " ", tag("span", "differs", class_="tagged")])
