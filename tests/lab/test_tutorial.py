# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""docs/tutorial.md, typed as it stands: every command works, and prints what the page says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typed_pages import steps, type_in

pytestmark = pytest.mark.full

PAGE = Path(__file__).parents[2] / "docs" / "tutorial.md"
# Every name of the tests' machines begins so.
NAME = "lab-first"


def _renamed(text: str) -> str:
    return re.sub(r"\bfirst\b", NAME, text)


def test_the_tutorial(tmp_path: Path) -> None:
    for commands, shown in steps(PAGE):
        type_in(tmp_path, _renamed(commands), [_renamed(line) for line in shown])
    assert list((tmp_path / "store" / "default").glob("machine.*/*")) == []
