# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Flags of static pods against what kubeadm and the spec account for."""

from __future__ import annotations

from typing import Any, Optional

import pytest

from ansible_collections.kubeadm.control_plane.plugins.module_utils.workload_api import static_pod_flags

Object = dict[str, Any]
# As kubeadm v1.20 writes it.
API_SERVER = [
    "kube-apiserver",
    "--advertise-address=10.0.0.1",
    "--allow-privileged=true",
    "--authorization-mode=Node,RBAC",
    "--client-ca-file=/etc/kubernetes/pki/ca.crt",
    "--enable-admission-plugins=NodeRestriction",
    "--enable-bootstrap-token-auth=true",
    "--etcd-cafile=/etc/kubernetes/pki/etcd/ca.crt",
    "--etcd-certfile=/etc/kubernetes/pki/apiserver-etcd-client.crt",
    "--etcd-keyfile=/etc/kubernetes/pki/apiserver-etcd-client.key",
    "--etcd-servers=https://127.0.0.1:2379",
    "--insecure-port=0",
    "--kubelet-client-certificate=/etc/kubernetes/pki/apiserver-kubelet-client.crt",
    "--kubelet-client-key=/etc/kubernetes/pki/apiserver-kubelet-client.key",
    "--kubelet-preferred-address-types=InternalIP,ExternalIP,Hostname",
    "--proxy-client-cert-file=/etc/kubernetes/pki/front-proxy-client.crt",
    "--proxy-client-key-file=/etc/kubernetes/pki/front-proxy-client.key",
    "--requestheader-allowed-names=front-proxy-client",
    "--requestheader-client-ca-file=/etc/kubernetes/pki/front-proxy-ca.crt",
    "--requestheader-extra-headers-prefix=X-Remote-Extra-",
    "--requestheader-group-headers=X-Remote-Group",
    "--requestheader-username-headers=X-Remote-User",
    "--secure-port=6443",
    "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
    "--service-account-key-file=/etc/kubernetes/pki/sa.pub",
    "--service-account-signing-key-file=/etc/kubernetes/pki/sa.key",
    "--service-cluster-ip-range=10.96.0.0/12",
    "--tls-cert-file=/etc/kubernetes/pki/apiserver.crt",
    "--tls-private-key-file=/etc/kubernetes/pki/apiserver.key",
]


def pod(*more: str, without: str = "", node: str = "cp1") -> Object:
    """The mirror pod of an API server, with more flags."""
    command = [word for word in API_SERVER if not (without and word.startswith(f"--{without}="))]
    return {
        "metadata": {"name": f"kube-apiserver-{node}", "labels": {"component": "kube-apiserver"}},
        "spec": {"nodeName": node, "containers": [{"name": "kube-apiserver", "command": [*command, *more]}]},
    }


def found(item: Object, configuration: Optional[Object] = None) -> list[tuple[str, str]]:
    """Flag and kind of each difference."""
    pods = static_pod_flags.read([static_pod_flags.flags(item)])
    return [(each["flag"], each["kind"]) for each in static_pod_flags.drift(pods, configuration or {})]


def wants(**arguments: str) -> Object:
    """A clusterConfiguration with these arguments of the API server."""
    return {"apiServer": {"extraArgs": [{"name": name.replace("_", "-"), "value": v} for name, v in arguments.items()]}}


def test_what_kubeadm_writes_is_no_drift() -> None:
    assert found(pod()) == []


def test_a_flag_that_nobody_accounts_for() -> None:
    assert found(pod("--audit-log-maxage=30")) == [("audit-log-maxage", "added")]
    assert found(pod("--profiling")) == [("profiling", "added")]


def test_a_flag_of_the_spec() -> None:
    """Present as wanted, with another value, and missing."""
    spec = wants(audit_log_maxage="7")
    assert found(pod("--audit-log-maxage=7"), spec) == []
    assert found(pod("--audit-log-maxage=30"), spec) == [("audit-log-maxage", "changed")]
    assert found(pod(), spec) == [("audit-log-maxage", "missing")]


def test_a_value_of_kubeadms_own_that_was_changed() -> None:
    edited = pod("--enable-admission-plugins=AlwaysAdmit", without="enable-admission-plugins")
    assert found(edited) == [("enable-admission-plugins", "changed")]
    assert found(edited, wants(enable_admission_plugins="AlwaysAdmit")) == []


def test_another_folder_of_certificates() -> None:
    moved = pod()
    container = moved["spec"]["containers"][0]
    container["command"] = [word.replace("/etc/kubernetes/pki", "/srv/pki") for word in container["command"]]
    assert found(moved, {"certificatesDir": "/srv/pki"}) == []
    assert ("client-ca-file", "changed") in found(moved)


def test_lists_that_kubeadm_merges_are_not_judged() -> None:
    merged = pod("--authorization-mode=Webhook,Node,RBAC", without="authorization-mode")
    assert found(merged, wants(authorization_mode="Webhook")) == []


def test_a_flag_that_is_given_twice() -> None:
    spec: Object = {
        "apiServer": {
            "extraArgs": [
                {"name": "service-account-issuer", "value": "a"},
                {"name": "service-account-issuer", "value": "b"},
            ]
        }
    }
    twice = pod("--service-account-issuer=a", "--service-account-issuer=b", without="service-account-issuer")
    assert found(twice, spec) == []
    assert found(pod(), spec) == [("service-account-issuer", "changed")]


@pytest.mark.parametrize(
    "raw", [None, {}, [None], [{"flags": 3, "component": "etcd"}], [{"flags": {}, "component": "x"}]]
)
def test_what_is_not_as_expected_is_left_out(raw: Any) -> None:
    assert static_pod_flags.read(raw) == []
    assert static_pod_flags.flags({}) == {"node": "", "component": "", "flags": {}}
