# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is plain Python is tested with one version of ansible-core only."""

from __future__ import annotations

from pathlib import Path

import pytest

HERE = Path(__file__).parent
# Without those whose code or tests ask for anything of ansible-core.
PLAIN = ("crds", "decision", "etcd", "kubeadm", "management", "node", "objects", "operator", "pki", "workload")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark these folders' tests."""
    for item in items:
        if HERE in item.path.parents and item.path.relative_to(HERE).parts[0] in PLAIN:
            item.add_marker(pytest.mark.once)
