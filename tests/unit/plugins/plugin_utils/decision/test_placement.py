# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Failure domains for new machines (docs/reference/cluster_api.md, "Selection of a machine")."""

from __future__ import annotations

import pytest

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.rollout.placement import place, place_next


@pytest.mark.parametrize(
    ("domains", "machines", "chosen"),
    [
        ([], [("a", True)], None),
        (["a", "b"], [], "a"),
        (["b", "a"], [], "a"),
        (["a", "b"], [("a", True)], "b"),
        (["a", "b"], [("a", True), ("b", True)], "a"),
        (["a", "b"], [("a", False), ("b", True)], "a"),
        (["a", "b"], [("a", True), ("a", False), ("b", True)], "b"),
        (["a", "b"], [("a", False), ("a", False), ("b", True)], "a"),
        (["a", "b"], [("gone", True), ("", True)], "a"),
    ],
)
def test_place(domains: list[str], machines: list[tuple[str, bool]], chosen: object) -> None:
    assert place(domains, machines) == chosen


def test_the_next_machines_spread() -> None:
    assert place_next(["a", "b", "c"], [("b", True)], 4) == ["a", "c", "a", "b"]
    assert place_next([], [], 2) == ["", ""]
