# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Additional observed facts: external etcd, static pods' flags, kubeadm-config, expired certificates.

Besides what parse.py reads.
"""

from __future__ import annotations

import typing as t

from ...module_utils.common.values import parse_time
from ...module_utils.common.violations import ManifestError
from ...module_utils.workload_api import static_pod_flags
from ..objects import kinds
from ..records.cluster_objects import ClusterObjects, Object
from ..records.machine_objects import node_name
from ..workload import kubeadm_config_map
from ..workload.desired_state import wanted_kubeadm_config_map
from ..workload.writes import WorkloadError

_MAX_TEXT = 4096


def facts(raw: t.Any, wanted_endpoints: t.Sequence[str] = ()) -> Object:
    """Return external etcd and static pod flags of a raw observation.

    ``etcd`` (only where it is external: ``{reachable, message}``) and ``staticPodFlags``.

    ``wanted_endpoints``: those of an external etcd in the spec. Faults of other endpoints, which a machine still has
    that was made before they were removed, hold up nothing: else an endpoint that is gone for good could never be left.
    """
    observation = raw if isinstance(raw, dict) else {}
    objects = observation.get("objects")
    found: Object = {
        "staticPodFlags": static_pod_flags.read(objects.get("staticPodFlags")) if isinstance(objects, dict) else []
    }
    external = observation.get("externalEtcd")
    if isinstance(external, dict):
        # Without a list of members: whose they are and how many may fail is not this control plane's business.
        message = external.get("message")
        text = message[:_MAX_TEXT] if isinstance(message, str) else ""
        reachable = external.get("reachable") is True
        if not reachable and _left_behind(external.get("endpoints"), wanted_endpoints):
            reachable, text = True, ""
        found["etcd"] = {"reachable": reachable, "message": text}
    return found


def wanted_endpoints(objects: ClusterObjects) -> list[str]:
    """Return the spec's external etcd endpoints, [] without any."""
    spec = ((objects.control_plane or {}).get("spec") or {}).get("kubeadmConfigSpec") or {}
    external = ((spec.get("clusterConfiguration") or {}).get("etcd") or {}).get("external") or {}
    return [str(each) for each in external.get("endpoints") or ()]


def _left_behind(endpoints: t.Any, wanted: t.Sequence[str]) -> bool:
    """Return whether only removed etcd endpoints fail and the spec's serve."""
    asked = {
        str(each.get("url")): each.get("healthy") is True
        for each in (endpoints if isinstance(endpoints, list) else [])
        if isinstance(each, dict)
    }
    mine = [healthy for url, healthy in asked.items() if url in wanted]
    return bool(mine) and all(mine) and any(not healthy for url, healthy in asked.items() if url not in wanted)


def drift(objects: ClusterObjects, pods: t.Optional[t.Sequence[Object]]) -> list[Object]:
    """Return each machine's static pod flags that differ from its KubeadmConfig.

    The KubeadmConfig is what the machine was made from.
    """
    found = []
    for machine in objects.all_machines:
        name = str(machine["metadata"]["name"])
        node = node_name(objects, machine)
        spec = (objects.kubeadm_configs.get(name) or {}).get("spec")
        if isinstance(spec, dict):
            own = [each for each in pods or () if each["node"] == node]
            found += static_pod_flags.drift(own, spec.get("clusterConfiguration") or {})
    return found


def configuration_as_wanted(objects: ClusterObjects, text: t.Optional[str]) -> t.Optional[bool]:
    """Return whether kubeadm-config says what the KubeadmControlPlane says.

    None where either is not known. False also where it can't be read: why not is said by the step that writes it.
    """
    control_plane = objects.control_plane or {}
    if not text or not (control_plane.get("spec") or {}).get("version"):
        return None
    found: Object = {"data": {kubeadm_config_map.CLUSTER_CONFIGURATION: text}}
    try:
        wanted = wanted_kubeadm_config_map(objects.cluster, control_plane, objects.kubeadm_configs.values())
        return not kubeadm_config_map.plan({kubeadm_config_map.PATH: found}, wanted).writes
    except (WorkloadError, ManifestError, ValueError):
        return False


def perhaps_ended(objects: ClusterObjects, workload: Object, now: str) -> list[str]:
    """Return the bootstrapped machines whose certificates may have expired.

    By what is recorded, or by what their etcd members answer.

    Only the machine itself knows: they may have been renewed since they were recorded.
    """
    etcd = workload.get("etcd") or {}
    statuses = etcd.get("statuses") or {}
    refused = {
        str(each.get("name"))
        for each in etcd.get("members") or ()
        if "certificate" in str((statuses.get(each.get("id")) or {}).get("message") or "").lower()
    }
    found = []
    for machine in objects.bootstrapped_machines():
        name = str(machine["metadata"]["name"])
        config = objects.kubeadm_configs.get(name) or {}
        recorded = (config.get("metadata", {}).get("annotations") or {}).get(kinds.ANNOTATION_CERTIFICATES_EXPIRY)
        end, moment = parse_time(recorded), parse_time(now)
        if node_name(objects, machine) in refused or (end is not None and moment is not None and end <= moment):
            found.append(name)
    return found
