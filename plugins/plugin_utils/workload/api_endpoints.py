# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""API server addresses for joining machines: ClusterStatus and cluster-info.

Source: docs/reference/kubeadm.md, "Stored objects".

kubeadm writes them there; ClusterStatus before Kubernetes 1.22 only.

kubeadm join takes the server from cluster-info, and up to 1.21 etcd's members from ClusterStatus: what names a machine that is gone there
makes the next join fail.
"""

from __future__ import annotations

import copy
import typing as t

from ...module_utils.workload_api import compare_and_swap
from ...module_utils.workload_api.bootstrap_token import CLUSTER_INFO
from ..documents.yaml_files import read_documents
from ..kubeadm.configuration import yaml_documents
from . import kubeadm_config_map
from .writes import Change, Objects, Plan, WorkloadError, resource_version

KUBECONFIG = "kubeconfig"
_OBJECT = "ConfigMap kube-public/cluster-info"
_LONGEST = 262144
READS = (*kubeadm_config_map.READS, compare_and_swap.Read(CLUSTER_INFO, (f"data.{KUBECONFIG}",)))


def server_url(host: str, port: int) -> str:
    """Return the endpoint's URL as kubeadm writes it into kubeconfigs."""
    return f"https://{f'[{host}]' if ':' in host else host}:{port}"


def plan(objects: Objects, removed_nodes: t.Sequence[str], server: t.Optional[str]) -> Plan:
    """Return the plan that removes Nodes from ClusterStatus and corrects cluster-info.

    cluster-info then names ``server``.

    Args:
        objects: what READS found.
        removed_nodes: names of Nodes that are deleted or are being deleted.
        server: the control plane endpoint's URL; None leaves cluster-info as it is.

    Raises:
        WorkloadError: kubeadm-config can't be read while an entry is to go.
    """
    status = _without_nodes(objects, removed_nodes)
    info = _cluster_info(objects, server) if server else Plan("")
    messages = [each.message for each in (status, info) if each.message]
    return Plan(
        "; ".join(messages) or "there is nothing to correct",
        (*status.writes, *info.writes),
        (*status.changes, *info.changes),
        (*status.warnings, *info.warnings),
        {"cluster_info_server": info.facts.get("server")},
    )


def _without_nodes(objects: Objects, nodes: t.Sequence[str]) -> Plan:
    stored = objects[kubeadm_config_map.PATH] or {}
    if not nodes or not (stored.get("data") or {}).get(kubeadm_config_map.CLUSTER_STATUS):
        return Plan("kubeadm-config has no ClusterStatus" if nodes else "")
    gone = tuple(kubeadm_config_map.ApiEndpoint(node) for node in nodes)
    return kubeadm_config_map.plan(objects, kubeadm_config_map.Wanted(api_endpoints=gone))


def _cluster_info(objects: Objects, server: str) -> Plan:
    item = objects[CLUSTER_INFO]
    text = ((item or {}).get("data") or {}).get(KUBECONFIG)
    if item is None or not text:
        # Some take it away on purpose: it can be read without a password.
        return Plan(f"there is no {_OBJECT} with a kubeconfig")
    document = _kubeconfig(str(text))
    entry = document["clusters"][0]["cluster"] if document is not None else None
    if document is None or entry is None:
        said = (
            f"{_OBJECT}: its kubeconfig is not one that kubeadm wrote; it was left alone, and joins by token may fail."
        )
        return Plan("", warnings=(said,))
    known = {"server": server}
    before = str(entry.get("server") or "")
    if before == server:
        return Plan(f"cluster-info names {server}", facts=known)
    corrected = copy.deepcopy(document)
    corrected["clusters"][0]["cluster"]["server"] = server
    written = yaml_documents.documents_text([corrected])
    patch = {"data": {KUBECONFIG: written[len("---\n") :] if written.startswith("---\n") else written}}
    write = compare_and_swap.Write(CLUSTER_INFO, compare_and_swap.MERGE, patch, resource_version(item))
    change = Change(_OBJECT, f"server: {before}\n", f"server: {server}\n")
    return Plan(f"cluster-info: {before or 'no server'} becomes {server}", (write,), (change,), facts=known)


def server_of(text: str) -> str:
    """Return the server that a cluster-info kubeconfig names.

    "" where kubeadm did not write the kubeconfig.
    """
    document = _kubeconfig(text)
    server = document["clusters"][0]["cluster"].get("server") if document is not None else None
    return server if isinstance(server, str) else ""


def _kubeconfig(text: str) -> t.Optional[dict[str, t.Any]]:
    """Return the parsed kubeconfig with its one cluster, else None."""
    if len(text) > _LONGEST:
        return None
    try:
        documents = read_documents(text)
    except ValueError:
        return None
    document = documents[0] if len(documents) == 1 else None
    clusters = document.get("clusters") if isinstance(document, dict) else None
    if not isinstance(clusters, list) or len(clusters) != 1:
        return None
    entry = clusters[0].get("cluster") if isinstance(clusters[0], dict) else None
    return document if isinstance(entry, dict) else None


__all__ = ["READS", "WorkloadError", "plan", "server_of", "server_url"]
