# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Taints of Machines: their rules, and how one is named.

They are the `taints` of a machine template and of a Machine; kubeadm's own, in nodeRegistration, are others.

Source: docs/reference/cluster_api.md, "Taints of Machines".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ....module_utils.common.kubernetes_facts import LABEL_MASTER
from ....module_utils.common.violations import Report, item
from ...documents import names

# A taint that stays on the Node as long as its Machine has it.
ALWAYS = "Always"
_UNINITIALIZED = ("node.cluster.x-k8s.io/uninitialized", "node.cluster.x-k8s.io/outdated-revision")
_NODE_PREFIX, _OUT_OF_SERVICE = "node.kubernetes.io/", "node.kubernetes.io/out-of-service"
_CLOUD_PREFIX = "node.cloudprovider.kubernetes.io/"


def taint_name(taint: Mapping[str, Any]) -> str:
    """Return "key:effect", by which the API server tells a Node's taints apart."""
    return f"{taint.get('key')}:{taint.get('effect')}"


def validate_machine_taints(taints: Sequence[Mapping[str, Any]], path: str, report: Report) -> None:
    """Check the rules for the taints of a control plane Machine.

    Lengths and allowed values are those of limits.py.
    """
    seen: set[str] = set()
    for index, taint in enumerate(taints):
        where = item(path, index)
        _key(str(taint.get("key") or ""), f"{where}.key", report)
        for field in ("effect", "propagation"):
            if not taint.get(field):
                report.add(f"{where}.{field}", None, f"the taint has no {field}", "Write one.")
        if taint_name(taint) in seen:
            rule = "another taint of the list has the same key and effect: a Node has room for one"
            report.add(where, None, rule, "Keep one of them.")
        seen.add(taint_name(taint))


def _key(key: str, path: str, report: Report) -> None:
    if not key:
        report.add(path, None, "the taint has no key", "Name it, such as example.com/maintenance.")
    elif not names.is_qualified_name(key):
        report.add(path, key, "this is not a key of a taint", "Use [prefix/]name of letters, digits, '-', '_' and '.'.")
    elif key in _UNINITIALIZED:
        report.add(path, key, "this key belongs to Cluster API", "Use a key of your own.")
    elif key.startswith(_NODE_PREFIX) and key != _OUT_OF_SERVICE:
        rule = "keys of node.kubernetes.io/ belong to the kubelet and to the node controller, which would set them again or take them away"
        report.add(path, key, rule, f"Use a key of your own; of these only {_OUT_OF_SERVICE} is for users.")
    elif key.startswith(_CLOUD_PREFIX):
        rule = "keys of node.cloudprovider.kubernetes.io/ belong to the kubelet and to the cloud controller manager"
        report.add(path, key, rule, "Use a key of your own.")
    elif key == LABEL_MASTER:
        rule = "kubeadm gave this key up with Kubernetes 1.24"
        report.add(
            path, key, rule, "Use node-role.kubernetes.io/control-plane; for older ones nodeRegistration.taints."
        )
