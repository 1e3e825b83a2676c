# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The names that docs/reference/decision.md explains."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).parents[2].joinpath("docs", "reference", "decision.md").read_text(encoding="utf-8")


def table(title: str) -> set[str]:
    """Return the names in the first column of the table under that title."""
    section = PAGE.partition(f"## {title}\n")[2].partition("\n## ")[0]
    first = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    return {name for cell in first for name in re.findall(r"`([A-Za-z]+)`", cell)}


def checks() -> set[str]:
    """Return the names of the preflight checks."""
    section = PAGE.partition("## Preflight checks\n")[2].partition("\n## ")[0]
    return set(re.findall(r"`([A-Z][A-Za-z]+)`", section))
