# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A decision in short, for tests of what is done next."""

from __future__ import annotations

from typing import Any, Callable, Optional

from builders import Builder

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decide import decide

Change = Callable[[Builder], Any]


def step(builder: Builder) -> tuple[str, Optional[str]]:
    """The action, and the reason of what it is blocked on or else of the action."""
    decision = decide(builder.build())
    listed = decision["blockedOn"] or decision["reasons"]
    return decision["action"], listed[0]["reason"]


def changed(builder: Builder, change: Change) -> Builder:
    """The builder, after the change."""
    change(builder)
    return builder
