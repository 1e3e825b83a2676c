# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pool of hosts behind a machine template: names, failure domains, claims.

The claims are those of the store.
"""

from __future__ import annotations

import typing as t

from ..plugin_utils.base_classes.control_plane_action import ControlPlaneAction
from ..plugin_utils.calls.failure import ControlPlaneFailure
from ..plugin_utils.providers import inventory_pool
from ..plugin_utils.providers.inventory_pool import PoolError


class ActionModule(ControlPlaneAction):
    """Action plugin of the module kubeadm.control_plane.inventory_pool_info; see its documentation."""

    ARGUMENTS: t.ClassVar[dict[str, t.Any]] = {}

    def execute(self, arguments: dict[str, t.Any]) -> dict[str, t.Any]:
        """Return the pool of the cluster's machine template; no host is asked."""
        objects = self.open_objects(arguments)
        cluster = objects.infrastructure_cluster or {}
        declared = (cluster.get("spec") or {}).get("failureDomains") or []
        endpoint = (cluster.get("spec") or {}).get("controlPlaneEndpoint") or objects.endpoint() or {}
        spec = ((objects.machine_template or {}).get("spec") or {}).get("template", {}).get("spec") or {}
        if not spec.get("group"):
            # The machines are another provider's; only the infrastructure cluster is this one's.
            return {"changed": False, "endpoint": endpoint, "hosts": [], "failure_domains": declared}
        try:
            groups, hostvars = self._task_vars["groups"], self._task_vars["hostvars"]
            pool = inventory_pool.read_pool(spec, groups, hostvars, self.pool_groups())
        except PoolError as error:
            raise ControlPlaneFailure(f"cluster {objects.namespace}/{objects.name}: {error}") from error
        held = inventory_pool.taken(objects.store, inventory_pool.no_machine(objects.namespace))
        found = [{"name": name, "controlPlane": True} for name in pool.failure_domains]
        hosts = [
            {"name": host, "failure_domain": pool.domains.get(host, ""), "claimed_by": held.get(host, "")}
            for host in pool.hosts
        ]
        return {"changed": False, "endpoint": endpoint, "hosts": hosts, "failure_domains": declared or found}
