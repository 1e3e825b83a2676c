# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""ConfigMap kube-system/kubeadm-config, edited through the hub of kubeadm's API versions."""

from __future__ import annotations

import functools
import typing as t

from ..module_utils.workload_api.compare_and_swap import Read
from ..plugin_utils.base_classes.workload_action import WORKLOAD_SPEC, Planner, WorkloadAction
from ..plugin_utils.calls.failure import ControlPlaneFailure
from ..plugin_utils.records.cluster_objects import ClusterObjects
from ..plugin_utils.workload import desired_state, kubeadm_config_map

_WANTED: dict[str, t.Any] = {
    "kubernetes_version": {"type": "str"},
    "image_repository": {"type": "str"},
    "feature_gates": {"type": "dict"},
    "api_server": {"type": "dict"},
    "controller_manager": {"type": "dict"},
    "scheduler": {"type": "dict"},
    "etcd": {"type": "dict"},
    "dns": {"type": "dict"},
    "certificate_validity_period_days": {"type": "int"},
    "encryption_algorithm": {"type": "str"},
}
_API_ENDPOINTS: dict[str, t.Any] = {
    "type": "list",
    "elements": "dict",
    "default": [],
    "options": {
        "name": {"type": "str", "required": True},
        "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        "advertise_address": {"type": "str"},
        "bind_port": {"type": "int", "default": 6443},
    },
}


class ActionModule(WorkloadAction):
    """Action plugin of the module kubeadm.control_plane.kubeadm_config_map; see its documentation."""

    ARGUMENTS: t.ClassVar[dict[str, t.Any]] = {**WORKLOAD_SPEC, **_WANTED, "api_endpoints": _API_ENDPOINTS}

    def work(
        self, arguments: dict[str, t.Any], objects: t.Optional[ClusterObjects]
    ) -> tuple[tuple[Read, ...], Planner]:
        """Return the reads and planner for kubeadm-config.

        With a cluster and nothing else, the desired state is its KubeadmControlPlane's; else what is given, and only
        that.
        """
        given = {name: arguments[name] for name in _WANTED if arguments[name] is not None}
        endpoints = tuple(_endpoint(each) for each in arguments["api_endpoints"])
        if objects is not None and objects.control_plane is not None and not given and not endpoints:
            wanted = desired_state.wanted_kubeadm_config_map(
                objects.cluster, objects.control_plane, objects.kubeadm_configs.values()
            )
        else:
            _check_gates(given.get("feature_gates") or {})
            wanted = kubeadm_config_map.Wanted(**given, api_endpoints=endpoints)
        return kubeadm_config_map.READS, functools.partial(kubeadm_config_map.plan, wanted=wanted)


def _check_gates(gates: t.Mapping[str, t.Any]) -> None:
    wrong = sorted(name for name, value in gates.items() if not isinstance(value, bool))
    if wrong:
        raise ControlPlaneFailure(
            f"feature_gates: {', '.join(wrong)} must be true or false; nothing was written. Give booleans."
        )


def _endpoint(given: t.Mapping[str, t.Any]) -> kubeadm_config_map.ApiEndpoint:
    if given["state"] == "absent":
        return kubeadm_config_map.ApiEndpoint(given["name"])
    if not given["advertise_address"]:
        raise ControlPlaneFailure(
            f"api_endpoints: {given['name']} is to be present and has no advertise_address; nothing was written. Give it."
        )
    return kubeadm_config_map.ApiEndpoint(given["name"], given["advertise_address"], given["bind_port"])
