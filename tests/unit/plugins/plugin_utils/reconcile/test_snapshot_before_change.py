# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which joins an etcd snapshot is kept before."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.reconcile import snapshot_before_change


@pytest.mark.parametrize(
    ("action", "before", "after", "first"),
    [
        ("join", 1, 2, True),
        ("join", 2, 3, False),
        ("join", 0, 1, False),
        ("join", 1, 1, False),
        ("initialize", 0, 1, False),
        ("remove", 1, 2, False),
    ],
)
def test_a_snapshot_is_kept_before_the_second_voter_joins(action: str, before: int, after: int, first: bool) -> None:
    quorum: dict[str, t.Any] = {"before": {"voters": before}, "after": {"voters": after}}
    assert snapshot_before_change.precedes_join({"action": action, "quorum": quorum}) is first


@pytest.mark.parametrize("action", ["join", "none", "wait"])
def test_external_etcd_has_no_voters_of_ours(action: str) -> None:
    assert not snapshot_before_change.precedes_join({"action": action, "quorum": None})
