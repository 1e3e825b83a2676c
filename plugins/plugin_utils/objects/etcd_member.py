# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Recorded etcd cluster, and the etcd member of a joining machine.

Its peer URL and name are as kubeadm makes them; the name is set by a patch of etcd's manifest.

Source: docs/reference/kubeadm.md, "Joining".
"""

from __future__ import annotations

import base64
import ipaddress
import json
from collections.abc import Mapping, Sequence
from typing import Any, Optional

from ...module_utils.common import kubernetes_facts
from ...module_utils.common.violations import ManifestError, Report
from .instance_data import rendering
from .instance_data.machine_data import Values

PEER_PORT = 2380
# kubeadm applies patches in the order of their names, and the last of two flags counts: after the user's own.
PATCHES_DIRECTORY = "/run/kubeadm/patches"
PATCH = "etcd9initialcluster+json.json"


def recorded_cluster(control_plane: Optional[Mapping[str, Any]]) -> str:
    """Return the recorded ID of a control plane's etcd cluster.

    "" where none is recorded.
    """
    return str(((control_plane or {}).get("status") or {}).get("etcdClusterID") or "")


def cluster_argument(control_plane: Optional[Mapping[str, Any]]) -> dict[str, str]:
    """Return the argument of etcd's modules with which another cluster refuses.

    {} where none is recorded.
    """
    known = recorded_cluster(control_plane)
    return {"cluster_id": known} if known else {}


def another_cluster(control_plane: Optional[Mapping[str, Any]], etcd: Mapping[str, Any]) -> str:
    """Return what tells another etcd cluster from the recorded one, else ""."""
    recorded, found = recorded_cluster(control_plane), etcd.get("clusterID")
    return f"says it is cluster {found}, recorded is {recorded}" if recorded and found and recorded != found else ""


def remedy_of_another(machine: str) -> str:
    """Return what to do where another etcd cluster answers on a machine."""
    return (
        f"Where the playbook restore gave {machine} up and it runs again as before, cut its power and that of the others that were given up. Only where a "
        f"snapshot was restored by hand on {machine}, take status.etcdClusterID out of the KubeadmControlPlane (docs/etcd_snapshots.md). Else give this "
        "cluster's own store."
    )


def peer_url(kubeadm_config: Mapping[str, Any], values: Values, address: str) -> str:
    """Return the peer URL that kubeadm looks for.

    "" where its address is not known beforehand. `address` is the machine's own, for a configuration without advertiseAddress.
    """
    local = (_join(kubeadm_config, values).get("controlPlane") or {}).get("localAPIEndpoint") or {}
    try:
        found = ipaddress.ip_address(str(local.get("advertiseAddress") or address))
    except ValueError:
        return ""
    # kubeadm replaces these by what it finds on the machine.
    if found.is_unspecified or found.is_loopback:
        return ""
    return f"https://[{found}]:{PEER_PORT}" if found.version == 6 else f"https://{found}:{PEER_PORT}"


def with_member_named(data: Mapping[str, Any], name: str, members: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Return a join's bootstrap document for a member that exists already.

    `members` are the names and peer URLs of all; the one without a name is the machine's. A kubeadm that gives it no name writes
    an --initial-cluster with which etcd does not start: a patch of etcd's manifest puts the right one after it.
    """
    version = str(data["kubeadmVersion"])
    if kubernetes_facts.names_etcd_member(version):
        return dict(data)
    text = ",".join(f"{each or name}={url}" for each, url in members)
    patch = [{"op": "add", "path": "/spec/containers/0/command/-", "value": f"--initial-cluster={text}"}]
    flag = kubernetes_facts.patches_flag(version)
    given = [each.partition("=")[2] for each in data["kubeadmArgs"] if each.startswith(f"{flag}=")]
    directory = given[0] if given else PATCHES_DIRECTORY
    file = {
        "path": f"{directory.rstrip('/')}/{PATCH}",
        "content": base64.b64encode(json.dumps(patch).encode()).decode(),
        "owner": "root:root",
        "permissions": "0644",
        "append": False,
    }
    arguments = [*data["kubeadmArgs"], *([] if given else [f"{flag}={directory}"])]
    return {**data, "kubeadmArgs": arguments, "files": [*data["files"], file]}


def _join(kubeadm_config: Mapping[str, Any], values: Values) -> dict[str, Any]:
    written = (kubeadm_config.get("spec") or {}).get("joinConfiguration") or {}
    report = Report(f"KubeadmConfig {values['hostname']}")
    found: dict[str, Any] = rendering.rendered(written, values, {}, "spec.joinConfiguration", report)
    if report.violations:
        raise ManifestError(report.violations)
    return found
