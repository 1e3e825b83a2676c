# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What runs with every supported ansible-core, and what is plain Python and runs once."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from imports import reaches_ansible


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option for a further version of ansible-core."""
    parser.addoption(
        "--with-ansible-only",
        action="store_true",
        help="leave out the files that no version of ansible-core has to do with",
    )


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> t.Optional[bool]:
    """Leave such a file out, unread."""
    if not config.getoption("--with-ansible-only") or not collection_path.name.startswith("test_"):
        return None
    return None if collection_path.suffix != ".py" or reaches_ansible(collection_path) else True
