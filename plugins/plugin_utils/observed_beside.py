# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an observation tells beside parse.py's: an external etcd, and the flags of static pods."""

from __future__ import annotations

import typing as t

from ansible_collections.kubeadm.control_plane.plugins.module_utils.workload import static_pods
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.cluster_objects import ClusterObjects, Object

_MAX_TEXT = 4096


def facts(raw: t.Any) -> Object:
    """Return ``etcd`` (only where it is external: ``{reachable, message}``) and ``staticPodFlags`` of a raw observation."""
    observation = raw if isinstance(raw, dict) else {}
    objects = observation.get("objects")
    found: Object = {
        "staticPodFlags": static_pods.read(objects.get("staticPodFlags")) if isinstance(objects, dict) else []
    }
    external = observation.get("externalEtcd")
    if isinstance(external, dict):
        # Without a list of members: whose they are and how many may fail is not this control plane's business.
        message = external.get("message")
        found["etcd"] = {
            "reachable": external.get("reachable") is True,
            "message": message[:_MAX_TEXT] if isinstance(message, str) else "",
        }
    return found


def drift(objects: ClusterObjects, pods: t.Optional[t.Sequence[Object]]) -> list[Object]:
    """Return by which flags each machine's static pods differ from what the machine was made from (its KubeadmConfig)."""
    found = []
    for machine in objects.machines:
        name = str(machine["metadata"]["name"])
        node = ((machine.get("status") or {}).get("nodeRef") or {}).get("name") or name
        spec = (objects.kubeadm_configs.get(name) or {}).get("spec")
        if isinstance(spec, dict):
            own = [each for each in pods or () if each["node"] == node]
            found += static_pods.drift(own, spec.get("clusterConfiguration") or {})
    return found
