# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plan for the kubelets' ConfigMap and the right to read it (docs/reference/kubeadm.md, "Stored objects", "RBAC").

It holds their configuration, which every joining machine reads.

kubeadm of a new minor may look for another name. Only `kubeadm upgrade apply` makes that one, and a rollout that replaces machines
never runs it: so the old one is copied before the first new machine joins.
"""

from __future__ import annotations

import typing as t

from ...module_utils.common import kubernetes_facts
from ...module_utils.workload_api import compare_and_swap
from . import kubeadm_config_map, rbac
from .kubeadm_document import read
from .writes import Change, Objects, Plan, WorkloadError

CONFIG_MAPS = "/api/v1/namespaces/kube-system/configmaps"
_ROLES = f"{rbac.RBAC}/namespaces/kube-system/roles"
_BINDINGS = f"{rbac.RBAC}/namespaces/kube-system/rolebindings"
_KEY = "kubelet"


def reads(version: str) -> tuple[compare_and_swap.Read, ...]:
    """Return what to read for :func:`plan`.

    Raises ValueError where this is no version.
    """
    names = kubernetes_facts.kubelet_config_map_names(version)
    return (
        *kubeadm_config_map.READS,
        *(
            compare_and_swap.Read(f"{CONFIG_MAPS}/{name}", ("data", "metadata.labels", "metadata.annotations"))
            for name in names
        ),
        *(compare_and_swap.Read(f"{_ROLES}/kubeadm:{name}", rbac.ROLE_KEEP) for name in names),
        *(compare_and_swap.Read(f"{_BINDINGS}/kubeadm:{name}", rbac.BINDING_KEEP) for name in names),
    )


def plan(objects: Objects, version: str) -> Plan:
    """Return the plan for the kubelet configuration of machines of ``version``.

    The machines find it and may read it then.

    An existing ConfigMap of that name is left alone: it may have been edited, and kubeadm keeps such edits too.

    Raises:
        WorkloadError: there is no ConfigMap to copy, or a RoleBinding leads elsewhere.
        ValueError: ``version`` is no Kubernetes version.
    """
    name = kubernetes_facts.kubelet_config_map_name(version, _gates(objects))
    writes: list[compare_and_swap.Write] = []
    changes: list[Change] = []
    done: list[str] = []
    if objects.get(f"{CONFIG_MAPS}/{name}") is None:
        source, document = _copy(objects, version, name)
        writes.append(compare_and_swap.Write(CONFIG_MAPS, compare_and_swap.CREATE, document))
        changes.append(Change(f"ConfigMap kube-system/{name}", "", f"a copy of {source}\n"))
        done.append(f"ConfigMap {name} copied from {source}")
    role = f"kubeadm:{name}"
    rule = {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": [name], "verbs": ["get"]}
    groups = (rbac.NODES_GROUP, rbac.BOOTSTRAPPERS_GROUP)
    for words, (more, shown) in (
        (f"Role {role}", rbac.role_allows(objects.get(f"{_ROLES}/{role}"), _ROLES, role, rule, "kube-system")),
        (
            f"RoleBinding {role}",
            rbac.groups_bound(objects.get(f"{_BINDINGS}/{role}"), _BINDINGS, "kube-system", role, groups),
        ),
    ):
        writes += more
        changes += shown
        done += [f"{words} written"] if more else []
    message = "; ".join(done) or f"ConfigMap {name} exists and nodes may read it"
    return Plan(message, tuple(writes), tuple(changes), facts={"config_map": name})


def _copy(objects: Objects, version: str, name: str) -> tuple[str, dict[str, t.Any]]:
    looked_for = [source for source in kubernetes_facts.kubelet_config_map_names(version) if source != name]
    for source in looked_for:
        item = objects.get(f"{CONFIG_MAPS}/{source}")
        content = (item or {}).get("data") or {}
        if item is not None and content.get(_KEY):
            metadata = item.get("metadata") or {}
            kept = {key: metadata[key] for key in ("labels", "annotations") if metadata.get(key)}
            return source, {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": name, "namespace": "kube-system", **kept},
                "data": dict(content),
            }
    raise WorkloadError(
        f"kubelets of Kubernetes {version} get their configuration from the ConfigMap kube-system/{name}, which does not exist, and "
        f"there is none to copy with a key {_KEY} (searched for {', '.join(looked_for)}); nothing was written. Restore one (on a "
        f"control plane machine: kubectl --kubeconfig /etc/kubernetes/admin.conf -n kube-system create configmap {name} "
        f"--from-file={_KEY}=/var/lib/kubelet/config.yaml)."
    )


def _gates(objects: Objects) -> t.Mapping[str, t.Any]:
    item = objects.get(kubeadm_config_map.PATH) or {}
    text = (item.get("data") or {}).get(kubeadm_config_map.CLUSTER_CONFIGURATION)
    return dict(read(text, "clusterConfiguration").hub.get("featureGates") or {}) if text else {}
