# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Admin kubeconfig of a cluster: made when missing, renewed in time.

A user's own is never touched.

Source: docs/reference/cluster_api.md, "Certificates".
"""

from __future__ import annotations

import base64
import os
import typing as t
from dataclasses import dataclass, replace
from datetime import timedelta

from ...module_utils.common import kubernetes_facts
from ...module_utils.common.values import read_moment
from ..store.base import AlreadyExists, Object, Store
from ..store.file import disk
from . import certificates, secrets
from .certificates import KeyPair, PkiError
from .kubeconfig_text import client_certificate, is_of_the_same_cluster, kubeconfig_text, server_url

COMMON_NAME = "kubernetes-admin"
ORGANIZATION = "system:masters"
# Half of its year: Cluster API renews when less than that is left.
RENEW_BEFORE = timedelta(days=kubernetes_facts.CERTIFICATE_VALIDITY_DAYS) / 2


@dataclass(frozen=True)
class KubeconfigResult:
    """Result of :func:`ensure_kubeconfig`; nothing in it is secret.

    ``state`` is present, created, renewed, userSupplied or waiting; with waiting, ``reason`` names why:
    EndpointMissing, CertificateAuthorityMissing or CertificateAuthorityKeyMissing. ``message`` is for people.
    """

    changed: bool
    state: str
    message: str
    reason: str = ""


def ensure_kubeconfig(
    store: Store,
    cluster: Object,
    control_plane: Object,
    endpoint: t.Mapping[str, t.Any] | None,
    now: str,
    renew_before: timedelta = RENEW_BEFORE,
) -> KubeconfigResult:
    """Make the Secret ``<cluster>-kubeconfig`` if missing; renew it in time.

    It is renewed when less than half a year is left (``renew_before``).
    One of Cluster API's type becomes this control plane's, whoever had it; a user's own stays
    (:func:`secrets.is_users_own`). A renewed one keeps its server's URL
    (docs/reference/cluster_api.md, "Certificates"). ``endpoint`` is the Cluster's ``{host, port}``.
    """
    certificates.need_cryptography()
    name = secrets.secret_name(cluster, secrets.KUBECONFIG)
    stored = secrets.read_secret(store, cluster, secrets.KUBECONFIG)
    text = secrets.value(stored, "value")
    remaining = _remaining(text, now)
    taken = False
    if stored is not None:
        # What has no client certificate that could be renewed is another kind of kubeconfig, whoever made it.
        other = text is not None and remaining is None and not secrets.is_controlled_by(stored, control_plane)
        if other or secrets.is_users_own(stored):
            lacks = (
                ""
                if text
                else ". Its key 'value' has no kubeconfig: put one there, or delete it and run reconcile, which makes one"
            )
            return KubeconfigResult(
                False, "userSupplied", f"the Secret {name} is the user's own and stays as it is{lacks}"
            )
        taken = secrets.take_over(store, control_plane, stored)
    if remaining is not None and remaining >= renew_before:
        return KubeconfigResult(taken, "present", f"the Secret {name} is valid for {remaining.days} more days")
    server = server_url(text) or _endpoint_url(endpoint)
    ca = secrets.read_pair(store, cluster, "ca")
    waiting = _waiting(cluster, server, ca, remaining)
    if waiting is not None or ca is None or server is None:
        found = waiting or KubeconfigResult(False, "waiting", "it can't be made yet")
        return replace(found, changed=taken)
    client = certificates.new_client_certificate(ca, COMMON_NAME, [ORGANIZATION], now, _algorithm(control_plane))
    new_text = kubeconfig_text(str(cluster["metadata"]["name"]), server, ca.crt, client)
    if stored is None:
        try:
            store.create(secrets.new_secret(cluster, control_plane, secrets.KUBECONFIG, {"value": new_text}))
        except AlreadyExists:
            return KubeconfigResult(False, "userSupplied", f"the Secret {name} was made by someone else meanwhile")
        return KubeconfigResult(True, "created", f"the Secret {name} was made, valid for a year")

    def renew(current: Object) -> None:
        current["data"] = {**(current.get("data") or {}), "value": base64.b64encode(new_text.encode()).decode()}

    store.modify(secrets.SECRET, stored["metadata"]["namespace"], name, renew)
    return KubeconfigResult(True, "renewed", f"the Secret {name} was renewed, valid for a year")


def read_kubeconfig(store: Store, cluster: Object) -> str | None:
    """Return the cluster's kubeconfig, or None without one. Secret."""
    return secrets.value(secrets.read_secret(store, cluster, secrets.KUBECONFIG), "value")


def write_kubeconfig(store: Store, cluster: Object, path: str) -> bool:
    """Write the cluster's kubeconfig to a file; return whether it changed.

    The file is 0600, and whole or not written at all. False too where the cluster has no kubeconfig yet: nothing is
    written then.

    Raises:
        PkiError: the file is there and is no kubeconfig of this cluster alone; it stays unchanged. With another
            cluster's in a file of this one's name, or one's own contexts gone, a user would change the wrong cluster.
        StoreError: the file can't be written.
    """
    text = read_kubeconfig(store, cluster)
    if text is None:
        return False
    path = os.path.abspath(os.path.expanduser(path))
    data = text.encode()
    if disk.write_file_exclusively(path, data, disk.SECRET_FILE_MODE):
        return True
    found = disk.read_file(path) or b""
    if found == data and not os.stat(path).st_mode & 0o077:
        return False
    if found and not is_of_the_same_cluster(found.decode(errors="replace"), text):
        metadata = cluster["metadata"]
        raise PkiError(
            f"the kubeconfig of {metadata['namespace']}/{metadata['name']} was not written",
            path,
            "the file exists and is no kubeconfig of this cluster alone",
            "It was left as it is. Name another file, or remove that one where it is needed no more; for several clusters give each its own: "
            "-e control_plane_kubeconfig='{{ inventory_hostname }}.kubeconfig'.",
        )
    disk.write_file(path, data, disk.SECRET_FILE_MODE)
    return True


def _remaining(text: str | None, now: str) -> timedelta | None:
    """Return the client certificate's remaining time.

    None where there is none that can be read.
    """
    pem = client_certificate(text) if text else None
    try:
        info = certificates.certificate_info(pem or "")
    except PkiError:
        return None
    return read_moment(info.not_after) - read_moment(now)


def _endpoint_url(endpoint: t.Mapping[str, t.Any] | None) -> str | None:
    if not endpoint or not endpoint.get("host"):
        return None
    host = str(endpoint["host"])
    return f"https://{f'[{host}]' if ':' in host else host}:{int(endpoint.get('port') or 6443)}"


def _waiting(
    cluster: Object, server: str | None, ca: KeyPair | None, remaining: timedelta | None
) -> KubeconfigResult | None:
    name = secrets.secret_name(cluster, secrets.KUBECONFIG)
    ca_name = secrets.secret_name(cluster, "ca")
    if server is None:
        return KubeconfigResult(
            False, "waiting", f"the Secret {name} waits for the cluster's controlPlaneEndpoint", "EndpointMissing"
        )
    if ca is None:
        return KubeconfigResult(
            False, "waiting", f"the Secret {name} waits for the Secret {ca_name}", "CertificateAuthorityMissing"
        )
    if ca.key is None:
        need = "can't be made" if remaining is None else f"has {max(remaining.days, 0)} days left and can't be renewed"
        return KubeconfigResult(
            False,
            "waiting",
            f"the Secret {name} {need} here: the Secret {ca_name} has no tls.key. Give a Secret {name} of your own whose key "
            f"'value' holds a kubeconfig (client certificate CN {COMMON_NAME}, O {ORGANIZATION}, signed by that CA), "
            f"or give the CA's key",
            "CertificateAuthorityKeyMissing",
        )
    return None


def _algorithm(control_plane: Object) -> str:
    spec = (control_plane.get("spec") or {}).get("kubeadmConfigSpec") or {}
    return str((spec.get("clusterConfiguration") or {}).get("encryptionAlgorithm") or certificates.ALGORITHMS[0])
