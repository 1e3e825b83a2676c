# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Record of provider-made infrastructure on the provider's own objects (docs/provider_contract.md)."""

from __future__ import annotations

import typing as t

from ..plugin_utils.base_classes.control_plane_action import ControlPlaneAction
from ..plugin_utils.calls import recorded_connection
from ..plugin_utils.calls.failure import ControlPlaneFailure
from ..plugin_utils.objects.convert import failure_domains
from ..plugin_utils.objects.instance_data import machine_data
from ..plugin_utils.objects.validate import limits
from ..plugin_utils.records.cluster_objects import (
    CLUSTER,
    MACHINE,
    ClusterObjects,
    Object,
    follow_infrastructure,
    follow_provisioned,
    is_failure_domain,
)
from ..plugin_utils.store.base import kind_ref_of


class ActionModule(ControlPlaneAction):
    """Action plugin of the module kubeadm.control_plane.infrastructure_status; see its documentation."""

    ONE_VIEW = True
    ARGUMENTS: t.ClassVar[dict[str, t.Any]] = {
        "kind": {"type": "str", "required": True},
        "name": {"type": "str", "required": True},
        "spec": {"type": "dict", "default": {}},
        "status": {"type": "dict", "default": {}},
    }

    def execute(self, arguments: dict[str, t.Any]) -> dict[str, t.Any]:
        """Merge the given spec and status into the object and its owner.

        The owner is the Cluster or the Machine that refers to it.
        """
        objects = self.open_objects(arguments)
        current = self._object(objects, arguments["kind"], arguments["name"])
        self._check_connection(arguments)
        self._check_instance_data(arguments)
        self._check_failure_domain(arguments)
        if self.check_mode:
            return {"changed": False}

        def record(stored: Object) -> None:
            stored["spec"] = {**stored.get("spec", {}), **arguments["spec"]}
            stored["status"] = {**stored.get("status", {}), **arguments["status"]}

        stored = objects.store.modify(kind_ref_of(current), objects.namespace, arguments["name"], record)
        changed = stored != current
        owner = self._owner(objects, current)
        if owner is not None:
            changed |= self._follow_machine(objects, owner, stored)
        elif arguments["kind"] == objects.cluster.get("spec", {}).get("infrastructureRef", {}).get("kind"):
            changed |= self._follow_cluster(objects, stored)
            endpoint = stored["spec"].get("controlPlaneEndpoint") or {}
            if objects.endpoint() is None and endpoint.get("host"):
                self.note(f"record the control plane endpoint {endpoint['host']}")
        return {"changed": changed}

    @staticmethod
    def _check_connection(arguments: dict[str, t.Any]) -> None:
        connection = arguments["status"].get("connection")
        problems = recorded_connection.problems(connection) if connection else []
        if problems:
            raise ControlPlaneFailure(
                f"status.connection of {arguments['kind']} {arguments['name']} can't be used: {'; '.join(problems)}. Nothing was recorded. "
                "A provider records host, port, user and hostKeys as docs/provider_contract.md says, or inventoryHost alone."
            )

    @staticmethod
    def _check_instance_data(arguments: dict[str, t.Any]) -> None:
        problems = machine_data.record_problems(arguments["status"].get("instanceData") or {})
        if problems:
            raise ControlPlaneFailure(
                f"status.instanceData of {arguments['kind']} {arguments['name']} can't be used: {'; '.join(problems)}. Nothing was recorded. "
                "It is put into files, commands and flags of the machine: a provider records it as docs/provider_contract.md says."
            )

    @staticmethod
    def _check_failure_domain(arguments: dict[str, t.Any]) -> None:
        domain = arguments["status"].get("failureDomain")
        if domain is not None and not is_failure_domain(domain):
            raise ControlPlaneFailure(
                f"status.failureDomain of {arguments['kind']} {arguments['name']} can't be used: it is no text of at most {limits.SHORT.most} characters. "
                "Nothing was recorded. It becomes the Machine's status.failureDomain: a provider records it as docs/provider_contract.md says."
            )

    @staticmethod
    def _object(objects: ClusterObjects, kind: str, name: str) -> Object:
        candidates = [*objects.infrastructure_machines.values()]
        if objects.infrastructure_cluster is not None:
            candidates.append(objects.infrastructure_cluster)
        for each in candidates:
            if each["kind"] == kind and each["metadata"]["name"] == name:
                return each
        raise ControlPlaneFailure(
            f"the store has no {kind} {objects.namespace}/{name} that belongs to the cluster {objects.name}; nothing was recorded. "
            "Give the kind and name of an object that the provider was handed: it records results for these alone."
        )

    @staticmethod
    def _owner(objects: ClusterObjects, infrastructure: Object) -> t.Optional[Object]:
        """Return the Machine of an infrastructure machine, if any.

        One that 0.9.0 made again has its Machine's name, whatever the Machine's reference says.
        """
        for each in (*objects.machines, *objects.workers):
            kind = each["spec"]["infrastructureRef"]["kind"]
            if kind == infrastructure["kind"] and infrastructure is objects.infrastructure_machines.get(
                each["metadata"]["name"]
            ):
                return each
        return None

    @staticmethod
    def _follow_machine(objects: ClusterObjects, machine: Object, infrastructure: Object) -> bool:
        def follow(stored: Object) -> None:
            follow_infrastructure(stored, infrastructure)

        return objects.store.modify(MACHINE, objects.namespace, machine["metadata"]["name"], follow) != machine

    @staticmethod
    def _follow_cluster(objects: ClusterObjects, infrastructure: Object) -> bool:
        def follow(stored: Object) -> None:
            status = stored.setdefault("status", {})
            endpoint = infrastructure["spec"].get("controlPlaneEndpoint")
            if endpoint and endpoint.get("host") and not stored["spec"].get("controlPlaneEndpoint", {}).get("host"):
                stored["spec"]["controlPlaneEndpoint"] = {"host": endpoint["host"], "port": int(endpoint["port"])}
            follow_provisioned(status, infrastructure["status"])
            recorded = infrastructure["status"].get("failureDomains")
            domains = failure_domains.of_contract(recorded)
            if domains:
                status["failureDomains"] = domains
            elif "failureDomains" in infrastructure["status"] and not recorded:
                # The provider knows of none any more: no machine may be placed in what is gone.
                status.pop("failureDomains", None)

        return objects.store.modify(CLUSTER, objects.namespace, objects.name, follow) != objects.cluster
