# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Checks the links of the built documentation site, and that no page loads anything from another address.

Usage: links.py HTML. Prints each broken link with its page and exits with 1 if there is one.
"""

from __future__ import annotations

import re
import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

LOADED = {"img": "src", "script": "src", "link": "href", "iframe": "src", "source": "src"}


class Page(HTMLParser):
    """Anchors and links of one page."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: set[str] = set()
        self.loaded: set[str] = set()
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep what a tag says of anchors and links."""
        values = {name: value for name, value in attrs if value}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and "href" in values:
            self.links.add(values["href"])
        if values.get(LOADED.get(tag, "")):
            self.loaded.add(values[LOADED[tag]])


def problems(root: Path) -> list[str]:
    """Return what is wrong with the links of all pages, each with its page."""
    page = cache(Page)
    found = []
    for file in sorted(root.rglob("*.html")):
        name = file.relative_to(root)
        for link in sorted(page(file).loaded | page(file).links):
            if re.match(r"([a-z]+:|//)", link):
                if link in page(file).loaded and not link.startswith("data:"):
                    found.append(f"{name}: loads {link}")
                continue
            path, _unused, anchor = unquote(link).partition("#")
            target = (file.parent / path.partition("?")[0]).resolve() if path else file
            if not target.is_file():
                found.append(f"{name}: {link}: no such file")
            elif anchor and target.suffix == ".html" and anchor not in page(target).anchors:
                found.append(f"{name}: {link}: no such anchor")
    return found


if __name__ == "__main__":
    broken = problems(Path(sys.argv[1]).resolve())
    print("\n".join(broken) or "all links of the site lead somewhere")
    sys.exit(bool(broken))
