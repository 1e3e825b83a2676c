# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page of faults names tests: each of them must exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
PAGE = TESTS.parent / "docs" / "faults.md"
SHORT = dict(re.findall(r"`([A-Z])` is\s+`([a-z_/]+)`", PAGE.read_text()))
NAMED = sorted(set(re.findall(r"`([\w/]+\.py)::(test_\w+)`", PAGE.read_text())))


def test_the_page_names_tests() -> None:
    assert len(SHORT) == 7 and len(NAMED) > 60


@pytest.mark.parametrize(("file", "name"), NAMED, ids=lambda each: each)
def test_what_is_named_exists(file: str, name: str) -> None:
    """In the file that it is said to be in."""
    first, _slash, rest = file.partition("/")
    path = TESTS / SHORT.get(first, first) / rest
    assert re.search(rf"^\s*def {name}\(", path.read_text(), re.MULTILINE), f"{path} has no {name}"


def test_no_number_twice() -> None:
    numbers = [int(each) for each in re.findall(r"^\| (\d+) \|", PAGE.read_text(), re.MULTILINE)]
    assert len(numbers) == len(set(numbers)) and len(numbers) == 46
