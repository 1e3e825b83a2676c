# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A machine on which a year has passed: kubeadm's certificates, signed anew by their own authorities, ended a while ago."""

from __future__ import annotations

import base64
import datetime
import re

import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from machines import Machines
from workspace import Workspace

RECORDED = "machine.cluster.x-k8s.io/certificates-expiry"
PKI = "/etc/kubernetes/pki"
# By the authority that signs them (docs/reference/kubeadm.md, "Certificates").
SIGNED = {
    "ca": ("apiserver.crt", "apiserver-kubelet-client.crt"),
    "etcd": ("apiserver-etcd-client.crt", "etcd/server.crt", "etcd/peer.crt", "etcd/healthcheck-client.crt"),
    "proxy": ("front-proxy-client.crt",),
}
KUBECONFIGS = ("admin.conf", "controller-manager.conf", "scheduler.conf")
# The four begin anew with what is on the disk, as after a boot.
RESTART = "pkill -x kube-controller; pkill -x kube-scheduler; pkill -x kube-apiserver; pkill -x etcd; true"
STATIC_PODS = "kube-apiserver|kube-controller|kube-scheduler|etcd"
# What the collection tells a person to do, by hand.
RENEW = f"""
set -e
kubeadm certs renew all >/dev/null 2>&1
mv /etc/kubernetes/manifests /etc/kubernetes/manifests.away
for try in $(seq 500); do pgrep -x '{STATIC_PODS}' >/dev/null || break; sleep 0.1; done
mv /etc/kubernetes/manifests.away /etc/kubernetes/manifests
"""


def end_certificates(workspace: Workspace, machines: Machines, cluster: str, name: str) -> list[str]:
    """Let every certificate of a machine have ended an hour ago, and its static pods begin anew; return the files.

    The end that was recorded when the machine joined is that one, too.
    """
    _record(workspace, name)
    script = []
    for purpose, files in SIGNED.items():
        for file in files:
            path = f"{PKI}/{file}"
            signed = _ended(workspace, cluster, purpose, machines.ssh(name, f"cat {path}"))
            script.append(_write(path, signed))
    for file in KUBECONFIGS:
        path = f"/etc/kubernetes/{file}"
        text = machines.ssh(name, f"cat {path}")
        [inside] = re.findall(r"client-certificate-data: (\S+)", text)
        signed = _ended(workspace, cluster, "ca", base64.b64decode(inside).decode())
        script.append(_write(path, text.replace(inside, base64.b64encode(signed.encode()).decode())))
    machines.ssh(name, "\n".join([*script, RESTART]))
    return [file for files in SIGNED.values() for file in files] + list(KUBECONFIGS)


def _record(workspace: Workspace, name: str) -> None:
    [path] = workspace.store.glob(f"default/kubeadmconfig.*/{name}.yaml")
    document = yaml.safe_load(path.read_text())
    document["metadata"].setdefault("annotations", {})[RECORDED] = _end().strftime("%Y-%m-%dT%H:%M:%SZ")
    path.write_text(yaml.safe_dump(document))


def _end() -> datetime.datetime:
    now = datetime.datetime.now(datetime.timezone.utc).replace(tzinfo=None, microsecond=0)
    return now - datetime.timedelta(hours=1)


def _write(path: str, text: str) -> str:
    return f"echo {base64.b64encode(text.encode()).decode()} | base64 -d > {path}"


def _ended(workspace: Workspace, cluster: str, purpose: str, pem: str) -> str:
    """The same certificate, for the same key, that ended."""
    before = x509.load_pem_x509_certificate(pem.encode())
    [secret] = [
        each["data"] for each in workspace.objects("Secret") if each["metadata"]["name"] == f"{cluster}-{purpose}"
    ]
    key = serialization.load_pem_private_key(base64.b64decode(secret["tls.key"]), None)
    builder = (
        x509.CertificateBuilder()
        .subject_name(before.subject)
        .issuer_name(before.issuer)
        .public_key(before.public_key())
        .serial_number(before.serial_number)
        .not_valid_before(_end() - datetime.timedelta(days=365))
        .not_valid_after(_end())
    )
    for extension in before.extensions:
        builder = builder.add_extension(extension.value, extension.critical)
    signed = builder.sign(key, hashes.SHA256())  # type: ignore[arg-type]
    return signed.public_bytes(serialization.Encoding.PEM).decode()
