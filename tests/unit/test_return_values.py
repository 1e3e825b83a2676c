# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What modules return reaches their callers as they return it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

MODULES = Path(__file__).resolve().parents[2] / "plugins" / "modules"
# Ansible takes such a value for a file of the module's, and puts that file's facts over values of these names.
FILES = {"path", "dest"}
FACTS = {"state", "size", "mode", "uid", "gid", "owner", "group", "secontext"}


def returned(path: Path) -> set[str]:
    """The names in a module's RETURN."""
    found = re.search(r'^RETURN = r"""\n(.*?)^"""', path.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    return set(yaml.safe_load(found.group(1)) or {}) if found else set()


@pytest.mark.parametrize("path", sorted(MODULES.glob("*.py")), ids=lambda path: path.stem)
def test_no_value_is_replaced_by_facts_of_a_file(path: Path) -> None:
    """A program that runs was taken for an interrupted one where its log was named ``path``: its ``state`` became ``file``."""
    names = returned(path)
    assert not (names & FILES and names & FACTS), f"{path.name} returns {sorted(names & (FILES | FACTS))}"
