# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Signing keys of service account tokens, and the renewal of the tokens.

The tokens are in Secrets and in the volumes of pods.

A token's header names the key that signed it (``kid``): that tells who still depends on a key, without a token ever leaving its node.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import hashlib
import json
import os
import re
import time
import typing as t
from dataclasses import dataclass

from ...common.guard import NodeError
from ...common.values import controller_of
from ...workload_api import untrusted
from ...workload_api.api import MERGE_PATCH, ApiClient, ApiError
from ..components.static_pod import COMPONENTS

SECRETS = "/api/v1/secrets"
TYPE = "kubernetes.io/service-account-token"
ROOTS = "/api/v1/configmaps"
ROOT_NAME = "kube-root-ca.crt"
POD_VOLUMES = "/var/lib/kubelet/pods"
_KINDS = ("kubernetes.io~secret", "kubernetes.io~projected")
_CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----(.*?)-----END CERTIFICATE-----", re.DOTALL)
_MOST_BYTES = 64 * 1024
_POLL_SECONDS = 0.5

Object = dict[str, t.Any]


def key_id(token: str) -> t.Optional[str]:
    """Return the ``kid`` of a token's header, None for no token.

    "" in a token that names none (before 1.16).
    """
    parts = token.strip().split(".")
    if len(parts) != 3:
        return None
    try:
        header = json.loads(base64.urlsafe_b64decode(parts[0] + "=" * (-len(parts[0]) % 4)))
    except (ValueError, binascii.Error):
        return None
    if not isinstance(header, dict) or "alg" not in header:
        return None
    return str(header.get("kid") or "")


def fingerprints(pem: str) -> list[str]:
    """Return the SHA-256 of each certificate's DER form, in hexadecimal."""
    found = []
    for block in _CERTIFICATE.finditer(pem):
        with contextlib.suppress(ValueError, binascii.Error):
            found.append(hashlib.sha256(base64.b64decode("".join(block.group(1).split()))).hexdigest())
    return found


def volumes(directory: str = POD_VOLUMES) -> list[Object]:
    """Return the tokens in the volumes of this machine's pods.

    Each entry is ``{uid, volume, key_id, age}``: the pod by its UID, the age in seconds.

    Raises:
        NodeError: the folder can't be read: then nothing can be said of who has which token.
    """
    found: list[Object] = []
    try:
        pods = sorted(os.listdir(directory))
    except OSError as error:
        raise NodeError(f"{directory} can't be read: {error}.", "Name a node with a kubelet.") from error
    for uid in pods:
        for kind in _KINDS:
            folder = os.path.join(directory, uid, "volumes", kind)
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                for volume in sorted(os.listdir(folder)):
                    found += _tokens(uid, volume, os.path.join(folder, volume))
    return found


def _tokens(uid: str, volume: str, folder: str) -> list[Object]:
    found = []
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        # A projected token may have any name. What begins with ".." is the volume's own bookkeeping.
        for name in sorted(os.listdir(folder)):
            path = os.path.join(folder, name)
            if name.startswith("..") or not os.path.isfile(path):
                continue
            with contextlib.suppress(OSError), open(path, encoding="ascii", errors="replace") as file:
                identity = key_id(file.read(_MOST_BYTES))
                if identity is not None:
                    age = max(0, int(time.time() - os.fstat(file.fileno()).st_mtime))
                    found.append({"uid": uid, "volume": volume, "key_id": identity, "age": age})
    return found


@dataclass(frozen=True)
class Accounts:
    """Service accounts' tokens and the pods' authorities, read from the API."""

    client: ApiClient

    def secrets(self) -> list[Object]:
        """Return every Secret with a service account token.

        Each entry is ``{namespace, name, service_account, key_id, authorities}``; ``key_id`` is None without a token.
        """
        return [_secret(each) for each in self.client.list(SECRETS, fields=f"type={TYPE}")]

    def roots(self) -> list[Object]:
        """Return the authorities of every namespace's ConfigMap kube-root-ca.crt.

        Each entry is ``{namespace, authorities}``; there are none before 1.20.
        """
        items = self.client.list(ROOTS, fields=f"metadata.name={ROOT_NAME}")
        return [
            {
                "namespace": str(each["metadata"]["namespace"]),
                "authorities": fingerprints(str((each.get("data") or {}).get("ca.crt") or "")),
            }
            for each in items
        ]

    def pods(self, before: str) -> list[Object]:
        """Return the pods with a token that may run since before ``before``.

        It is RFC 3339, UTC. Each entry is ``{namespace, name, node, uid, started_at, owner, mounts_secret}``.

        ``started_at`` is "" of a pod of which no container runs; a pod that has finished for good is left out.
        ``owner`` is the controller that recreates the pod, as kubectl names it ("daemonset/kube-proxy"),
        or "" without one.
        """
        tokens = {(each["namespace"], each["name"]) for each in self.secrets()}
        found = []
        for pod in self._living():
            started = min(_starts(pod), default="")
            if started < before and _has_token(pod, tokens):
                metadata = pod["metadata"]
                found.append(
                    {
                        "namespace": str(metadata["namespace"]),
                        "name": str(metadata["name"]),
                        "uid": str(metadata["uid"]),
                        "node": str((pod.get("spec") or {}).get("nodeName") or ""),
                        "started_at": started,
                        "owner": _owner(pod),
                        "mounts_secret": _mounts_secret(pod, tokens),
                    }
                )
        return sorted(found, key=lambda each: (each["namespace"], each["name"]))

    def mounting(self, folders: t.Collection[str]) -> list[Object]:
        """Return the pods, except kubeadm's, that mount a node's folders.

        A pod mounts something below one of them. Each entry is ``{namespace, name, node, path, started_at}``.

        ``started_at`` is "" of a pod of which no container runs.
        """
        found = []
        for pod in self._living():
            paths = [each for each in _host_paths(pod) for folder in folders if f"{each}/".startswith(f"{folder}/")]
            if paths and not _is_kubeadms(pod["metadata"]):
                found.append(
                    {
                        "namespace": str(pod["metadata"]["namespace"]),
                        "name": str(pod["metadata"]["name"]),
                        "node": str((pod.get("spec") or {}).get("nodeName") or ""),
                        "path": paths[0],
                        "started_at": min(_starts(pod), default=""),
                    }
                )
        return sorted(found, key=lambda each: (each["namespace"], each["name"]))

    def renew(
        self, wanted: t.Collection[str], seconds: float, before_change: t.Callable[[], None], *, check: bool = False
    ) -> tuple[list[str], list[str]]:
        """Renew the service account tokens that no wanted key has signed.

        Returns the Secrets that were rewritten, and those that are still mounted.

        API servers refuse a token from a Secret as soon as the Secret holds another one. So a Secret that no pod
        mounts is rewritten in its place. For one that is mounted, the service account gets another Secret, which pods
        get that are started from now on; the mounted one stays valid for those that run.

        Raises:
            NodeError: some were not written in time. ApiError, Unreachable: the API refused or did not answer.
        """
        old = [each for each in self.secrets() if each["key_id"] not in wanted]
        mounts = self._mounted()
        mounted = [each for each in old if (each["namespace"], each["name"]) in mounts and each["key_id"] is not None]
        free = [each for each in old if each not in mounted]
        if check:
            return [_name(each) for each in free], [_name(each) for each in mounted]
        deadline = time.monotonic() + seconds
        for each in mounted:
            before_change()
            self._replace(each, wanted, deadline)
        stay = {_name(each) for each in mounted}
        while True:
            left = [each for each in self.secrets() if each["key_id"] not in wanted and _name(each) not in stay]
            if not left:
                return [_name(each) for each in free], sorted(stay)
            for each in left:
                # None: it was taken out, and the controller manager is about to write another one.
                if each["key_id"] is not None:
                    before_change()
                    self._take_out(each)
            names = ", ".join(_name(each) for each in left[:10])
            _bound(deadline, f"the controller manager did not write these tokens with the new key: {names}.")

    def _living(self) -> list[Object]:
        pods = self.client.list("/api/v1/pods")
        return [each for each in pods if (each.get("status") or {}).get("phase") not in ("Succeeded", "Failed")]

    def _mounted(self) -> set[tuple[str, str]]:
        return {(str(pod["metadata"]["namespace"]), name) for pod in self._living() for name in _secrets_of(pod)}

    def _replace(self, secret: Object, wanted: t.Collection[str], deadline: float) -> None:
        """Replace a service account's token Secret by one of a desired key.

        Only pods that start from now on get the other Secret.
        """
        namespace, account = secret["namespace"], secret["service_account"]
        path = f"/api/v1/namespaces/{namespace}/secrets"

        def others() -> list[Object]:
            same = [
                each for each in self.secrets() if (each["namespace"], each["service_account"]) == (namespace, account)
            ]
            return [each for each in same if each["name"] != secret["name"]]

        if not [each for each in others() if each["key_id"] in wanted or each["key_id"] is None]:
            annotations = {"kubernetes.io/service-account.name": account}
            metadata = {"generateName": f"{account}-token-", "annotations": annotations}
            document = {"apiVersion": "v1", "kind": "Secret", "type": TYPE, "metadata": metadata}
            self.client.checked(self.client.send("POST", path, document), path)
        while not (new := [each["name"] for each in others() if each["key_id"] in wanted]):
            _bound(
                deadline,
                f"the controller manager did not write a new token for the service account {namespace}/{account}.",
            )
        own = f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}"
        for _attempt in range(5):
            item = self.client.get(own)
            names = [str(each.get("name")) for each in (item or {}).get("secrets") or []]
            if item is None or (secret["name"] not in names and names[:1] == new[:1]):
                return
            kept = [each for each in names if each not in (secret["name"], new[0])]
            change = {
                "metadata": {"resourceVersion": item["metadata"]["resourceVersion"]},
                "secrets": [{"name": each} for each in (new[0], *kept)],
            }
            answer = self.client.send("PATCH", own, change, content_type=MERGE_PATCH)
            if answer.status != 409:
                self.client.checked(answer, own)
                return
        raise NodeError(f"another client keeps writing the service account {namespace}/{account}.", "Stop it.")

    def _take_out(self, secret: Object) -> None:
        path = f"/api/v1/namespaces/{secret['namespace']}/secrets/{secret['name']}"
        document = {"metadata": {"resourceVersion": secret["resource_version"]}, "data": {"token": None}}
        answer = self.client.send("PATCH", path, document, content_type=MERGE_PATCH)
        # Gone, or written by the controller manager meanwhile, as all of them are when it has begun to publish another authority: the next
        # look tells.
        if answer.status not in (404, 409):
            self.client.checked(answer, path)


def _bound(deadline: float, what: str) -> None:
    if time.monotonic() > deadline:
        raise NodeError(
            f"{what[0].upper()}{what[1:]}",
            "Look at its logs; does each service account still exist? A Secret of one that doesn't can be deleted.",
        )
    time.sleep(_POLL_SECONDS)


def _owner(pod: Object) -> str:
    owner = controller_of(pod)
    if owner is None:
        return ""
    kind, name = str(owner["kind"]).lower(), str(owner["name"])
    suffix = f"-{(pod['metadata'].get('labels') or {}).get('pod-template-hash')}"
    if kind == "replicaset" and name.endswith(suffix):
        return f"deployment/{name[: -len(suffix)]}"
    return f"{kind}/{name}"


def _name(secret: Object) -> str:
    return f"{secret['namespace']}/{secret['name']}"


def _secret(item: Object) -> Object:
    metadata, data = item["metadata"], item.get("data") or {}
    token = untrusted.base64_text(data.get("token"))
    return {
        "namespace": str(metadata["namespace"]),
        "name": str(metadata["name"]),
        "resource_version": str(metadata.get("resourceVersion") or ""),
        "service_account": str((metadata.get("annotations") or {}).get("kubernetes.io/service-account.name") or ""),
        "key_id": key_id(token) if token else None,
        "authorities": fingerprints(untrusted.base64_text(data.get("ca.crt"))),
    }


def _starts(pod: Object) -> list[str]:
    statuses = (pod.get("status") or {}).get("containerStatuses") or []
    running = [((each.get("state") or {}).get("running") or {}).get("startedAt") for each in statuses]
    return [str(each) for each in running if each]


def _host_paths(pod: Object) -> list[str]:
    volumes = (pod.get("spec") or {}).get("volumes") or []
    paths = [str((each.get("hostPath") or {}).get("path") or "") for each in volumes]
    return [os.path.normpath(each) for each in paths if each]


def _is_kubeadms(metadata: Object) -> bool:
    """Return whether a pod is a static pod of the control plane.

    Those are restarted with their files.
    """
    labels, annotations = metadata.get("labels") or {}, metadata.get("annotations") or {}
    return labels.get("component") in COMPONENTS and "kubernetes.io/config.mirror" in annotations


def _has_token(pod: Object, tokens: t.Collection[tuple[str, str]]) -> bool:
    sources = [
        source
        for volume in (pod.get("spec") or {}).get("volumes") or []
        for source in (volume.get("projected") or {}).get("sources") or []
    ]
    bound = any(isinstance(each, dict) and each.get("serviceAccountToken") for each in sources)
    return bound or _mounts_secret(pod, tokens)


def _mounts_secret(pod: Object, tokens: t.Collection[tuple[str, str]]) -> bool:
    return any((str(pod["metadata"]["namespace"]), name) in tokens for name in _secrets_of(pod))


def _secrets_of(pod: Object) -> t.Iterator[str]:
    for volume in (pod.get("spec") or {}).get("volumes") or []:
        for source in (volume, *((volume.get("projected") or {}).get("sources") or [])):
            secret = source.get("secret") or {} if isinstance(source, dict) else {}
            if secret:
                yield str(secret.get("secretName") or secret.get("name") or "")


__all__ = ["Accounts", "ApiError", "fingerprints", "key_id", "volumes"]
