# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An Action that is carried out in a store of the test's own."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from operator_cases import Make, Walk, begun, executions

Object = dict[str, t.Any]


@pytest.fixture
def walk(tmp_path: Path) -> Make:
    """Begin an Action."""
    where = executions(tmp_path)

    def make(data: Object, fails: t.Optional[dict[str, int]] = None, cluster: t.Any = None) -> Walk:
        return Walk(where, begun(where, data, cluster), fails)

    return make
