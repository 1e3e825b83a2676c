# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Installation of CustomResourceDefinitions and roles: an API server becomes a store."""

from __future__ import annotations

import typing as t

import yaml

from ..plugin_utils.base_classes.control_plane_action import ControlPlaneAction
from ..plugin_utils.calls.failure import ControlPlaneFailure
from ..plugin_utils.management import installation
from ..plugin_utils.store import opening
from ..plugin_utils.store.base import plain
from ..plugin_utils.store.kubernetes.requests import KubernetesApi, Refused


class ActionModule(ControlPlaneAction):
    """Action plugin of the module kubeadm.control_plane.management_cluster; see its documentation."""

    COMMON_ARGUMENTS: t.ClassVar[dict[str, t.Any]] = {"store": opening.STORE_SPEC}
    ARGUMENTS: t.ClassVar[dict[str, t.Any]] = {
        "namespaces": {"type": "list", "elements": "str", "default": ["default"]},
        "runners": {
            "type": "list",
            "elements": "dict",
            "default": [],
            "options": {
                "kind": {"type": "str", "required": True, "choices": ["User", "Group", "ServiceAccount"]},
                "name": {"type": "str", "required": True},
                "namespace": {"type": "str"},
            },
        },
        "providers": {"type": "dict", "default": {}},
    }

    def execute(self, arguments: dict[str, t.Any]) -> dict[str, t.Any]:
        """Check everything, then create what is missing; check mode only checks."""
        store = arguments["store"]
        if not opening.is_kubernetes(store):
            raise ControlPlaneFailure(
                f"the store is of the type {store['type']}, which needs no installation; nothing was done. "
                "Give a store of type kubernetes: the API server that is to keep the clusters' objects."
            )
        api = KubernetesApi(opening.connection(store))
        # Ansible's texts are of a class of their own, which no YAML of a diff knows.
        wished = plain({key: arguments[key] for key in ("providers", "namespaces", "runners")})
        wish = installation.Wish(installation.kinds_for(wished["providers"]), wished["namespaces"], wished["runners"])
        try:
            changes = installation.plan(api, wish)
            for each in installation.namesakes(api, wish):
                self.display.warning(
                    f"{each} defines a kind of a registered provider's name and is left out of the runner's Role: it has no label of Cluster API's "
                    "contract, such as cluster.x-k8s.io/v1beta2. Where it is the provider's, label it and run this again (docs/provider_contract.md)."
                )
            if not self.check_mode:
                installation.carry_out(api, changes, lambda line: self.progress(api.host, line))
        except Refused as refused:
            if refused.status != 403:
                raise
            raise ControlPlaneFailure(
                f"{refused.what} ({refused.where}): {refused.why}. Definitions and roles are an administrator's to make (ClusterRole cluster-admin); "
                "runs need no more than the Role that is made here. What was made before that stays, and a second run continues from there."
            ) from refused
        result: dict[str, t.Any] = {
            "changed": bool(changes),
            "host": api.host,
            "changes": [f"{'create' if change.before is None else 'change'} {change.title}" for change in changes],
        }
        if self._task.diff:
            result["diff"] = [_diff(change) for change in changes]
        return result


def _diff(change: installation.Change) -> dict[str, str]:
    return {
        "before": yaml.safe_dump(change.before) if change.before is not None else "",
        "after": yaml.safe_dump(change.after),
        "before_header": change.title,
        "after_header": change.title,
    }
