# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Style of the report's page and pictures, light and dark.

Each text has a contrast of at least 4.5:1 with what is behind it (WCAG 2.2, 1.4.3); a test computes it from these colours.
"""

from __future__ import annotations

LIGHT = {
    "paper": "#f6f8fa",
    "card": "#ffffff",
    "ink": "#1b2430",
    "muted": "#57606a",
    "line": "#d5dbe1",
    "grid": "#e7ebef",
    "link": "#0b5cad",
    "makes": "#1f66b5",
    "removes": "#7a3fb5",
    "other": "#4a5868",
    "failed": "#b42318",
    "wait": "#f0c04f",
    "on-wait": "#2b1f00",
    "good": "#1a7f37",
    "on": "#ffffff",
    "leader-a": "#0f6a73",
    "leader-b": "#3c4f9e",
    "phase-a": "#7fb0e3",
    "phase-b": "#c2dbf5",
    "voters": "#1f66b5",
    "quorum": "#a14a00",
    "good-soft": "#dff3e4",
    "bad-soft": "#fde7e4",
    "wait-soft": "#fdf1d3",
    "on-good-soft": "#135c28",
    "on-bad-soft": "#8e1b12",
    "on-wait-soft": "#5e4300",
}
DARK = {
    "paper": "#0d1218",
    "card": "#161d26",
    "ink": "#e6ebf1",
    "muted": "#a3afbc",
    "line": "#303b48",
    "grid": "#242e39",
    "link": "#79b8ff",
    "makes": "#2f6fbe",
    "removes": "#8450c4",
    "other": "#56677a",
    "failed": "#c9382c",
    "wait": "#d9a830",
    "on-wait": "#1f1600",
    "good": "#26793c",
    "on": "#ffffff",
    "leader-a": "#1b737c",
    "leader-b": "#5264bd",
    "phase-a": "#4f86bd",
    "phase-b": "#9cc4ec",
    "voters": "#79b8ff",
    "quorum": "#f2a65a",
    "good-soft": "#12301b",
    "bad-soft": "#3d1714",
    "wait-soft": "#382a0a",
    "on-good-soft": "#8fdca4",
    "on-bad-soft": "#ffb4ab",
    "on-wait-soft": "#f3d27c",
}

_CHART = """
.chart { font: 12px system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; font-variant-numeric: tabular-nums }
.chart text { fill: var(--ink) }
.chart .label { font-weight: 600 }
.chart .tick { fill: var(--muted); font-size: 11px }
.chart .on { fill: var(--on); font-weight: 600 }
.chart .on.wait { fill: var(--on-wait) }
.chart .makes { fill: var(--makes) }
.chart .removes { fill: var(--removes) }
.chart .other { fill: var(--other) }
.chart .failed { fill: var(--failed) }
.chart .good { fill: var(--good) }
.chart .bar.wait { fill: var(--wait) }
.chart .l0 { fill: var(--leader-a) }
.chart .l1 { fill: var(--leader-b) }
.chart text.on.on { fill: var(--on) }
.chart text.on.wait { fill: var(--on-wait) }
.chart .p0 { fill: var(--phase-a) }
.chart .p1 { fill: var(--phase-b) }
.chart .line-hatch, .chart .line-stripes { fill: #000; opacity: .28 }
.chart .grid { stroke: var(--grid); stroke-width: 1 }
.chart .area { fill: var(--voters); opacity: .16 }
.chart .voters { fill: none; stroke: var(--voters); stroke-width: 2.5 }
.chart .quorum { fill: none; stroke: var(--quorum); stroke-width: 2; stroke-dasharray: 5 4 }
.chart .said-voters { fill: var(--voters); font-weight: 600 }
.chart .said-quorum { fill: var(--quorum); font-weight: 600 }
"""

_PAGE = """
* { box-sizing: border-box }
body { margin: 0; background: var(--paper); color: var(--ink); line-height: 1.5;
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; font-variant-numeric: tabular-nums }
main, header, footer { max-width: 980px; margin: 0 auto; padding: 0 14px }
header { padding-top: 26px }
h1 { font-size: 25px; line-height: 1.25; margin: 0 0 4px; overflow-wrap: anywhere }
h2 { font-size: 21px; margin: 34px 0 10px; overflow-wrap: anywhere }
h3 { font-size: 15px; margin: 20px 0 6px }
p { margin: 6px 0 }
a { color: var(--link) }
.muted, time { color: var(--muted) }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 14px 15px; margin: 12px 0 }
.badge { display: inline-block; border-radius: 999px; padding: 1px 10px; font-size: 13px; font-weight: 600; white-space: nowrap }
.badge.good { background: var(--good-soft); color: var(--on-good-soft) }
.badge.bad { background: var(--bad-soft); color: var(--on-bad-soft) }
.badge.wait { background: var(--wait-soft); color: var(--on-wait-soft) }
.said { overflow-wrap: anywhere }
.said.bad { background: var(--bad-soft); color: var(--on-bad-soft); border-radius: 8px; padding: 9px 12px }
dl.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 10px; margin: 12px 0 }
dl.tiles div { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 10px 13px; min-width: 0 }
dl.tiles dt { color: var(--muted); font-size: 13px }
dl.tiles dd { margin: 0; font-size: 19px; font-weight: 600; overflow-wrap: anywhere; line-height: 1.3 }
dl.tiles small { display: block; font-size: 13px; font-weight: 400; color: var(--muted) }
details.run > summary { cursor: pointer; font-weight: 600; list-style-position: outside; margin-left: 16px; overflow-wrap: anywhere }
summary { cursor: pointer }
summary:focus-visible, a:focus-visible { outline: 2px solid var(--link); outline-offset: 2px }
summary .muted { font-weight: 400 }
.chart { display: block; width: 100%; height: auto; margin: 14px 0 4px }
.chart.narrow { display: none }
ol.steps, ul.plain { list-style: none; margin: 0; padding: 0 }
ol.steps > li, ul.plain > li { border-top: 1px solid var(--grid); padding: 7px 0 }
ol.steps > li:first-child, ul.plain > li:first-child { border-top: 0 }
.head { display: flex; flex-wrap: wrap; gap: 2px 10px; align-items: baseline }
.head b { overflow-wrap: anywhere }
.head .end { margin-left: auto }
.planned { color: var(--muted) }
ul.phases { list-style: none; margin: 4px 0 0; padding: 0; display: grid; grid-template-columns: repeat(auto-fill, minmax(220px, 1fr)); gap: 0 18px }
ul.phases li { display: flex; justify-content: space-between; gap: 10px; border-top: 1px solid var(--grid); padding: 2px 0; font-size: 13px }
code { font: 13px ui-monospace, "DejaVu Sans Mono", monospace; overflow-wrap: anywhere }
.key { display: flex; flex-wrap: wrap; gap: 2px 16px; font-size: 13px; color: var(--muted) }
.key span::before { content: ""; display: inline-block; width: 11px; height: 11px; border-radius: 3px; margin-right: 6px; background: var(--c) }
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; padding: 7px 10px 7px 0; border-top: 1px solid var(--grid); vertical-align: top; overflow-wrap: anywhere }
thead th { border-top: 0; color: var(--muted); font-size: 13px; font-weight: 600 }
.fleet tbody th { min-width: 10em }
footer { color: var(--muted); font-size: 13px; padding-bottom: 30px; margin-top: 26px }
@media (max-width: 640px) {
  .chart.wide { display: none }
  .chart.narrow { display: block }
  .card { padding: 11px 10px }
  dl.tiles { grid-template-columns: 1fr 1fr }
  .fleet thead { display: none }
  .fleet, .fleet tbody { display: block }
  .fleet tr { display: block; border-top: 1px solid var(--line); padding: 8px 0 }
  .fleet tbody tr:first-child { border-top: 0 }
  .fleet td, .fleet tbody th { display: block; border: 0; padding: 1px 0; min-width: 0 }
  .fleet td[data-is]::before { content: attr(data-is) ": "; color: var(--muted) }
}
@media print { body { background: #fff } .card, dl.tiles div { break-inside: avoid } }
"""


def page_style() -> str:
    """Return the page's style sheet."""
    return _colours(":root") + _CHART + _PAGE


def picture_style() -> str:
    """Return the style sheet of a picture on its own."""
    return _colours("svg") + _CHART + "svg { background: var(--card) }\n"


def _colours(selector: str) -> str:
    light, dark = ("; ".join(f"--{name}: {value}" for name, value in each.items()) for each in (LIGHT, DARK))
    schemes = "color-scheme: light dark; "
    return f"\n{selector} {{ {schemes}{light} }}\n@media (prefers-color-scheme: dark) {{ {selector} {{ {dark} }} }}\n"
