# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Links between the pages of the documentation: each leads somewhere, and the index has every page."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FENCED = re.compile(r"^```.*?^```", re.M | re.S)
LINK = re.compile(r"\]\(([^()\s]+)\)")
HEADING = re.compile(r"^(#+) +(.+?) *$", re.M)
PAGES = sorted([*(ROOT / "docs").rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"])


def _anchors(page: Path) -> set[str]:
    """Return the anchors that a page's headings get, as GitHub makes them: lower case, "-" for a blank, no punctuation."""
    headings = HEADING.findall(FENCED.sub("", page.read_text(encoding="utf-8")))
    texts = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading) for _level, heading in headings)
    return {re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-") for text in texts}


def _links(page: Path) -> list[str]:
    return [
        link
        for link in LINK.findall(FENCED.sub("", page.read_text(encoding="utf-8")))
        if not link.startswith(("http:", "https:"))
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    for link in _links(page):
        path, _unused, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{link}: no such file"
        if anchor:
            assert anchor in _anchors(target), f"{link}: no such heading"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_headings_skip_no_level(page: Path) -> None:
    """`make docs` refuses a page in which they do."""
    levels = [len(level) for level, _text in HEADING.findall(FENCED.sub("", page.read_text(encoding="utf-8")))]
    assert [(before, level) for before, level in zip([0, *levels], levels) if level > before + 1] == []


def test_links_of_shipped_pages_lead_to_what_is_shipped() -> None:
    files = json.loads((ROOT / "FILES.json").read_text(encoding="utf-8"))["files"]
    shipped = {(ROOT / file["name"]).resolve() for file in files}
    pages = [page for page in shipped if page.suffix == ".md"]
    assert ROOT / "README.md" in pages
    assert [
        f"{page.relative_to(ROOT)}: {link}"
        for page in sorted(pages)
        for link in _links(page)
        if (page.parent / link.partition("#")[0]).resolve() not in {page, page.parent, *shipped}
    ] == []


def test_the_index_has_every_page() -> None:
    indexes = [ROOT / "docs/index.md", ROOT / "docs/decisions/index.md"]
    listed = {(index.parent / link.partition("#")[0]).resolve() for index in indexes for link in _links(index)}
    missing = [str(page.relative_to(ROOT)) for page in PAGES if (ROOT / "docs") in page.parents and page not in listed]
    assert missing == ["docs/index.md"]


def test_what_is_to_be_changed_is_where_the_page_says() -> None:
    text = (ROOT / "docs/development.md").read_text(encoding="utf-8")
    table = text[text.index("## Where to change what") : text.index("## Words")]
    named = re.findall(r"`([\w/.*]+(?:\.py|\.yml|/))`", table)
    assert len(named) > 20
    plugins = ROOT / "plugins"
    folders = (
        ROOT,
        plugins,
        plugins / "plugin_utils",
        plugins / "plugin_utils/operator",
        plugins / "plugin_utils/operator/upgrade",
    )
    assert [each for each in named if not any(list(folder.glob(each)) for folder in folders)] == []
