# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A node's certificates made to end when a test wants: the same subjects and keys, signed by the cluster's own authorities."""

from __future__ import annotations

import base64
import io
import re
import subprocess
import tarfile
import typing as t
from datetime import datetime, timedelta, timezone

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization

# kubeadm renews no authority, and not the serving certificate that a kubelet signs itself.
NOT_RENEWED = ("ca.crt", "front-proxy-ca.crt", "kubelet.crt")
YEAR = timedelta(days=360)
PATHS = "etc/kubernetes/pki etc/kubernetes/*.conf var/lib/kubelet/pki"
COMPONENTS = ("etcd", "kube-apiserver", "kube-controller", "kube-scheduler")
_DATA = re.compile(rb"(client-certificate-data: )(\S+)")
_CERTIFICATE = re.compile(rb"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----\n?", re.DOTALL)
_AUTHORITIES = {"etcd/": "etcd/ca", "apiserver-etcd-client": "etcd/ca", "front-proxy-client": "front-proxy-ca"}
Ssh = t.Sequence[str]


class Authorities:
    """The authorities of a cluster, by the files of one of its control plane nodes."""

    def __init__(self, files: t.Mapping[str, bytes]) -> None:
        pki = "etc/kubernetes/pki"
        self._pairs = {
            name: (
                x509.load_pem_x509_certificate(files[f"{pki}/{name}.crt"]),
                serialization.load_pem_private_key(files[f"{pki}/{name}.key"], None),
            )
            for name in ("ca", "etcd/ca", "front-proxy-ca")
        }

    def until(self, pem: bytes, path: str, end: datetime) -> bytes:
        """The certificate in a PEM, ending then."""
        old = x509.load_pem_x509_certificate(pem)
        name = next((name for part, name in _AUTHORITIES.items() if part in path), "ca")
        authority, key = self._pairs[name]
        begin = min(end - timedelta(hours=1), datetime.now(timezone.utc) - timedelta(hours=1))
        builder = x509.CertificateBuilder(
            authority.subject, old.subject, old.public_key(), x509.random_serial_number(), begin, end
        )
        for extension in old.extensions:
            builder = builder.add_extension(extension.value, extension.critical)
        return builder.sign(t.cast(t.Any, key), hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def fetch(ssh: Ssh) -> dict[str, bytes]:
    """A node's files with certificates and keys."""
    done = subprocess.run([*ssh, f"cd / && tar -chf - {PATHS}"], capture_output=True, check=True, timeout=60)
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        members = [each for each in archive.getmembers() if each.isfile()]
        return {each.name: t.cast(t.Any, archive.extractfile(each)).read() for each in members}


def forge(ssh: Ssh, authorities: Authorities, end: datetime) -> None:
    """Let every certificate of a node end then, the kubelet's included, and start everything anew, so that all of it is used."""
    files = fetch(ssh)
    changed = {}
    for path, content in files.items():
        # The kubelet's link leads to a file that is among these; what it signs itself stays.
        if path.endswith(("/ca.crt", "front-proxy-ca.crt", "kubelet.crt", "kubelet-client-current.pem")):
            continue
        if path.endswith(".conf"):
            new = _DATA.sub(lambda found: _data(found, authorities, end), content)
        else:
            new = _CERTIFICATE.sub(lambda found, path=path: authorities.until(found.group(), path, end), content)
        if new != content:
            changed[path] = new
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for path, content in changed.items():
            entry = tarfile.TarInfo(path)
            entry.size, entry.mode = len(content), 0o600
            archive.addfile(entry, io.BytesIO(content))
    kill = "; ".join(f"pkill -9 -x {name}" for name in COMPONENTS)
    command = f"cd / && tar -xf - && {{ systemctl restart kubelet; {kill}; true; }}"
    subprocess.run([*ssh, command], input=packed.getvalue(), check=True, capture_output=True, timeout=60)


def _data(found: re.Match[bytes], authorities: Authorities, end: datetime) -> bytes:
    pem = base64.b64decode(found.group(2))
    return found.group(1) + base64.b64encode(authorities.until(pem, "", end))


def ends(ssh: Ssh) -> dict[str, datetime]:
    """When each certificate of a node ends, by its file."""
    found: dict[str, datetime] = {}
    for path, content in fetch(ssh).items():
        pem = content
        data = _DATA.search(content)
        if data:
            pem = base64.b64decode(data.group(2))
        if b"BEGIN CERTIFICATE" in pem:
            found[path] = x509.load_pem_x509_certificate(pem).not_valid_after_utc
    return found


def late(ssh: Ssh) -> dict[str, datetime]:
    """The certificates of a node that are not good for a year, by their files; what a renewal of all leaves has none."""
    soon = datetime.now(timezone.utc) + YEAR
    # What the kubelet's current certificate was before stays beside it.
    kept = ("kubelet-client-2",)
    return {
        path: end
        for path, end in ends(ssh).items()
        if end < soon and not path.endswith(NOT_RENEWED) and not any(each in path for each in kept)
    }
