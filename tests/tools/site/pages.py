# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Lays out the pages of the documentation site, from the installed artefact, for Sphinx.

Usage: pages.py INSTALLED SITE, where SITE has what antsibull-docs wrote of plugins and roles (SITE/collections).
The site has the folders of the artefact, so that a link between two pages is the same in both:

- index.md is the README, followed by the navigation: the parts of docs/index.md, in its order;
- docs/, CHANGELOG.md and CONTRIBUTING.md are copied;
- what antsibull-docs wrote is tidied;
- a file that a page links to and that is no page (a manifest, rules of Prometheus) gets a page that shows it, a folder one with its
  files, and a module's source stands for its documentation.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

FENCED = re.compile(r"^```.*?^```", re.M | re.S)
LINK = re.compile(r"(?<=\]\()([^()\s#]+)(?=(?:#[^()\s]*)?\))")
ADDRESS = re.compile(r"[a-z]+:")
PART = re.compile(r"^## (.+)$", re.M)
COLLECTION = "collections/kubeadm/control_plane"
ORPHAN = "---\norphan: true\n---\n\n"
COPIED = {".html", ".png", ".svg"}
# What antsibull-docs writes and this site shows otherwise. Furo has each page's contents at its side; the collection has no public repository
# yet (galaxy.yml), which an address that resolves to nothing says; a role without an entry point `main` has no description for its title.
OTHERWISE = (
    (re.compile(r"^\.\. contents::\n(?: +:.*\n)+", re.M), ""),
    (
        re.compile(
            r"^(?:Collection links\n~+\n\n)?\.\. ansible-links::\n\n(?: .*\n)*? +url: .*\.invalid/.*\n(?: .*\n)*", re.M
        ),
        "",
    ),
    (re.compile(r" --$", re.M), ""),
    (re.compile(r"^Kubeadm\.Control_Plane\n=+$", re.M), "Modules, roles, plugins\n======================="),
)
LANGUAGES = {".cfg": "ini", ".json": "json", ".py": "python", ".yaml": "yaml", ".yml": "yaml"}


def local_links(text: str) -> list[str]:
    """Return the paths that a page's links name, each once, without anchors and without addresses outside."""
    links = LINK.findall(FENCED.sub("", text))
    return list(dict.fromkeys(link for link in links if not ADDRESS.match(link)))


def contents(pages: Iterable[str], caption: str = "") -> str:
    """Return the directive that puts these pages into the navigation."""
    options = [":hidden:", *([f":caption: {caption}"] if caption else [])]
    return "\n".join(["", "```{toctree}", *options, "", *pages, "```", ""])


def navigation(index: str) -> Iterator[str]:
    """Yield a table of contents for each part of docs/index.md."""
    parts = PART.split(index)
    for title, text in zip(parts[1::2], parts[2::2]):
        pages = [f"docs/{path}" for path in local_links(text) if path.endswith(".md") and not path.startswith("..")]
        yield contents(pages, title)


def shown(file: Path) -> str:
    """Return a file that is no page, as a block of code."""
    return f"\n````{LANGUAGES.get(file.suffix, 'text')}\n{file.read_text(encoding='utf-8')}\n````\n"


class Site:
    """Pages of the site, laid out from an installed artefact."""

    def __init__(self, installed: Path, site: Path) -> None:
        self.installed = installed
        self.site = site
        self.written: set[str] = set()

    def page_of(self, path: str) -> str:
        """Return the page that shows what the artefact has at this path; write it unless it is a page already."""
        file = self.installed / path
        module = re.fullmatch(r"plugins/modules/(\w+)\.py", path)
        if module:
            return f"{COLLECTION}/{module[1]}_module.rst"
        if file.is_dir():
            return self.add_folder(path)
        if file.suffix == ".md":
            return path
        if file.suffix in COPIED:
            (self.site / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, self.site / path)
            return path
        page = f"{path}.md"
        self.write(page, f"{ORPHAN}# {file.name}\n{shown(file)}")
        return page

    def add_folder(self, path: str) -> str:
        """Write the page of a folder: its README, and every other file under its name. Return the page's path."""
        page, folder = f"{path}/index.md", self.installed / path
        if page in self.written:
            return page
        readme = folder / "README.md"
        text = readme.read_text(encoding="utf-8") if readme.exists() else f"# {folder.name}\n"
        for file in sorted(file for file in folder.rglob("*") if file.is_file() and file != readme):
            text += f"\n## {file.relative_to(folder)}\n{shown(file)}"
        self.write(page, ORPHAN + text)
        return page

    def write(self, page: str, text: str) -> None:
        """Write a page, with its links to what is no page led to the page that shows it."""
        if page in self.written:
            return
        self.written.add(page)
        folder = os.path.dirname(page)

        def led(match: re.Match[str]) -> str:
            if ADDRESS.match(match[0]):
                return match[0]
            target = os.path.normpath(os.path.join(folder, match[0]))
            return (
                os.path.relpath(self.page_of(target), folder or ".") if (self.installed / target).exists() else match[0]
            )

        # Links in blocks of code are text.
        parts = re.split(r"(^```.*?^```)", text, flags=re.M | re.S)
        text = "".join(part if part.startswith("```") else LINK.sub(led, part) for part in parts)
        target_file = self.site / page
        target_file.parent.mkdir(parents=True, exist_ok=True)
        target_file.write_text(text, encoding="utf-8")


def main(installed: Path, site: Path) -> None:
    """Write all pages."""
    whole = Site(installed, site)
    texts = {
        path.relative_to(installed).as_posix(): path.read_text(encoding="utf-8")
        for path in (installed / "docs").rglob("*.md")
    }
    decisions = "docs/decisions/index.md"
    texts[decisions] += contents(
        sorted(os.path.basename(path) for path in texts if path.startswith("docs/decisions/") and path != decisions)
    )
    for name in ("CHANGELOG.md", "CONTRIBUTING.md"):
        texts[name] = (installed / name).read_text(encoding="utf-8")
    readme = (installed / "README.md").read_text(encoding="utf-8")
    texts["index.md"] = "".join(
        (
            readme,
            contents(["docs/index.md"]),
            *navigation(texts["docs/index.md"]),
            contents([f"{COLLECTION}/index", "CONTRIBUTING.md", "CHANGELOG.md"], "Reference"),
        )
    )
    for page, text in texts.items():
        whole.write(page, text)
    for file in (site / "collections").rglob("*.rst"):
        text = file.read_text(encoding="utf-8")
        for pattern, replacement in OTHERWISE:
            text = pattern.sub(replacement, text)
        file.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
