# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Facts about a cluster and its machines that a provider role needs."""

from __future__ import annotations

import typing as t

from ..module_utils.common.values import now_rfc3339
from ..plugin_utils.base_classes.control_plane_action import ControlPlaneAction
from ..plugin_utils.calls.failure import ControlPlaneFailure
from ..plugin_utils.pki.ssh import ensure_ssh_key
from ..plugin_utils.providers.contract import endpoint_servers, machine_for_provider, machine_role, provider_role
from ..plugin_utils.records.machine_objects import stale_prepared


class ActionModule(ControlPlaneAction):
    """Action plugin of the module kubeadm.control_plane.infrastructure_info; see its documentation."""

    ONE_VIEW = True
    ARGUMENTS: t.ClassVar[dict[str, t.Any]] = {
        "providers": {"type": "dict", "required": True},
        "out_of_endpoint": {"type": "list", "elements": "str", "default": []},
    }

    def execute(self, arguments: dict[str, t.Any]) -> dict[str, t.Any]:
        """Return provider roles, infrastructure cluster, machines and the endpoint's servers."""
        # A provider is called with what is returned, and knows nothing of locks.
        self.check_lock(arguments)
        objects = self.open_objects(arguments)
        if objects.infrastructure_cluster is None:
            raise ControlPlaneFailure(
                f"the cluster {objects.namespace}/{objects.name} has no infrastructure cluster in the store; nothing was done. "
                "Run reconcile with its manifest."
            )
        public_key = ""
        if not self.check_mode:
            if objects.ssh_private_key() is None:
                self.note(f"make the SSH key for machines (Secret {objects.name}-ssh)")
            public_key = ensure_ssh_key(objects.store, objects.cluster, objects.control_plane, now_rfc3339())
        machines = [machine_for_provider(each, None) for each in objects.unowned_machines()]
        names = {each["name"]: each["name"] for each in machines}
        # Those of another provider than the control plane's are asked for by their own steps.
        own_kind = objects.template_reference().get("kind", "")
        for machine in [*objects.machines, *objects.workers]:
            infrastructure = objects.infrastructure_machines.get(machine["metadata"]["name"])
            if infrastructure is not None and (
                machine not in objects.workers or f"{infrastructure['kind']}Template" == own_kind
            ):
                machines.append(machine_for_provider(infrastructure, machine))
                names[infrastructure["metadata"]["name"]] = machine["metadata"]["name"]
        return {
            "changed": False,
            "cluster_role": provider_role(objects.infrastructure_cluster["kind"], arguments["providers"]),
            "machine_role": provider_role(objects.template_reference().get("kind", ""), arguments["providers"])
            if objects.control_plane
            else provider_role(objects.infrastructure_cluster["kind"], arguments["providers"]),
            "infrastructure_cluster": {
                "cluster": {
                    "name": objects.name,
                    "namespace": objects.namespace,
                    "controlPlaneEndpoint": objects.endpoint() or {},
                },
                "object": objects.infrastructure_cluster,
            },
            "machines": machines,
            "machine_roles": {each["name"]: machine_role(each["object"], arguments["providers"]) for each in machines},
            "machine_names": names,
            "stale": [machine_for_provider(each, None) for each in stale_prepared(objects)],
            "endpoint_servers": [
                each for each in endpoint_servers(objects) if each["name"] not in arguments["out_of_endpoint"]
            ],
            "ssh_public_key": public_key,
        }
