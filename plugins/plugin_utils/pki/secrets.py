# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Certificate Secrets of a cluster, made once before the first machine.

After that they are only read.

Source: docs/reference/cluster_api.md, "Certificates".
"""

from __future__ import annotations

import base64
import binascii
import typing as t
from dataclasses import dataclass, field

from ...module_utils.common import kubernetes_facts
from ...module_utils.common.values import controller_of
from ..objects import kinds
from ..objects.user_annotations import FROM_MANIFEST
from ..store.base import AlreadyExists, Object, Store
from . import certificates
from .certificates import KeyPair, PkiError
from .kubeconfig_text import client_certificate

SECRET = ("", kinds.SECRET)
AUTHORITIES = (kinds.PURPOSE_CA, kinds.PURPOSE_ETCD, kinds.PURPOSE_PROXY)
SERVICE_ACCOUNT = kinds.PURPOSE_SERVICE_ACCOUNT
ETCD_CLIENT = kinds.PURPOSE_ETCD_CLIENT
KUBECONFIG = kinds.PURPOSE_KUBECONFIG

Facts = dict[str, dict[str, t.Any]]


@dataclass(frozen=True)
class CertificateResult:
    """Result of :func:`ensure_certificates`; nothing in it is secret.

    ``generated`` and ``missing`` are names of Secrets; ``problems`` are sentences that name Secret, fault and fix;
    ``facts`` is the snapshot's ``certificates``.
    """

    changed: bool
    generated: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    facts: Facts = field(default_factory=dict)


def ensure_certificates(
    store: Store, cluster: Object, control_plane: Object, now: str, initialized: bool | None
) -> CertificateResult:
    """Make a cluster's missing certificate Secrets before it is initialized.

    Later they are only looked up.
    ``initialized`` None (unknown) counts as initialized: a CA made again would cut off every machine there is.
    A user's own Secrets (see :func:`is_users_own`) are checked and never touched; others get this control plane as
    their controller, whoever was it before (docs/reference/cluster_api.md, "Certificates").
    Before initialization the first fault stops everything: raises :class:`PkiError` that
    lists all of them, with nothing generated.
    """
    certificates.need_cryptography()
    configuration = _cluster_configuration(control_plane)
    external = bool((configuration.get("etcd") or {}).get("external"))
    present, missing, problems = {}, [], []
    for purpose in _purposes(external):
        secret = read_secret(store, cluster, purpose)
        if secret is None:
            missing.append(purpose)
            continue
        present[purpose] = secret
        problems += _secret_problems(purpose, secret, now, external)
    user_supplied = [each for each in missing if external and each in (kinds.PURPOSE_ETCD, ETCD_CLIENT)]
    problems += [_supply_text(cluster, purpose) for purpose in user_supplied]
    generated: list[str] = []
    if initialized is False:
        if problems:
            raise PkiError(
                "the cluster's certificates can't be used",
                f"cluster {_place(cluster)}",
                "; ".join(problems),
                "Nothing was made. Correct these Secrets in the manifest; then run again.",
            )
        for purpose in missing:
            _generate(store, cluster, control_plane, purpose, configuration, now)
            generated.append(secret_name(cluster, purpose))
        missing = []
    adopted = [take_over(store, control_plane, secret) for secret in present.values()]
    return CertificateResult(
        changed=bool(generated) or any(adopted),
        generated=generated,
        missing=[secret_name(cluster, each) for each in missing],
        problems=problems,
        facts=certificate_facts(store, cluster),
    )


def certificate_facts(store: Store, cluster: Object) -> Facts:
    """Return the snapshot's ``certificates``. Nothing secret.

    Which there are, with keys or without, and their end dates:
    ``{ca|etcd|proxy|sa: {present, hasKey, notAfter, fingerprint}, kubeconfig: {present, notAfter}}``; ``notAfter`` is
    null where there is no certificate (sa holds a bare public key) or none that can be read.
    """
    facts: Facts = {}
    for purpose in (*AUTHORITIES, SERVICE_ACCOUNT):
        secret = read_secret(store, cluster, purpose)
        not_after, fingerprint = (
            _certificate_dates(value(secret, "tls.crt")) if purpose in AUTHORITIES else (None, None)
        )
        facts[purpose] = {
            "present": bool(value(secret, "tls.crt")),
            "hasKey": bool(value(secret, "tls.key")),
            "notAfter": not_after,
            "fingerprint": fingerprint,
        }
    stored = read_secret(store, cluster, KUBECONFIG)
    kubeconfig = value(stored, "value")
    certificate = client_certificate(kubeconfig) if kubeconfig else None
    # A user's own is never touched: without a kubeconfig that is read here it is not made again either.
    present = bool(kubeconfig) or (stored is not None and is_users_own(stored))
    facts[KUBECONFIG] = {"present": present, "notAfter": _certificate_dates(certificate)[0]}
    return facts


def read_certificates(store: Store, cluster: Object) -> dict[str, dict[str, str | None]]:
    """Return certificates and keys of a cluster's Secrets, by purpose. Secret.

    ``{purpose: {"crt": PEM, "key": PEM or None}}`` of the Secrets that are there.
    """
    found: dict[str, dict[str, str | None]] = {}
    for purpose in (*AUTHORITIES, SERVICE_ACCOUNT, ETCD_CLIENT):
        pair = read_pair(store, cluster, purpose)
        if pair is not None:
            found[purpose] = {"crt": pair.crt, "key": pair.key}
    return found


def read_pair(store: Store, cluster: Object, purpose: str) -> KeyPair | None:
    """Return the certificate and key of one Secret, or None. Secret.

    The cluster's Secret for a purpose; None where there is none.
    """
    secret = read_secret(store, cluster, purpose)
    crt = value(secret, "tls.crt")
    return KeyPair(crt, value(secret, "tls.key")) if crt else None


def read_secret(store: Store, cluster: Object, purpose: str) -> Object | None:
    """Return the cluster's Secret for a purpose such as ``ca``, or None."""
    return store.get(SECRET, str(cluster["metadata"]["namespace"]), secret_name(cluster, purpose))


def secret_name(cluster: Object, purpose: str) -> str:
    """Return the name of a cluster's Secret: ``prod-ca``."""
    return kinds.secret_name(str(cluster["metadata"]["name"]), purpose)


def new_secret(
    cluster: Object, control_plane: Object | None, purpose: str, values: t.Mapping[str, str | None]
) -> Object:
    """Return a new Secret of this collection's, not yet stored.

    With Cluster API's type, label and controller.
    """
    metadata: Object = {
        "name": secret_name(cluster, purpose),
        "namespace": cluster["metadata"]["namespace"],
        "labels": {kinds.LABEL_CLUSTER_NAME: cluster["metadata"]["name"]},
    }
    if control_plane is not None:
        metadata["ownerReferences"] = [controller_reference(control_plane)]
    data = {key: base64.b64encode(text.encode()).decode() for key, text in values.items() if text is not None}
    return {"apiVersion": "v1", "kind": kinds.SECRET, "metadata": metadata, "type": kinds.SECRET_TYPE, "data": data}


def controller_reference(control_plane: Object, kind: str = kinds.KUBEADM_CONTROL_PLANE) -> Object:
    """Return the ownerReference by which a KubeadmControlPlane controls an object.

    Or another stored object of that `kind`.
    """
    reference = _reference(kinds.api_version(kind), kind, control_plane["metadata"])
    return {**reference, "blockOwnerDeletion": True}


def set_controller(obj: Object, control_plane: Object) -> None:
    """Set a KubeadmControlPlane as an object's controller.

    It replaces any other; the object's other owners stay.
    """
    others = [each for each in obj["metadata"].get("ownerReferences") or [] if not each.get("controller")]
    obj["metadata"]["ownerReferences"] = [*others, controller_reference(control_plane)]


def _reference(api_version: str, kind: str, metadata: Object) -> Object:
    return {
        "apiVersion": api_version,
        "kind": kind,
        "name": metadata["name"],
        "uid": metadata["uid"],
        "controller": True,
    }


def hand_over(store: Store, cluster: Object, former: Object, owner: Object) -> list[str]:
    """Change the controller of a cluster's Secrets; return what was done.

    From ``former`` to ``owner``; what was done is in words.
    An API's garbage collector removes what has no owner. So the Cluster keeps its keys while its KubeadmControlPlane is
    deleted, and a new one gets them. Only Secrets with the cluster's label are read, and of them only those that
    ``former`` owns are changed.
    """
    uid, metadata = former["metadata"]["uid"], owner["metadata"]
    if owner["kind"] == kinds.KUBEADM_CONTROL_PLANE:
        reference = controller_reference(owner)
    else:
        reference = _reference(owner["apiVersion"], owner["kind"], metadata)

    def change(stored: Object) -> None:
        owners = [each for each in stored["metadata"].get("ownerReferences") or [] if each.get("uid") != uid]
        stored["metadata"]["ownerReferences"] = [*owners, reference]

    done = []
    namespace = str(cluster["metadata"]["namespace"])
    for secret in store.list(SECRET, namespace, {kinds.LABEL_CLUSTER_NAME: str(cluster["metadata"]["name"])}):
        if any(each.get("uid") == uid for each in secret["metadata"].get("ownerReferences") or []):
            name = str(secret["metadata"]["name"])
            store.modify(SECRET, namespace, name, change)
            done.append(f"hand Secret {name} over to {owner['kind']} {metadata['name']}")
    return done


def is_users_own(secret: Object) -> bool:
    """Return whether a Secret stays its user's.

    It has not Cluster API's type, or a manifest gives it, which would write it back.
    """
    annotations = secret["metadata"].get("annotations") or {}
    return secret.get("type") != kinds.SECRET_TYPE or FROM_MANIFEST in annotations


def take_over(store: Store, control_plane: Object, secret: Object) -> bool:
    """Make a control plane a Secret's controller; return whether that changed.

    In place of another one or of none. A user's own Secret is left unchanged.
    """
    if is_users_own(secret) or is_controlled_by(secret, control_plane):
        return False

    metadata = secret["metadata"]
    store.modify(SECRET, metadata["namespace"], metadata["name"], lambda stored: set_controller(stored, control_plane))
    return True


def is_controlled_by(secret: Object, control_plane: Object) -> bool:
    """Return whether this control plane controls a Secret.

    It is no user's own, and this control plane is its controller.
    """
    controller = controller_of(secret)
    ours = controller is not None and controller.get("uid") == control_plane["metadata"]["uid"]
    return ours and not is_users_own(secret)


def value(secret: Object | None, key: str) -> str | None:
    """Return a decoded text of a Secret, or None.

    None where it is missing, empty or not base64 of a text.
    """
    encoded = ((secret or {}).get("data") or {}).get(key)
    if not isinstance(encoded, str) or not encoded:
        return None
    try:
        return base64.b64decode(encoded, validate=True).decode() or None
    except (ValueError, binascii.Error):
        return None


def _purposes(external: bool) -> list[str]:
    return [*AUTHORITIES, SERVICE_ACCOUNT, *([ETCD_CLIENT] if external else [])]


def _cluster_configuration(control_plane: Object) -> Object:
    spec = (control_plane.get("spec") or {}).get("kubeadmConfigSpec") or {}
    return spec.get("clusterConfiguration") or {}


def _secret_problems(purpose: str, secret: Object, now: str, external: bool) -> list[str]:
    name = f"Secret {secret['metadata']['namespace']}/{secret['metadata']['name']}"
    crt = value(secret, "tls.crt")
    if not crt:
        return [f"{name} has no tls.crt (base64 of PEM text): put {_content(purpose)} there"]
    raw_key = (secret.get("data") or {}).get("tls.key")
    key = value(secret, "tls.key")
    if raw_key and not key:
        return [f"{name}: tls.key is not base64 of PEM text"]
    if purpose in AUTHORITIES:
        # An external etcd's authority stays with etcd: kubeadm needs its certificate only.
        found = certificates.check_ca(crt, key, now)
    else:
        found = certificates.check_key_pair(crt, key, _content(purpose))
        if purpose == ETCD_CLIENT and not found and certificates.certificate_info(crt).not_after <= now:
            found = [f"the certificate expired at {certificates.certificate_info(crt).not_after}"]
    return [f"{name}: {each}" for each in found]


def _content(purpose: str) -> str:
    if purpose in AUTHORITIES:
        return f"the CA certificate {certificates.CA_COMMON_NAMES[purpose]}"
    return (
        "the service account's public key"
        if purpose == SERVICE_ACCOUNT
        else "kube-apiserver's client certificate for etcd"
    )


def _supply_text(cluster: Object, purpose: str) -> str:
    keys = "tls.crt" if purpose == kinds.PURPOSE_ETCD else "tls.crt and tls.key"
    return (
        f"Secret {cluster['metadata']['namespace']}/{secret_name(cluster, purpose)} is missing: with external etcd its "
        f"authority is yours, so give {keys} ({_content(purpose)}) in a Secret of that name"
    )


def _generate(
    store: Store, cluster: Object, control_plane: Object, purpose: str, configuration: Object, now: str
) -> None:
    algorithm = str(configuration.get("encryptionAlgorithm") or certificates.ALGORITHMS[0])
    days = int(configuration.get("caCertificateValidityPeriodDays") or kubernetes_facts.CA_VALIDITY_DAYS)
    if purpose == SERVICE_ACCOUNT:
        pair = certificates.new_service_account(algorithm)
    else:
        pair = certificates.new_ca(certificates.CA_COMMON_NAMES[purpose], now, algorithm, days)
    secret = new_secret(cluster, control_plane, purpose, {"tls.crt": pair.crt, "tls.key": pair.key})
    try:
        store.create(secret)
    except AlreadyExists:
        # Someone put it there meanwhile: theirs counts, and the next pass reads and checks it.
        return


def _certificate_dates(pem: str | None) -> tuple[str | None, str | None]:
    if not pem:
        return None, None
    try:
        info = certificates.certificate_info(pem)
    except PkiError:
        certificates.need_cryptography()
        return None, None
    return info.not_after, info.fingerprint


def _place(cluster: Object) -> str:
    return f"{cluster['metadata']['namespace']}/{cluster['metadata']['name']}"
