"""Marks stand where the table says, and the drawing says in words what it shows."""

from __future__ import annotations

import pytest

from clew.report import charts

from ._page import Node, parse
from ._study import POLICIES, tables


def _svg(drawn: str) -> Node:
    return parse(f"<!doctype html>\n{drawn}").one("svg")


def _at(share: float) -> float:
    return charts.MARGIN + (100 - 2 * charts.MARGIN) * share


def _places(svg: Node, name: str, attribute: str, kind: str) -> list[float]:
    nodes = [n for n in svg.all(name) if kind in str(n.attributes["class"]).split()]
    return [float(str(n.attributes[attribute]).rstrip("%")) for n in nodes]


def test_every_rate_and_interval_stands_at_its_place():
    data = tables()
    svg = _svg(
        charts.rates(
            data["initial"]["rates"], data["recovery"]["rates"], data["recovery"]["oracle"]
        )
    )
    for kind in ("initial", "recovery"):
        for mark, attribute, field in (
            ("circle", "cx", "rate"),
            ("line", "x1", "low"),
            ("line", "x2", "high"),
        ):
            wanted = [_at(row[field]) for row in data[kind]["rates"]]
            assert _places(svg, mark, attribute, kind) == pytest.approx(wanted, abs=1e-3)
    assert _places(svg, "circle", "cx", "oracle") == pytest.approx([_at(0.9111)], abs=1e-3)


def test_the_axis_of_rates_is_labelled_from_0_to_100_percent():
    svg = _svg(charts.rates(tables()["initial"]["rates"], [], None))
    ticks = {n.text: _place for n in svg.all("text") if n.attributes["class"] == "tick"
             for _place in [float(str(n.attributes["x"]).rstrip("%"))]}  # fmt: skip
    assert ticks == pytest.approx({f"{v}%": _at(v / 100) for v in (0, 25, 50, 75, 100)})


def test_a_drawing_has_a_title_and_says_its_figures_in_words():
    data = tables()
    svg = _svg(charts.rates(data["initial"]["rates"], data["recovery"]["rates"], None))
    assert svg.attributes["role"] == "img"
    assert svg.one("title").text
    assert "expert: initial 96.7% (84.3% to 100.0%), recovery" in svg.one("desc").text


def test_contrasts_stand_around_a_zero_line_in_the_middle():
    found = [
        {"a": "x", "b": "y", "difference": 0.3, "low": 0.1, "high": 0.5, "detectable": 0.3},
        {"a": "x", "b": "z", "difference": -0.3, "low": -0.6, "high": 0.0, "detectable": 0.15},
    ]
    svg = _svg(charts.forest(found, "Recovery"))
    assert _places(svg, "line", "x1", "zero") == [50.0]
    # The axis reaches to the next multiple of 20 points, here 60 on both sides.
    wanted = [_at(0.5 + c["difference"] / 1.2) for c in found]
    assert _places(svg, "circle", "cx", "pair") == pytest.approx(wanted, abs=1e-3)
    widths = [c["detectable"] / 0.6 * (100 - 2 * charts.MARGIN) for c in found]
    assert _places(svg, "rect", "width", "band") == pytest.approx(widths, abs=1e-3)


def test_only_an_interval_on_one_side_of_zero_is_a_filled_dot():
    found = [
        {"a": "x", "b": "y", "difference": 0.3, "low": 0.1, "high": 0.5, "detectable": 0.3},
        {"a": "x", "b": "z", "difference": -0.3, "low": -0.6, "high": 0.0, "detectable": 0.15},
    ]
    svg = _svg(charts.forest(found, "Recovery"))
    kinds = [str(n.attributes["class"]).split()[-1] for n in svg.all("circle")]
    assert kinds == ["clear", "open"]


def test_a_contrast_without_spread_has_no_band():
    found = [{"a": "x", "b": "y", "difference": 0.0, "low": 0.0, "high": 0.0, "detectable": None}]
    svg = _svg(charts.forest(found, "Recovery"))
    assert svg.all("rect") == []


def test_a_band_wider_than_the_axis_ends_with_it():
    found = [{"a": "x", "b": "y", "difference": 0.0, "low": -0.1, "high": 0.1, "detectable": 0.9}]
    svg = _svg(charts.forest(found, "Recovery"))
    (x,), (width,) = _places(svg, "rect", "x", "band"), _places(svg, "rect", "width", "band")
    assert (x, x + width) == pytest.approx((_at(0), _at(1)))


def test_the_parts_of_a_bar_lie_end_to_end():
    svg = _svg(charts.bar([(30, "kept"), (50, "dropped"), (10, "void")], 120))
    starts, widths = _places(svg, "rect", "x", "part"), _places(svg, "rect", "width", "part")
    assert starts == pytest.approx([0, 25, 66.667], abs=1e-3)
    assert widths == pytest.approx([25, 41.667, 8.333], abs=1e-3)


def test_a_long_name_is_cut_in_a_drawing_and_whole_in_its_words():
    rows = [{**tables()["initial"]["rates"][0], "policy": "n" * 99}]
    svg = _svg(charts.rates(rows, [], None))
    labels = [n.text for n in svg.all("text") if n.attributes["class"] == "label"]
    assert labels == ["n" * (charts.LABEL - 1) + "…"]
    assert "n" * 99 in svg.one("desc").text


def test_a_policy_of_one_table_alone_is_drawn():
    rows = tables()["recovery"]["rates"]
    svg = _svg(charts.rates(rows[:1], rows[1:], None))
    labels = [n.text for n in svg.all("text") if n.attributes["class"] == "label"]
    assert labels[:3] == list(POLICIES[:3])
    assert len(labels) == 4
