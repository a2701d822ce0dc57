"""Charts as inline SVG: positions in percent, sizes in pixels, so text keeps its size on a phone.

They draw tables; they compute nothing but positions. Colours are classes of the page's style.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from clew.report.markup import Html, joined, tag
from clew.report.numbers import interval, percent, points, said

#: Percent of the width left free at either side, where marks at the ends of an axis reach out.
MARGIN = 3.0
#: The longest label that fits beside nothing else on a phone.
LABEL = 46
TOP = 26


def rates(
    initial: Sequence[Mapping[str, Any]],
    recovery: Sequence[Mapping[str, Any]],
    oracle: Mapping[str, Any] | None,
) -> Html:
    """Each policy's rate from initial (ring) and recovery states (disc), with its intervals."""
    starts = {row["policy"]: row for row in initial}
    ends = {row["policy"]: row for row in recovery}
    names = list(starts) + [name for name in ends if name not in starts]
    row_px = 60
    parts = [
        _axis([(v / 100, f"{v}%") for v in range(0, 101, 25)], TOP + row_px * _rows(names, oracle))
    ]
    for i, name in enumerate(names):
        parts.append(_policy(name, starts.get(name), ends.get(name), TOP + row_px * i))
    if oracle is not None:
        parts.append(_oracle(oracle, TOP + row_px * len(names)))
    summary = "; ".join(
        f"{name}: " + ", ".join(
            f"{word} {percent(row['rate'])} ({said(row)})"
            for word, row in (("initial", starts.get(name)), ("recovery", ends.get(name))) if row
        )
        for name in names
    )  # fmt: skip
    height = TOP + row_px * _rows(names, oracle) + 22
    return _svg("Success rates from initial and recovery states", summary, height, parts)


def _rows(names: Sequence[str], oracle: Mapping[str, Any] | None) -> int:
    return len(names) + (oracle is not None)


def _policy(
    name: str, start: Mapping[str, Any] | None, end: Mapping[str, Any] | None, y: int
) -> Html:
    parts = [_label(name, y + 16)]
    figures = [
        tag("tspan", f"{word} {percent(row['rate'])} [{said(row)}]", class_=word, dx=dx)
        for word, row, dx in (("initial", start, None), ("recovery", end, "14")) if row
    ]  # fmt: skip
    parts.append(_figures(figures, y + 16))
    if start and end:
        x = {"x1": _x(start["rate"]), "x2": _x(end["rate"])}
        parts.append(tag("line", **x, y1=y + 29, y2=y + 43, class_="bond"))
    if start:
        parts.append(_estimate(start, y + 29, "initial"))
    if end:
        parts.append(_estimate(end, y + 43, "recovery"))
    return joined(parts)


def _oracle(row: Mapping[str, Any], y: int) -> Html:
    text = f"recovery {percent(row['rate'])} [{said(row)}]"
    return joined([
        tag("line", x1="0", x2="100%", y1=y, y2=y, class_="rule"),
        _label("Retrospective oracle, not a policy", y + 18, "muted"),
        _figures([tag("tspan", text, class_="oracle")], y + 18),
        _estimate(row, y + 36, "oracle"),
    ])  # fmt: skip


def _estimate(row: Mapping[str, Any], y: int, kind: str) -> Html:
    parts = [tag("circle", cx=_x(row["rate"]), cy=y, r="5", class_=f"dot {kind}")]
    ends = interval(row)
    if ends:
        x = {"x1": _x(ends[0]), "x2": _x(ends[1])}
        parts.insert(0, tag("line", **x, y1=y, y2=y, class_=f"whisker {kind}"))
    return joined(parts)


def forest(contrasts: Sequence[Mapping[str, Any]], title: str) -> Html:
    """Each paired contrast with its interval around a zero line; the band behind a contrast is
    what the study could not have detected."""
    reach = _reach(contrasts)
    ticks = [(0.5 + v / 4, points(v * reach / 2).removesuffix(".0")) for v in (-2, -1, 0, 1, 2)]
    row_px = 46
    bottom = TOP + row_px * len(contrasts)
    parts = [_axis(ticks, bottom)]
    for i, row in enumerate(contrasts):
        parts.append(_contrast(row, TOP + row_px * i, reach))
    zero = _x(0.5)
    parts.insert(1, tag("line", x1=zero, x2=zero, y1=TOP, y2=bottom, class_="zero"))
    summary = "; ".join(
        f"{c['a']} minus {c['b']}: {points(c['difference'])} points"
        f" ({points(c['low'])} to {points(c['high'])})"
        for c in contrasts
    )
    return _svg(title, summary, bottom + 22, parts)


def _reach(contrasts: Sequence[Mapping[str, Any]]) -> float:
    """Where the axis ends on both sides: a multiple of 20 points that holds every interval."""
    largest: float = max(max(abs(c["low"]), abs(c["high"])) for c in contrasts)
    return min(1.0, max(0.2, math.ceil(largest * 5 - 1e-9) / 5))


def _contrast(row: Mapping[str, Any], y: int, reach: float) -> Html:
    def x(value: float) -> str:
        return _x(0.5 + max(-1.0, min(1.0, value / reach)) / 2)

    parts = [_label(f"{_short(row['a'], LABEL // 2)} − {_short(row['b'], LABEL // 2)}", y + 15)]
    text = f"{points(row['difference'])} [{points(row['low'])} to {points(row['high'])}]"
    parts.append(_figures([tag("tspan", text)], y + 15))
    detectable = row["detectable"]
    if detectable is not None:
        width = min(1.0, detectable / reach) * (100 - 2 * MARGIN)
        band = {"x": x(-detectable), "width": f"{width:.3f}%"}
        parts.append(tag("rect", **band, y=y + 23, height="14", rx="3", class_="band"))
    clear = "clear" if holds_no_zero(row) else "open"
    parts.append(
        tag(
            "line", x1=x(row["low"]), x2=x(row["high"]), y1=y + 30, y2=y + 30, class_="whisker pair"
        )
    )
    parts.append(
        tag("circle", cx=x(row["difference"]), cy=y + 30, r="5", class_=f"dot pair {clear}")
    )
    return joined(parts)


def holds_no_zero(contrast: Mapping[str, Any]) -> bool:
    """Whether a contrast's interval lies on one side of zero."""
    return bool(contrast["low"] > 0 or contrast["high"] < 0)


def bar(parts: Sequence[tuple[int, str]], whole: int) -> Html:
    """One stacked bar of (count, class); the full width is `whole`. Decoration: text says it all."""
    drawn, x = [], 0.0
    for count, kind in parts:
        width = 100 * count / max(whole, 1)
        drawn.append(
            tag(
                "rect",
                x=f"{x:.3f}%",
                y="0",
                width=f"{width:.3f}%",
                height="18",
                class_=f"part {kind}",
            )
        )
        x += width
    return tag("svg", *drawn, width="100%", height="18", class_="flow", aria_hidden="true")


def _axis(ticks: Sequence[tuple[float, str]], bottom: int) -> Html:
    """Grid lines with a label at both ends; `ticks` are (share of the width, label)."""
    parts = []
    for share, label in ticks:
        parts.append(tag("line", x1=_x(share), x2=_x(share), y1=TOP - 6, y2=bottom, class_="grid"))
        for y in (TOP - 12, bottom + 16):
            parts.append(tag("text", label, x=_x(share), y=y, class_="tick"))
    return joined(parts)


def _label(text: str, y: int, kind: str | None = None) -> Html:
    shown = _short(text, LABEL)
    return tag("text", shown, x="0", y=y, class_=f"label {kind}" if kind else "label")


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _figures(spans: Sequence[Html], y: int) -> Html:
    return tag("text", *spans, x="100%", y=y, text_anchor="end", class_="figures")


def _x(share: float) -> str:
    return f"{MARGIN + (100 - 2 * MARGIN) * share:.3f}%"


def _svg(title: str, summary: str, height: int, parts: Sequence[Html]) -> Html:
    return tag(
        "svg", tag("title", title), tag("desc", summary), *parts,
        width="100%", height=height, role="img", class_="chart", aria_label=title,
    )  # fmt: skip
