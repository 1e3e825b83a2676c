# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A file store of its own for every test."""

from __future__ import annotations

import pytest

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import FileStore


@pytest.fixture
def store(tmp_path):
    return FileStore(str(tmp_path / "store"), clock=lambda: "2026-01-02T03:04:05Z")
