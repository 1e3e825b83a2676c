# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from pathlib import Path

import pytest
from stored_manifest import Kept


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    """A store that holds the example."""
    found = Kept(tmp_path)
    found.apply()
    return found
