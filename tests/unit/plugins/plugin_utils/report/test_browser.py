# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page in Debian's Chromium, at a phone's width and a screen's, light and dark: nothing sticks out or lies on something else.

One start of the browser looks at both widths: the page is in two frames, and a script beside them, which isn't the report's, measures.
"""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
import typing as t
from pathlib import Path

import pytest
from journal_life import Life, creation, failed_rollout

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.report import journal_runs, page, style

WIDTHS = (360, 390, 1200)
# Chromium's own setting: 0 is dark, 1 is light.
SCHEMES = {"dark": "0", "light": "1"}
_MEASURE = """
const errors = [];
window.addEventListener("error", (event) => errors.push(String(event.message)));
function measure(frame) {
  const page = frame.contentDocument, root = page.documentElement, view = frame.contentWindow;
  page.querySelectorAll("details").forEach((each) => { each.open = true; });
  const shown = (each) => each.getClientRects().length > 0;
  const outside = [...page.body.querySelectorAll("*")].filter(shown)
    .filter((each) => { const box = each.getBoundingClientRect();
      return box.width && (box.left < -0.5 || box.right > root.clientWidth + 0.5); });
  const overlaps = [], charts = [...page.querySelectorAll("svg")].filter(shown);
  for (const chart of charts) {
    const frameBox = chart.getBoundingClientRect();
    const texts = [...chart.querySelectorAll("text")].map((each) => [each, each.getBoundingClientRect()]);
    texts.forEach(([one, a], place) => {
      if (a.left < frameBox.left - 0.5 || a.right > frameBox.right + 0.5 || a.bottom > frameBox.bottom + 0.5) {
        overlaps.push(one.textContent + " leaves its picture");
      }
      texts.slice(place + 1).forEach(([other, b]) => {
        const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
        const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        if (wide > 1 && high > 3) { overlaps.push(one.textContent + " and " + other.textContent); }
      });
    });
  }
  const named = (each) => (each.getAttribute("aria-labelledby") || "").split(" ")
    .map((id) => (page.getElementById(id) || {}).textContent || "").join(" ");
  const nameless = [...page.querySelectorAll("a, summary")].filter((each) => !each.textContent.trim())
    .concat(charts.filter((each) => !named(each).trim()));
  const least = Math.min(...charts.flatMap((chart) =>
    [...chart.querySelectorAll("text")].map((each) => each.getBoundingClientRect().height)));
  return {
    width: root.clientWidth, scrolls: root.scrollWidth > root.clientWidth, charts: charts.length, overlaps, least,
    outside: outside.map((each) => each.outerHTML.slice(0, 120)), nameless: nameless.map((each) => each.outerHTML.slice(0, 120)),
    ground: view.getComputedStyle(page.body).backgroundColor, scripts: page.scripts.length,
  };
}
window.addEventListener("load", () => {
  const found = [...document.querySelectorAll("iframe")].map(measure);
  document.getElementById("found").textContent = JSON.stringify({ found, errors });
});
"""


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page of two clusters, one of which has failed, with names as long as Kubernetes takes them."""
    store = tmp_path_factory.mktemp("report") / "store"
    good, bad = Life(store), Life(store, "staging")
    creation(good)
    creation(bad)
    failed_rollout(bad)
    bad.step(
        3700, 3760, "join", f"m-{'w' * 61}", votersBefore=3, votersAfter=4, voters=3, leader="m" * 63, endpoint=True
    )
    return page.page(
        [journal_runs.read(each.journal.entries(), "default", name) for each, name in ((good, "prod"), (bad, "s" * 63))]
    )


@pytest.mark.parametrize("scheme", sorted(SCHEMES))
def test_at_every_width(text: str, scheme: str, tmp_path: Path) -> None:
    browser = shutil.which("chromium")
    if browser is None:
        pytest.skip("no chromium: tests/tools/chromium.sh installs it where there is root and apt-get")
    frames = "".join(
        f'<iframe style="border:0;width:{width}px;height:900px" srcdoc="{html.escape(text)}"></iframe>'
        for width in WIDTHS
    )
    harness = tmp_path / "harness.html"
    colours = '<meta name="color-scheme" content="light dark">'
    harness.write_text(
        f'<!DOCTYPE html><meta charset="utf-8">{colours}{frames}<pre id="found"></pre><script>{_MEASURE}</script>'
    )
    options = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        f"--user-data-dir={tmp_path / 'profile'}",
        "--window-size=1400,1000",
    ]
    options.append(f"--blink-settings=preferredColorScheme={SCHEMES[scheme]}")
    command = [browser, *options, "--dump-dom", harness.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    said = re.search(r'<pre id="found">(.*?)</pre>', done.stdout, re.DOTALL)
    assert said and said.group(1), done.stderr[-2000:]
    result: dict[str, t.Any] = json.loads(html.unescape(said.group(1)))
    assert result["errors"] == []
    colour = (style.DARK if scheme == "dark" else style.LIGHT)["paper"]
    ground = f"rgb({', '.join(str(int(colour[place : place + 2], 16)) for place in (1, 3, 5))})"
    for found, width in zip(result["found"], WIDTHS):
        # A bar for scrolling may take some of it.
        assert width - 20 <= found["width"] <= width and found["ground"] == ground
        # Each run has one picture at each width.
        assert found["charts"] == 3 and found["scripts"] == 0
        faults = {key: found[key] for key in ("scrolls", "outside", "overlaps", "nameless") if found[key]}
        assert faults == {}, f"at {width}"
        assert found["least"] >= 10, "letters that can be read on a phone"
