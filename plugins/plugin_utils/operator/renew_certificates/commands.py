# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands for renewal of certificates (docs/reference/kubeadm.md, "Certificates")."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .. import command_type
from ..command_type import Command, Parameter
from ..planner_types import NodeFacts

ALL, API_SERVER = "all", "apiserver"
# kubeadm's names of what `certs renew` renews, and which component reads it only when it starts.
USERS: Mapping[str, tuple[str, ...]] = {
    "admin.conf": (),
    "super-admin.conf": (),
    API_SERVER: ("kube-apiserver",),
    "apiserver-etcd-client": ("kube-apiserver",),
    "apiserver-kubelet-client": ("kube-apiserver",),
    "controller-manager.conf": ("kube-controller-manager",),
    "etcd-healthcheck-client": (),
    "etcd-peer": ("etcd",),
    "etcd-server": ("etcd",),
    "front-proxy-client": ("kube-apiserver",),
    "scheduler.conf": ("kube-scheduler",),
}
ETCD_CERTIFICATES = ("apiserver-etcd-client", "etcd-healthcheck-client", "etcd-peer", "etcd-server")
KUBELET_CLIENT = "kubelet.conf"


def _renew(parameters: Mapping[str, Any], node: NodeFacts) -> tuple[str, ...]:
    del node
    config = " --config=/run/kubeadm/renew.yaml" if parameters["offline"] else ""
    return tuple(f"kubeadm certs renew {name}{config}" for name in parameters["names"])


def _kubelet(parameters: Mapping[str, Any], node: NodeFacts) -> tuple[str, ...]:
    del parameters
    return (
        f"kubeadm kubeconfig user --config=/run/kubeadm/renew.yaml --org=system:nodes --client-name=system:node:{node.name}"
        " # its certificate and key become /var/lib/kubelet/pki/kubelet-client-current.pem",
        "systemctl restart kubelet",
    )


def _worker_kubelet(parameters: Mapping[str, Any], node: NodeFacts) -> tuple[str, ...]:
    del parameters, node
    return (
        "rm /etc/kubernetes/kubelet.conf /var/lib/kubelet/pki/kubelet-client-*"
        " # after /etc/kubernetes/bootstrap-kubelet.conf was written with a new bootstrap token",
        "systemctl restart kubelet",
    )


COMMANDS: tuple[Command, ...] = (
    Command(
        "kubeadmRenewCertificates",
        _renew,
        {
            "names": Parameter(command_type.STRINGS, default=[ALL], choices=(ALL, *USERS)),
            "offline": Parameter(command_type.BOOLEAN, default=False),
        },
    ),
    Command("renewKubeletClientCertificate", _kubelet),
    Command("bootstrapKubeletAgain", _worker_kubelet),
    Command(
        "renewKubeconfigSecret",
        lambda parameters, node: ("# renew the store's own admin kubeconfig, the Secret <cluster>-kubeconfig",),
        scope=command_type.CLUSTER,
    ),
)
