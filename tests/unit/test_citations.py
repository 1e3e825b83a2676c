# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What comments cite is in the house: each page exists, and each text that is quoted from it stands there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CITATION = re.compile(r'\b(docs/[\w/]+\.md)(?:, "([^"\n]+)")?')
# Books that were beside the house while it was built.
ELSEWHERE = re.compile(
    r"(kcp-behaviour|peers|local-machines|DESIGN|ansible-collections)\.md|(?<!/)\bkubeadm\.md\b|\bseeds? 00\d\b", re.I
)
FILES = sorted(
    file
    for folder in ("plugins", "roles", "playbooks", "tests", "extensions", "meta")
    for file in (ROOT / folder).rglob("*")
    if file.suffix in (".py", ".yml", ".yaml", ".sh", ".j2") and file != Path(__file__).resolve()
)
CITED = sorted({match for file in FILES for match in CITATION.findall(file.read_text(encoding="utf-8"))})


def test_there_are_citations() -> None:
    assert len(CITED) > 100


@pytest.mark.parametrize(("page", "text"), CITED)
def test_what_is_cited_is_there(page: str, text: str) -> None:
    path = ROOT / page
    assert path.is_file(), f"{page} is cited, and there is no such page"
    assert text in path.read_text(encoding="utf-8"), f'{page} does not say "{text}"'


def test_nothing_is_cited_that_is_not_in_the_house() -> None:
    pages = [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    found = [
        f"{file.relative_to(ROOT)}: {match.group()}"
        for file in (*FILES, *pages)
        for match in ELSEWHERE.finditer(file.read_text(encoding="utf-8"))
        if not (file.suffix == ".md" and match.group() == "kubeadm.md")
    ]
    assert found == []
