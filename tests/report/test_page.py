"""The page: whole, closed to the network, and every number on it is the tables' own."""

from __future__ import annotations

import re
import stat

import pytest

from clew.core import Refused
from clew.report import results, write_report
from clew.report.frames import Gallery
from clew.report.numbers import between, percent, points
from clew.report.page import page
from clew.report.sections import MOST_ROWS
from clew.report.style import STYLE
from clew.stats import Bootstrap, rate, tabulate, wilson

from ._page import Node, parse, rows
from ._study import HOSTILE, POLICIES, QUOTED, TRIALS, Study, run_folder, scenarios, tables, unit

SHOWN_QUOTED = QUOTED.replace("\u202e", "\\u202e").replace("\x00", "\\x00")
NAMES = ["expert", "dropper", HOSTILE, SHOWN_QUOTED]


def _page(**changed) -> Node:
    return parse(page(tables(**changed), Gallery()))


def _banners(read: Node) -> list[str]:
    return [n.text for n in read.all("div") if "banner" in str(n.attributes.get("class")).split()]


def _nothing() -> dict:
    """A study of which no deviation reached the end."""
    empty = {"scenarios": 0, "rates": [], "contrasts": [], "oracle": None}
    funnel = [{**row, "entered": 0, "left": 0, "dropped": {}} for row in tables()["funnel"]]
    return {
        "initial": empty, "recovery": empty, "recovery_by_task": [], "recovery_by_source": [],
        "scenarios": [], "voids": [], "funnel": funnel,
    }  # fmt: skip


def test_the_file_is_whole_private_and_the_same_again(tmp_path):
    data = tables()
    folder = run_folder(tmp_path / "run", data["scenarios"])
    path = write_report(Study(), folder, data)
    first = path.read_bytes()
    assert path == folder.path / "report.html"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert write_report(Study(), folder, data).read_bytes() == first
    assert {p.name for p in folder.path.iterdir()} == {
        "run.json", "log.jsonl", "segments", "blobs", "report.html", "driver.lock",
    }  # fmt: skip
    assert len(parse(first.decode()).all("img")) == 12
    assert len(first) < 2_000_000


def test_another_study_is_refused(tmp_path):
    with pytest.raises(Refused, match="no report for the study 'retrace'"):
        write_report(Study("retrace"), run_folder(tmp_path / "run", []), tables())


def test_nothing_is_fetched_and_nothing_runs():
    text = page(tables(), Gallery())
    read = parse(text)
    policy = read.one("meta", **{"http-equiv": "Content-Security-Policy"})
    assert (
        policy.attributes["content"]
        == "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    )
    assert not re.search(r"url\(|@import|https?:|//", text)
    assert {n for n in ("script", "iframe", "link", "object", "form") if read.all(n)} == set()
    for name in _names(read):
        assert not name.startswith("on"), name


def _names(node: Node) -> set[str]:
    inner = [_names(c) for c in node.children if isinstance(c, Node)]
    return set(node.attributes).union(*inner)


def test_links_lead_to_places_on_the_page():
    for changed in ({}, _nothing(), {"run": {**tables()["run"], "mixed": True}}):
        read = _page(**changed)
        places = [
            n.attributes["id"]
            for name in ("h2", "h3")
            for n in read.all(name)
            if "id" in n.attributes
        ]
        assert len(set(places)) == len(places)
        assert {n.attributes["href"] for n in read.all("a")} <= {f"#{place}" for place in places}


def test_hostile_names_are_shown_as_text_wherever_a_name_stands():
    plain = {"name": HOSTILE, "environment": HOSTILE, "tasks": [HOSTILE, QUOTED]}
    voids = [{"stage": HOSTILE, "party": HOSTILE, "kind": QUOTED, "units": 1}]
    run = {**tables()["run"], "fingerprints": {HOSTILE: {QUOTED: HOSTILE}}, "engine": HOSTILE}
    funnel = [{"stage": HOSTILE, "entered": 2, "left": 1, "dropped": {QUOTED: 1}}]
    text = page(tables(**plain, voids=voids, run=run, funnel=funnel), Gallery())
    assert "<script" not in text
    assert "<img" not in text
    assert parse(text).one("h1").text == HOSTILE


@pytest.mark.parametrize("kind", ["initial", "recovery"])
def test_every_rate_of_a_policy_is_the_tables_own(kind):
    data = tables()
    shown = rows(parse(page(data, Gallery())), f"Success from {kind} states")
    marks = {"expert": " †", "dropper": " †"} if kind == "recovery" else {}
    assert [row[0] for row in shown[:-1]] == [n + marks.get(n, "") for n in NAMES]
    for row, of in zip(shown, data[kind]["rates"]):
        readings = of["trial_rates"]
        assert row[1:] == [
            percent(of["rate"]), between(of["low"], of["high"]),
            f"{of['passed']} / {of['scheduled']}", str(of["void"]),
            percent(readings["void_failed"]), percent(readings["void_left_out"]),
            percent(readings["void_passed"]),
        ]  # fmt: skip
    assert shown[-1][:3] == [
        "Retrospective oracle, not a policy one can deploy", "91.1%", "82.2% to 97.8%",
    ]  # fmt: skip


def test_every_contrast_is_the_tables_own():
    data = tables()
    shown = rows(parse(page(data, Gallery())), "Recovery: A minus B")
    assert len(shown) == 6
    for row, of in zip(shown, data["recovery"]["contrasts"]):
        assert row[1:4] == [
            points(of["difference"]),
            f"{points(of['low'])} to {points(of['high'])}",
            "28.7",
        ]
        assert row[4] == ("includes zero" if of["low"] <= 0 <= of["high"] else "below zero")


def test_a_contrast_without_spread_detects_nothing():
    data = tables()
    for pair in data["recovery"]["contrasts"]:
        pair["detectable"] = None
    shown = rows(parse(page(data, Gallery())), "Recovery: A minus B")
    assert {row[3] for row in shown} == {"none: no spread"}


def test_every_row_of_the_funnel_says_in_out_and_why():
    (funnel,) = [n for n in _page().all("ol") if n.attributes["class"] == "funnel"]
    texts = [item.text for item in funnel.all("li")]
    for text, row in zip(texts, tables()["funnel"]):
        assert f"{row['entered']} in → {row['left']} out" in text
        for reason, n in row["dropped"].items():
            assert f"{n} {reason}" in text
    assert "Dropped: 1 replay differs" in texts[3]
    assert "Set aside: 3 train" in texts[4]


def test_group_rates_are_the_tables_own_with_an_interval_unless_the_group_is_small():
    data = tables()
    read = parse(page(data, Gallery()))
    natural, perturbed = rows(read, "Recovery rate by source")
    first, second = data["recovery_by_source"]
    assert (first["scenarios"], second["scenarios"]) == (12, 3)
    for cell, policy in zip(natural[2:], POLICIES):
        found = results.group_estimate(data, "source", "natural", policy)
        assert found["rate"] == pytest.approx(first["rates"][policy])
        assert cell == percent(first["rates"][policy]) + between(found["low"], found["high"])
    assert perturbed == [
        "perturbed descriptive",
        "3",
        *(percent(second["rates"][p]) for p in POLICIES),
    ]
    assert "Groups of under 5 scenarios are descriptive" in read.text


def test_a_group_interval_is_that_of_its_trials():
    """The same as from the outcomes themselves: their order within a scenario does not matter."""
    data = tables()
    outcomes = {
        s["name"]: ["fail"] * (TRIALS - n) + ["pass"] * n
        for s in data["scenarios"]
        if s["split"] == "test" and s["source"] == "natural"
        for n in [round(s["rates"]["expert"] * TRIALS)]
    }
    wanted = rate(tabulate(outcomes, void="failed"), Bootstrap(11, None, 500, 0.95))
    found = results.group_estimate(data, "source", "natural", "expert")
    assert (found["low"], found["high"]) == (wanted.low, wanted.high)
    shares = sum(words.count("pass") / TRIALS for words in outcomes.values())
    assert found["wilson"] == pytest.approx(wilson(shares, len(outcomes)))


def test_scenarios_show_their_trials_as_counts():
    shown = rows(_page(), "18 valid scenarios")
    for row, of in zip(shown, scenarios()):
        assert row[:5] == [
            f"{of['name']} {of['task']} · episode {of['episode']}",
            f"{NAMES[POLICIES.index(of['policy'])]} {of['source']}",
            str(of["actions"]),
            f"{of['screening']} / 20 {of['others_recovered']} by others",
            of["split"],
        ]
        passes = [f"{of['rates'][p] * 5:.0f} / 5" if of["rates"] else "–" for p in POLICIES]
        assert row[5:] == passes


def test_the_table_of_scenarios_has_five_columns_beside_the_policies_and_may_wrap():
    (table,) = [t for t in _page().all("table") if "valid scenario" in t.one("caption").text]
    assert table.attributes["class"] == "dense"
    assert len(table.one("thead").all("th")) == 5 + len(POLICIES)
    assert re.search(r"\.dense td, [^{]*\{ white-space: normal; min-width: 0;", STYLE)


def test_one_of_anything_is_written_in_the_singular():
    lone = scenarios(1)
    only = {**tables()["recovery"], "scenarios": 1, "contrasts": []}
    only["rates"] = [{**only["rates"][0], "scheduled": TRIALS}]
    screening = {**tables()["screening"], "trials": 1, "least": 0, "most": 1}
    text = _page(
        scenarios=lone, recovery=only, initial={**only, "scenarios": 1}, screening=screening,
        recovery_by_task=[], recovery_by_source=[],
        voids=[{"stage": "evaluation", "party": "harness", "kind": "killed", "units": 1}],
        statistics={**tables()["statistics"], "draws": 1},
    ).text  # fmt: skip
    assert "How often 1 policy finishes pick-place" in text
    for word in ("unit stayed void", "valid scenario.", "draw;", "trial by", "success"):
        assert f"1 {word}" in text, word
    assert not re.search(r"\b1 (scenarios|units|policies|trials|draws|successes|actions)\b", text)


def test_a_large_study_says_how_many_scenarios_are_not_listed():
    many = [{**s, "name": f"{i:04}", "unit": unit(i)} for i, s in enumerate(scenarios() * 30)]
    data = tables(scenarios=many)
    text = page(data, Gallery())
    assert len(rows(parse(text), "540 valid scenarios")) == MOST_ROWS
    assert "140 more scenarios in tables.json" in text
    assert len(text) < 1_000_000


def test_voids_have_a_banner_and_a_table_and_without_them_neither():
    read = _page()
    assert "8 units stayed void, 8 of them among the rated trials" in _banners(read)[0]
    assert rows(read, "Units that stayed void") == [["evaluation", "harness", "killed", "8"]]
    assert not any("void" in text for text in _banners(_page(voids=[])))


def test_policies_that_screened_and_are_evaluated_are_flagged():
    read = _page(voids=[])
    assert _banners(read) == [
        "expert and dropper screened the scenarios and are evaluated on them (†): their recovery"
        " rates are not independent of the selection."
    ]
    apart = {**tables()["screening"], "also_evaluated": []}
    read = _page(voids=[], screening=apart)
    assert _banners(read) == []
    assert "†" not in read.text


def test_mixed_fingerprints_have_a_banner_and_the_facts_that_differ_are_named():
    prints = {
        "a" * 64: {"mujoco": "3.3.2", "gl": "egl"},
        "b" * 64: {"mujoco": "3.4.0", "gl": "egl"},
    }
    read = _page(run={**tables()["run"], "mixed": True, "fingerprints": prints})
    assert any("mixes fingerprints" in text for text in _banners(read))
    assert rows(read, "2 fingerprints") == [
        ["gl", "egl", "egl"],
        ["mujoco differs", "3.3.2", "3.4.0"],
    ]


def test_a_study_without_scenarios_says_so_and_shows_no_rate():
    read = _page(**_nothing())
    assert _banners(read) == [
        "No scenario reached the test split, so there is no recovery rate. Where they were dropped"
    ]
    assert [n for n in read.all("svg") if n.attributes["class"] == "chart"] == []
    assert "No candidate passed screening and validation." in read.text


def test_a_study_with_frames_off_says_so_and_reads_no_store(tmp_path):
    data = tables(frames=False)
    path = write_report(Study(), run_folder(tmp_path / "run", []), data)
    read = parse(path.read_text())
    assert "Frames were off in this run" in read.text
    assert read.all("img") == []


def test_an_interval_without_width_is_not_left_to_look_certain():
    data = tables()
    assert "not certainty" not in page(data, Gallery())
    data["recovery"]["rates"][0].update(rate=1.0, low=1.0, high=1.0, wilson=[0.951, 1.0])
    data["recovery"]["oracle"].update(rate=1.0, low=1.0, high=1.0)
    data["recovery"]["contrasts"][0].update(difference=0.0, low=0.0, high=0.0, detectable=None)
    read = parse(page(data, Gallery()))
    shown = rows(read, "Success from recovery states")
    assert shown[0][1:3] == ["100.0%", "95.1% to 100.0% W"]
    assert shown[-1][1:3] == ["100.0%", "no spread"]
    assert rows(read, "Recovery: A minus B")[0][3:] == ["none: no spread", "no spread"]
    assert "a bootstrap sees no spread, which is not certainty" in read.text


def test_few_scenarios_are_said_to_make_short_intervals():
    data = tables()
    note = "With under 20 scenarios percentile intervals run short"
    assert note in page(data, Gallery())
    data["recovery"]["scenarios"] = 25
    assert note not in page(data, Gallery())


def test_how_it_was_made_names_seed_draws_method_plan_and_engine():
    made = next(n for n in _page().all("dl") if n.attributes["class"] == "made").text
    for fact in ("scenario bootstrap, percentile", "500 draws", "seed 11", "95%", "ab" * 32, "cd" * 32,
                 "20 trials by expert and dropper", "kept with 2 to 18 successes"):  # fmt: skip
        assert fact in made


def test_every_drawing_has_a_title_and_a_description_or_is_decoration():
    for svg in _page().all("svg"):
        if svg.attributes.get("aria-hidden") != "true":
            assert svg.one("title").text
            assert svg.one("desc").text
