# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t

import pytest
from systemd import StandInSystemd


@pytest.fixture
def systemd() -> t.Iterator[StandInSystemd]:
    """Units that end with the test."""
    made = StandInSystemd()
    yield made
    made.end()
