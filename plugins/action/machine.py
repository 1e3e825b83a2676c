# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Objects of one control plane machine: creation, and mark for deletion."""

from __future__ import annotations

import functools
import typing as t

from ..module_utils.common.violations import ManifestError
from ..plugin_utils.base_classes.control_plane_action import ControlPlaneAction
from ..plugin_utils.calls.failure import ControlPlaneFailure
from ..plugin_utils.objects.instance_data.machine_configuration import machine_configuration
from ..plugin_utils.providers.contract import is_provisioned, machine_for_provider
from ..plugin_utils.records import machine_objects
from ..plugin_utils.records.cluster_objects import MACHINE, ClusterObjects, Object
from ..plugin_utils.records.secret_values import secret_value


class ActionModule(ControlPlaneAction):
    """Action plugin of the module kubeadm.control_plane.machine; see its documentation."""

    ARGUMENTS: t.ClassVar[dict[str, t.Any]] = {
        "state": {"type": "str", "default": "present", "choices": ["present", "absent"]},
        "name": {"type": "str"},
        "kind": {"type": "str", "choices": ["init", "join"]},
        "failure_domain": {"type": "str", "default": ""},
        "prepare": {"type": "list", "elements": "str", "default": []},
        "prepare_names": {"type": "list", "elements": "str", "default": []},
        "remediation": {
            "type": "dict",
            "options": {
                "machine": {"type": "str", "required": True},
                "timestamp": {"type": "str", "required": True},
                "retryCount": {"type": "int", "required": True},
            },
        },
    }

    def execute(self, arguments: dict[str, t.Any]) -> dict[str, t.Any]:
        """Create a Machine with its objects, or mark it for deletion.

        Its objects are its InfraMachine and its KubeadmConfig.
        """
        store = self.open_store(arguments)
        objects = self.open_objects(arguments, store)
        if arguments["state"] == "absent":
            return self._absent(objects, arguments)
        before = _names(objects)
        if self.check_mode:
            known = arguments["name"]
            changed = not known or objects.machine(known) is None
            after = sorted({*before, known or "a new one"})
            return {"changed": changed, **_difference(before, after)}
        done = self._present(objects, arguments)
        return {**done, **_difference(before, _names(objects))}

    @staticmethod
    def _absent(objects: ClusterObjects, arguments: dict[str, t.Any]) -> dict[str, t.Any]:
        name = arguments["name"]
        if not name:
            raise ControlPlaneFailure("state=absent needs the machine's name; nothing was done.")
        machine = objects.machine(name)
        if machine is None:
            return {"changed": False, "msg": f"there is no machine {name}"}
        if machine["metadata"].get("deletionTimestamp"):
            return {"changed": False, "msg": f"machine {name} is marked for deletion already"}
        # Recorded before the machine is marked: a run that ends in between neither forgets the try nor counts it twice.
        if arguments["remediation"]:
            machine_objects.record_remediation(objects, arguments["remediation"])
        objects.store.delete(MACHINE, objects.namespace, name)
        before = _names(objects)
        after = [each if each != name else f"{name} (marked for deletion)" for each in before]
        return {"changed": True, "msg": f"machine {name} is marked for deletion", **_difference(before, after)}

    def _present(self, objects: ClusterObjects, arguments: dict[str, t.Any]) -> dict[str, t.Any]:
        if objects.control_plane is None or objects.machine_template is None:
            raise ControlPlaneFailure(
                f"the cluster {objects.namespace}/{objects.name} has no KubeadmControlPlane or no machine template in the store; "
                "no machine was made. Run reconcile with the cluster's manifest."
            )
        before = len(objects.machines)
        kind = arguments["kind"] or ("join" if objects.all_machines else "init")
        name = machine_objects.create_machine(objects, kind, arguments["name"], arguments["failure_domain"])
        self.display.send("machine", name=name)
        prepared = self._prepare(objects, arguments["prepare"], arguments["prepare_names"])
        infrastructure = objects.infrastructure_machines[name]
        return {
            "changed": len(objects.machines) > before,
            "name": name,
            # What it has not recorded the provider is asked again, before each try.
            "provisioned": is_provisioned(infrastructure) and self._is_complete(objects, name),
            "infrastructure_machine": machine_for_provider(infrastructure, objects.machine(name)),
            "prepared": prepared,
        }

    @staticmethod
    def _is_complete(objects: ClusterObjects, name: str) -> bool:
        """Return whether instance data fills in all of a machine's templates.

        Those in Secrets, too.
        """
        machine = objects.machine(name) or {"metadata": {"name": name}}
        resolve_secret = functools.partial(secret_value, objects.store, objects.namespace)
        config, infrastructure = objects.kubeadm_configs[name], objects.infrastructure_machines[name]
        version = str(t.cast(Object, objects.control_plane)["spec"]["version"])
        try:
            machine_configuration(config, machine, infrastructure, resolve_secret, version)
        except (ManifestError, ControlPlaneFailure):
            # The bootstrap says what is wrong; a provider may have the value by then.
            return False
        return True

    @staticmethod
    def _prepare(
        objects: ClusterObjects, failure_domains: list[str], fixed_names: t.Sequence[str]
    ) -> list[dict[str, t.Any]]:
        existing = objects.prepared_machines()
        prepared = []
        for index, failure_domain in enumerate(failure_domains):
            name = fixed_names[index] if index < len(fixed_names) else None
            match = next((each for each in existing if _usable(objects, each, failure_domain, name)), None)
            if match is not None:
                existing.remove(match)
            else:
                match = machine_objects.create_infrastructure_machine(
                    objects, name or machine_objects.new_name(objects), failure_domain
                )
            if not is_provisioned(match):
                prepared.append(machine_for_provider(match, None))
        return prepared


def _names(objects: ClusterObjects) -> list[str]:
    return sorted(str(each["metadata"]["name"]) for each in objects.machines)


def _difference(before: list[str], after: list[str]) -> dict[str, t.Any]:
    return {"diff": {"before": {"machines": before}, "after": {"machines": after}}} if before != after else {}


def _usable(objects: ClusterObjects, infrastructure: Object, failure_domain: str, name: t.Optional[str]) -> bool:
    if name is not None:
        return bool(infrastructure["metadata"]["name"] == name)
    return machine_objects.prepared_matches(objects, infrastructure, failure_domain)
