# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""kubeadm's layout of certificates on a node: flags and kubeconfigs, without I/O."""

from __future__ import annotations

import os
import typing as t

from ....module_utils.common.values import clip
from ...kubeadm.certificate_files import (
    API_SERVER,
    CA,
    CONTROLLER_MANAGER,
    ETCD_SERVER,
    FILES,
    FRONT_PROXY,
    KUBELET,
    KUBELET_CLIENT,
    KUBERNETES,
    PKI,
    SCHEDULER,
)
from . import stages as rotation
from .stages import NEW, OLD

_KUBECONFIG_FLAGS = ("kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig")
# Which flags lead to which of kubeadm's files, below certificatesDir where the path is relative: a rotation changes those files, and nothing
# else would follow.
LAYOUT: t.Mapping[str, t.Mapping[str, str]] = {
    API_SERVER: {
        "client-ca-file": "ca.crt",
        "tls-cert-file": "apiserver.crt",
        "tls-private-key-file": "apiserver.key",
        "kubelet-client-certificate": "apiserver-kubelet-client.crt",
        "kubelet-client-key": "apiserver-kubelet-client.key",
        "etcd-cafile": "etcd/ca.crt",
        "etcd-certfile": "apiserver-etcd-client.crt",
        "etcd-keyfile": "apiserver-etcd-client.key",
        "proxy-client-cert-file": "front-proxy-client.crt",
        "proxy-client-key-file": "front-proxy-client.key",
        "requestheader-client-ca-file": "front-proxy-ca.crt",
        "service-account-key-file": "sa.pub",
        "service-account-signing-key-file": "sa.key",
        "kubelet-certificate-authority": "ca.crt",
    },
    CONTROLLER_MANAGER: {
        "client-ca-file": "ca.crt",
        "root-ca-file": "ca.crt",
        "cluster-signing-cert-file": "ca.crt",
        "cluster-signing-key-file": "ca.key",
        "requestheader-client-ca-file": "front-proxy-ca.crt",
        "service-account-private-key-file": "sa.key",
        **dict.fromkeys(_KUBECONFIG_FLAGS, f"{KUBERNETES}/controller-manager.conf"),
    },
    ETCD_SERVER: {
        "cert-file": "etcd/server.crt",
        "key-file": "etcd/server.key",
        "trusted-ca-file": "etcd/ca.crt",
        "peer-cert-file": "etcd/peer.crt",
        "peer-key-file": "etcd/peer.key",
        "peer-trusted-ca-file": "etcd/ca.crt",
    },
    SCHEDULER: dict.fromkeys(_KUBECONFIG_FLAGS, f"{KUBERNETES}/scheduler.conf"),
    KUBELET: {"client-ca-file": "ca.crt"},
}
# The fields in which a kubeconfig has its cluster's certificates, and its user's certificate and key.
_TRUST = "certificate-authority-data"
_USER = ("client-certificate-data", "client-key-data")
# Kubeconfigs whose user may have its certificate outside: in the kubelet's own file, or none beside a bootstrap token.
_USER_OUTSIDE = (f"{KUBERNETES}/kubelet.conf", f"{KUBERNETES}/bootstrap-kubelet.conf")


def flag_problems(
    components: t.Mapping[str, t.Mapping[str, str]], pki: str, authorities: t.Collection[str]
) -> list[str]:
    """Return the flags that lead elsewhere than to kubeadm's files.

    Each is a sentence. ``components`` has each component's flags; ``pki`` is the folder of kubeadm's certificates.
    """
    found = []
    for component, flags in components.items():
        for name, value in flags.items():
            expected = LAYOUT.get(component, {}).get(name)
            usual = os.path.join(pki, expected) if expected else ""
            leads = {usual} if usual else set()
            leads |= {
                f"{rotation.signer(each).replace(PKI, pki)}{suffix}"
                for flag, suffix in rotation.SIGNER_FLAGS.items()
                if flag == name
                for each in (OLD, NEW)
            }
            signs = component == CONTROLLER_MANAGER and name.startswith("cluster-signing-")
            if signs and not expected and CA in authorities:
                found.append(f"{component} signs with a pair of its own for one kind of request (--{name})")
            if expected and value not in leads and _authority_of(expected) in authorities:
                found.append(f"{component} reads {value} (--{name}) where kubeadm has {usual}")
    return found


def kubeconfig_problem(path: str, kubeconfig: t.Mapping[str, t.Any]) -> str:
    """Return how a kubeconfig differs from kubeadm's, "" where it doesn't.

    It is a sentence. ``kubeconfig`` is what node_certificates returned of the file at ``path``.
    """
    counts = kubeconfig.get("counts") or {}
    inside = path not in _USER_OUTSIDE or kubeconfig.get("certificate")
    not_once = next((each for each in (_TRUST, *(_USER if inside else ())) if counts.get(each) != 1), "")
    if not_once:
        return f"{path} does not have {not_once} exactly once, as kubeadm's kubeconfigs do"
    other = next((each for each in kubeconfig.get("user_files") or () if each != KUBELET_CLIENT), "")
    return (
        f"{path} has its user's certificate or key in {clip(other, 200)}, which no rotation replaces" if other else ""
    )


def _authority_of(name: str) -> str:
    found = next((each.authority for each in FILES if each.path == f"{PKI}/{name}"), "")
    return found or (FRONT_PROXY if name.startswith("front") else CA)
