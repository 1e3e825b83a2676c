# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Certificates and keys of kubeadm on a node, their authorities and readers.

Source: docs/reference/kubeadm.md, "Certificates", "Authorities".
"""

from __future__ import annotations

from dataclasses import dataclass

CA = "ca"
ETCD = "etcd"
FRONT_PROXY = "frontProxy"
SERVICE_ACCOUNT = "serviceAccount"
AUTHORITIES = (CA, ETCD, FRONT_PROXY, SERVICE_ACCOUNT)

# What a file is: the certificates that are trusted (or the public keys), the authority's own private key, a certificate signed by
# it, that certificate's key, a kubeconfig with trust and certificate inside, or the kubelet's certificate and key in one file.
BUNDLE = "bundle"
SIGNING_KEY = "signing key"
CERTIFICATE = "certificate"
KEY = "key"
KUBECONFIG = "kubeconfig"
PAIR = "pair"

ETCD_SERVER = "etcd"
API_SERVER = "kube-apiserver"
CONTROLLER_MANAGER = "kube-controller-manager"
SCHEDULER = "kube-scheduler"
KUBELET = "kubelet"

PKI = "{pki}"
KUBERNETES = "/etc/kubernetes"
KUBELET_CLIENT = "/var/lib/kubelet/pki/kubelet-client-current.pem"
KUBELET_SERVER = "/var/lib/kubelet/pki/kubelet-server-current.pem"


@dataclass(frozen=True)
class CertificateFile:
    """Certificate, key or kubeconfig file of a node, and its readers.

    ``path`` holds "{pki}" for the folder that ClusterConfiguration.certificatesDir names. ``optional`` is one that not every
    version or every node has. ``readers`` are the components that read it when they start.
    """

    path: str
    kind: str
    authority: str
    readers: tuple[str, ...] = ()
    on_workers: bool = False
    optional: bool = False


def _pair(name: str, authority: str, *readers: str) -> tuple[CertificateFile, ...]:
    # The key first: a certificate that is the wanted one then says that its key is, too.
    return (
        CertificateFile(f"{PKI}/{name}.key", KEY, authority, readers),
        CertificateFile(f"{PKI}/{name}.crt", CERTIFICATE, authority, readers),
    )


def _kubeconfig(name: str, *readers: str, optional: bool = False, on_workers: bool = False) -> CertificateFile:
    return CertificateFile(f"{KUBERNETES}/{name}", KUBECONFIG, CA, readers, on_workers, optional)


FILES: tuple[CertificateFile, ...] = (
    CertificateFile(f"{PKI}/ca.crt", BUNDLE, CA, (API_SERVER, CONTROLLER_MANAGER, KUBELET), on_workers=True),
    CertificateFile(f"{PKI}/ca.key", SIGNING_KEY, CA, (CONTROLLER_MANAGER,)),
    CertificateFile(f"{PKI}/etcd/ca.crt", BUNDLE, ETCD, (ETCD_SERVER, API_SERVER)),
    CertificateFile(f"{PKI}/etcd/ca.key", SIGNING_KEY, ETCD),
    CertificateFile(f"{PKI}/front-proxy-ca.crt", BUNDLE, FRONT_PROXY, (API_SERVER, CONTROLLER_MANAGER)),
    CertificateFile(f"{PKI}/front-proxy-ca.key", SIGNING_KEY, FRONT_PROXY),
    CertificateFile(f"{PKI}/sa.pub", BUNDLE, SERVICE_ACCOUNT, (API_SERVER,)),
    CertificateFile(f"{PKI}/sa.key", SIGNING_KEY, SERVICE_ACCOUNT, (API_SERVER, CONTROLLER_MANAGER)),
    *_pair("etcd/server", ETCD, ETCD_SERVER),
    *_pair("etcd/peer", ETCD, ETCD_SERVER),
    *_pair("etcd/healthcheck-client", ETCD),
    *_pair("apiserver-etcd-client", ETCD, API_SERVER),
    *_pair("front-proxy-client", FRONT_PROXY, API_SERVER),
    *_pair("apiserver-kubelet-client", CA, API_SERVER),
    *_pair("apiserver", CA, API_SERVER),
    _kubeconfig("controller-manager.conf", CONTROLLER_MANAGER),
    _kubeconfig("scheduler.conf", SCHEDULER),
    _kubeconfig("admin.conf"),
    # Since 1.29, on the first node alone.
    _kubeconfig("super-admin.conf", optional=True),
    # Trust alone is in it, and a bootstrap token; kubeadm of some versions leaves it behind after a join.
    _kubeconfig("bootstrap-kubelet.conf", on_workers=True, optional=True),
    CertificateFile(KUBELET_CLIENT, PAIR, CA, (KUBELET,), on_workers=True, optional=True),
    # With serverTLSBootstrap; kubeadm's default is one that the kubelet signs itself and nobody verifies.
    CertificateFile(KUBELET_SERVER, PAIR, CA, (KUBELET,), on_workers=True, optional=True),
    # It leads to the kubelet's certificate, since 1.17.
    _kubeconfig("kubelet.conf", KUBELET, on_workers=True),
)
