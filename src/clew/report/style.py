"""The page's one style sheet: system fonts, light and dark, paper and phones. No address in it."""

STYLE = """
:root { color-scheme: light dark;
  --paper: #fdfdfc; --ink: #1c2126; --quiet: #5b6570; --rule: #e2e4e6; --tint: #f3f4f3;
  --start: #0069a8; --end: #c24f00; --oracle: #6d5a8c; --part: #c3c9ce; --void: #e0a04a;
  --warn-ink: #6b3300; --warn: #fff3e2; --warn-rule: #e0a04a; --note: #eef4f9; --note-rule: #9cc0da; }
@media (prefers-color-scheme: dark) { :root {
  --paper: #14171a; --ink: #e6e9eb; --quiet: #9aa5af; --rule: #2d3338; --tint: #1c2024;
  --start: #62b8f0; --end: #f2a25c; --oracle: #b9a4dd; --part: #4a535b; --void: #d39a3e;
  --warn-ink: #ffd9a3; --warn: #33260f; --warn-rule: #8f6420; --note: #17242e; --note-rule: #35566d; } }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.6 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif; }
main { max-width: 64rem; margin: 0 auto; padding: 3.5rem 1.5rem 5rem; }
h1, h2, h3 { line-height: 1.25; text-wrap: balance; overflow-wrap: anywhere; }
h1 { font-size: 2.1rem; font-weight: 650; letter-spacing: -0.02em; margin: 0 0 .8rem; }
h2 { font-size: 1.35rem; font-weight: 650; letter-spacing: -0.01em; margin: 4rem 0 .6rem; }
h3 { font-size: 1.02rem; font-weight: 650; margin: 2.2rem 0 .5rem; }
p { margin: .5rem 0; max-width: 44rem; overflow-wrap: anywhere; }
a { color: var(--start); text-underline-offset: .18em; }
:focus-visible { outline: 2px solid var(--start); outline-offset: 2px; }
code { font: .88em/1.4 ui-monospace, "SF Mono", Menlo, Consolas, monospace; overflow-wrap: anywhere; }
.kicker { color: var(--quiet); font-size: .85rem; letter-spacing: .06em; text-transform: uppercase;
  margin: 0 0 .4rem; }
.lede { font-size: 1.15rem; line-height: 1.55; }
.notes { padding-left: 1.1rem; max-width: 44rem; margin: 1.4rem 0; font-size: .88rem; line-height: 1.5;
  color: var(--quiet); }
.notes li { margin: .25rem 0; }
.quiet, .muted { color: var(--quiet); }
.small { font-size: .88rem; line-height: 1.5; color: var(--quiet); }
nav { margin: 1.6rem 0 0; font-size: .92rem; display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; }
.facts { display: grid; grid-template-columns: repeat(auto-fit, minmax(8rem, 1fr)); gap: 1px;
  margin: 1.8rem 0 0; border: 1px solid var(--rule); border-radius: 8px;
  overflow: hidden; }
.facts div { box-shadow: 0 0 0 1px var(--rule); padding: .8rem 1rem; }
.facts dt { color: var(--quiet); font-size: .82rem; line-height: 1.35; }
.facts dd { margin: .1rem 0 0; font-size: 1.3rem; font-weight: 600; line-height: 1.3;
  font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
.banner { margin: 1rem 0 0; padding: .8rem 1.1rem; border-radius: 6px; border: 1px solid var(--note-rule);
  border-left-width: 4px; background: var(--note); max-width: none; }
.banner p { margin: .15rem 0; max-width: none; }
.banner.warn { border-color: var(--warn-rule); background: var(--warn); color: var(--warn-ink); }
.banner.warn a { color: inherit; }
figure { margin: 1.6rem 0; }
figcaption { font-size: .88rem; line-height: 1.5; color: var(--quiet); margin-top: .7rem; max-width: 44rem; }
.chart, .flow { display: block; overflow: visible; }
.chart text { fill: currentColor; font-size: 13.5px; }
.chart .tick { text-anchor: middle; fill: var(--quiet); font-size: 12px; font-variant-numeric: tabular-nums; }
.chart .label { font-weight: 600; }
.chart .label.muted { font-weight: 400; fill: var(--quiet); }
.chart .figures { font-size: 12.5px; font-variant-numeric: tabular-nums; }
.chart .grid { stroke: var(--rule); }
.chart .rule { stroke: var(--rule); }
.chart .zero { stroke: var(--quiet); stroke-width: 1.5; }
.chart .bond { stroke: var(--quiet); stroke-width: 1; stroke-dasharray: 2 3; }
.chart .whisker { stroke-width: 2.5; stroke-linecap: round; }
.chart line.initial, .chart circle.initial { stroke: var(--start); }
.chart line.recovery, .chart circle.recovery { stroke: var(--end); }
.chart line.oracle, .chart circle.oracle { stroke: var(--oracle); }
.chart line.oracle { stroke-dasharray: 5 4; }
.chart line.pair, .chart circle.pair { stroke: var(--ink); }
.chart .dot { stroke-width: 2.2; fill: var(--paper); }
.chart circle.recovery { fill: var(--end); }
.chart circle.clear { fill: var(--ink); }
.chart tspan.initial { fill: var(--start); } .chart tspan.recovery { fill: var(--end); }
.chart tspan.oracle { fill: var(--oracle); }
.chart .band { fill: var(--part); opacity: .38; }
.key { font-weight: 650; } .key.initial { color: var(--start); } .key.recovery { color: var(--end); }
.funnel { list-style: none; padding: 0; margin: 1.6rem 0; }
.funnel li { padding: .9rem 0; border-top: 1px solid var(--rule); }
.funnel li:last-child { border-bottom: 1px solid var(--rule); }
.funnel .line { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0 1rem; }
.funnel strong { font-weight: 650; }
.funnel .count { font-variant-numeric: tabular-nums; }
.funnel .why { font-size: .88rem; color: var(--quiet); margin: .35rem 0 0; max-width: none; }
.funnel .why b { color: var(--ink); font-weight: 600; font-variant-numeric: tabular-nums; }
.flow { margin: .45rem 0 0; }
.flow .part { stroke: var(--paper); stroke-width: 1; }
.flow .kept { fill: var(--start); } .flow .dropped { fill: var(--part); } .flow .void { fill: var(--void); }
.scroll { overflow: auto; margin: 1.2rem 0; max-height: 40rem; border-radius: 2px; }
table { border-collapse: collapse; width: 100%; font-size: .92rem; line-height: 1.4; }
caption { text-align: left; color: var(--quiet); font-size: .88rem; padding: 0 0 .5rem;
}
caption span { display: block; position: sticky; left: 0; max-width: min(44rem, calc(100vw - 3.6rem)); }
th, td { padding: .5rem .7rem; text-align: left; vertical-align: baseline; border-bottom: 1px solid var(--rule); }
th:first-child, td:first-child { padding-left: .2rem; }
thead th { font-weight: 600; font-size: .82rem; color: var(--quiet); vertical-align: bottom;
  border-bottom: 1.5px solid var(--quiet); position: sticky; top: 0; background: var(--paper); z-index: 1; }
thead th { min-width: 4.2rem; max-width: 10rem; overflow-wrap: break-word; }
thead th:first-child { left: 0; z-index: 2; }
tbody th, tfoot th { font-weight: 600; min-width: 7.5rem; max-width: 18rem; overflow-wrap: break-word;
  position: sticky; left: 0; background: var(--paper); }
td { white-space: nowrap; }
td.long { white-space: normal; min-width: 11rem; overflow-wrap: anywhere; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
th.number { text-align: right; }
tfoot th, tfoot td { color: var(--quiet); font-weight: 400; border-bottom: 0; font-style: italic; }
.cell { display: block; } .cell small { display: block; font-weight: 400; color: var(--quiet); font-size: .8rem; }
/* Many columns: what is short is narrow; lines break between words. */
.dense { font-size: .86rem; } .dense th, .dense td { padding: .4rem .45rem; }
.dense thead th { min-width: 0; max-width: 7rem; overflow-wrap: break-word; }
.dense tbody th { min-width: 0; overflow-wrap: break-word; }
.dense td, .dense td.long { white-space: normal; min-width: 0; overflow-wrap: break-word; }
.dense td.number { white-space: nowrap; }
.tagged { display: inline-block; font-size: .76rem; font-weight: 500; line-height: 1.3; color: var(--quiet);
  border: 1px solid var(--rule); border-radius: 4px; padding: 0 .35rem; white-space: nowrap; }
.gallery { display: grid; grid-template-columns: repeat(auto-fill, minmax(13rem, 1fr)); gap: 1.8rem 1.4rem;
  padding: 0; margin: 1.6rem 0; list-style: none; }
.gallery figure { margin: 0; }
.gallery img { display: block; width: 100%; height: auto; border-radius: 6px; background: var(--tint); }
.gallery figcaption { margin-top: .55rem; line-height: 1.45; overflow-wrap: anywhere; }
.gallery b { color: var(--ink); font-weight: 600; }
details { margin: 1.4rem 0; } summary { cursor: pointer; color: var(--start); }
.made { display: grid; grid-template-columns: minmax(8rem, 13rem) 1fr; gap: .45rem 1.4rem; margin: 1.2rem 0; }
.made dt { color: var(--quiet); } .made dd { margin: 0; overflow-wrap: anywhere; }
@media (max-width: 860px) { .chart .figures { display: none; } }
@media (max-width: 640px) {
  main { padding: 2rem 1rem 3rem; overflow-x: clip; } h1 { font-size: 1.7rem; } h2 { margin-top: 3rem; }
    .chart text { font-size: 12.5px; }
  tbody th, tfoot th { min-width: 7.2rem; max-width: 8.5rem; overflow-wrap: anywhere; }
  .made { grid-template-columns: 1fr; gap: 0; } .made dd { margin-bottom: .7rem; }
  .gallery { grid-template-columns: repeat(2, 1fr); gap: 1.2rem .9rem; }
}
@media print {
  :root { color-scheme: light; --paper: #fff; --ink: #000; --quiet: #444; --rule: #ccc; --tint: #fff;
    --start: #0069a8; --end: #c24f00; --oracle: #6d5a8c; --part: #c3c9ce; --void: #e0a04a;
    --warn-ink: #000; --warn: #fff; --warn-rule: #a60; --note: #fff; --note-rule: #888; }
  body { font-size: 10.5pt; } main { max-width: none; padding: 0; } nav { display: none; }
  .scroll { max-height: none; overflow: visible; } td { white-space: normal; } th, caption span { position: static !important; }
  table { font-size: 8.5pt; } th, td { padding: .25rem .35rem; }
  h2, h3, section > p { break-after: avoid; } figure, tr, .funnel li, .gallery li, .banner { break-inside: avoid; }
  .flow, .chart { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
"""
