# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What kubeadm init leaves in an API, and where things of a machine are, for tests."""

from __future__ import annotations

from pathlib import Path

from api_server import ApiServer

from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.bootstrap import bootstrap_unit
from ansible_collections.kubeadm.control_plane.plugins.module_utils.observe.collect import Places

PODS = "/api/v1/namespaces/kube-system/pods"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
SECRET = "a-password-of-the-user"


def fill(server: ApiServer) -> None:
    """Make what kubeadm init leaves, three workers, and a Secret that nobody may see."""
    ready = [{"type": "Ready", "status": "True", "reason": "KubeletReady"}]
    for name, labels, version in (
        ("cp-1", {"node-role.kubernetes.io/master": ""}, "v1.20.2"),
        ("worker-1", {}, "v1.20.2"),
        ("worker-2", {}, "v1.19.7"),
        ("worker-3", {}, "v1.19.7"),
    ):
        info = {"kubeletVersion": version, "machineID": f"id-of-{name}"}
        fields = ("architecture", "bootID", "containerRuntimeVersion", "kernelVersion", "kubeProxyVersion")
        info.update(dict.fromkeys((*fields, "operatingSystem", "osImage", "systemUUID"), "x"))
        addresses = [{"type": "InternalIP", "address": "10.0.0.1"}, {"type": "Hostname", "address": name}]
        server.create(
            "/api/v1/nodes",
            {
                "metadata": {"name": name, "labels": labels},
                "spec": {
                    "taints": [{"key": "node-role.kubernetes.io/master", "effect": "NoSchedule"}] if labels else []
                },
                "status": {"conditions": ready, "addresses": addresses, "nodeInfo": info},
            },
        )
    for component in ("kube-apiserver", "etcd"):
        container = {"name": component, "image": f"{component}:v1", "env": [{"name": "PASSWORD", "value": SECRET}]}
        state = {
            "name": component,
            "ready": True,
            "restartCount": 0,
            "image": "i",
            "imageID": "i",
            "state": {"running": {}},
        }
        server.create(
            PODS,
            {
                "metadata": {
                    "name": f"{component}-cp-1",
                    "labels": {"component": component, "tier": "control-plane"},
                    "annotations": {"secret": SECRET},
                },
                "spec": {"nodeName": "cp-1", "containers": [container]},
                "status": {"phase": "Running", "conditions": ready, "containerStatuses": [state]},
            },
        )
    config = {"ClusterConfiguration": "kind: ClusterConfiguration\n", "ClusterStatus": "kind: ClusterStatus\n"}
    server.create(f"{PODS[:-5]}/configmaps", {"metadata": {"name": "kubeadm-config"}, "data": config})
    public = "/api/v1/namespaces/kube-public/configmaps"
    server.create(public, {"metadata": {"name": "cluster-info"}, "data": {"jws-kubeconfig-abcdef": "x"}})
    template = {
        "metadata": {"labels": {"app": "kube-proxy"}},
        "spec": {
            "containers": [
                {"name": "kube-proxy", "image": "kube-proxy:v1.20.2", "env": [{"name": "P", "value": SECRET}]}
            ]
        },
    }
    server.create(
        "/apis/apps/v1/namespaces/kube-system/daemonsets",
        {
            "metadata": {"name": "kube-proxy"},
            "spec": {"selector": {"matchLabels": {"app": "kube-proxy"}}, "template": template},
            "status": {
                "desiredNumberScheduled": 2,
                "numberReady": 1,
                "currentNumberScheduled": 2,
                "numberMisscheduled": 0,
            },
        },
    )
    name = {"name": "kubeadm:bootstrap-signer-clusterinfo"}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", **name}
    server.create(f"{RBAC}/namespaces/kube-public/roles", {"metadata": name, "rules": []})
    user = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "system:anonymous"}
    server.create(
        f"{RBAC}/namespaces/kube-public/rolebindings", {"metadata": name, "roleRef": role, "subjects": [user]}
    )
    server.create(f"{PODS[:-5]}/secrets", {"metadata": {"name": "theirs"}, "stringData": {"password": SECRET}})


def places(server: ApiServer, tmp_path: Path) -> Places:
    """A machine that runs this API server."""
    return Places(
        kubeconfig=server.kubeconfig,
        manifests=str(server.manifests),
        pki=str(tmp_path),
        kubectl=server.kubectl,
        etcd_url=server.etcd.members[0].client_url,
        etcd_credentials=server.etcd.credentials,
        bootstrap=bootstrap_unit.Places(state=str(tmp_path / "state"), etcd_data=str(tmp_path)),
    )
