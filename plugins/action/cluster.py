# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Application of a cluster's manifest to the store; deletion of a cluster."""

from __future__ import annotations

import typing as t

from ..plugin_utils.reconcile.applying import MANIFEST_SPEC, ApplyingAction


class ActionModule(ApplyingAction):
    """Action plugin of the module kubeadm.control_plane.cluster; see its documentation."""

    ARGUMENTS: t.ClassVar[dict[str, t.Any]] = {
        "state": {"type": "str", "default": "present", "choices": ["present", "absent"]},
        **MANIFEST_SPEC,
        "infrastructure_deleted": {"type": "bool", "default": False},
    }

    def execute(self, arguments: dict[str, t.Any]) -> dict[str, t.Any]:
        """Apply the manifest, mark the cluster for deletion, or drop its objects."""
        return self.apply(arguments)
