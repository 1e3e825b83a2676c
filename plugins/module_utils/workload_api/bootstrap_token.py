# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bootstrap tokens: the Secrets in kube-system with which machines join.

Source: docs/reference/cluster_api.md, "Creating a machine".
"""

from __future__ import annotations

import base64
import datetime
import hashlib
import hmac
import math
import re
import secrets
import string
import typing as t

from ..common.https import read_date
from ..common.values import format_moment, parse_time
from .api import MERGE_PATCH, ApiClient

# kubeadm binds the rights of a joining node to this group (docs/reference/kubeadm.md, "RBAC").
GROUP = "system:bootstrappers:kubeadm:default-node-token"
TOKEN_PATTERN = re.compile(r"([a-z0-9]{6})\.([a-z0-9]{16})")
TOKEN_ID_PATTERN = re.compile(r"[a-z0-9]{6}")
_ALPHABET = string.ascii_lowercase + string.digits
_SECRETS = "/api/v1/namespaces/kube-system/secrets"
CLUSTER_INFO = "/api/v1/namespaces/kube-public/configmaps/cluster-info"
# The controller manager and a rotation of authorities write cluster-info, too: so often it is read again.
_ATTEMPTS = 10


def new_token() -> str:
    """Return a random bootstrap token, ``<6 characters>.<16 characters>``."""
    return ".".join("".join(secrets.choice(_ALPHABET) for _unused in range(length)) for length in (6, 16))


def secret_document(token: str, ttl: int, description: str, now: datetime.datetime) -> dict[str, t.Any]:
    """Return the Secret of a token that is valid for ``ttl`` seconds.

    Its usages are authentication and signing of cluster-info.

    Raises:
        ValueError: the text isn't a token (the message doesn't show it).
    """
    found = TOKEN_PATTERN.fullmatch(token)
    if found is None:
        raise ValueError("token is not a bootstrap token: it must match [a-z0-9]{6}.[a-z0-9]{16}")
    end = now + datetime.timedelta(seconds=ttl)
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "bootstrap.kubernetes.io/token",
        "metadata": {"name": f"bootstrap-token-{found.group(1)}", "namespace": "kube-system"},
        "stringData": {
            "token-id": found.group(1),
            "token-secret": found.group(2),
            "expiration": format_moment(end),
            "usage-bootstrap-authentication": "true",
            "usage-bootstrap-signing": "true",
            "auth-extra-groups": GROUP,
            "description": description,
        },
    }


def server_time(client: ApiClient) -> datetime.datetime:
    """Return the API server's time, by which tokens expire.

    It is this machine's time where the server's answer has none.
    """
    client.send("GET", "/readyz")
    return read_date(client.date) or datetime.datetime.now(datetime.timezone.utc)


def path_of(token_id: str) -> str:
    """Return the path of a token's Secret.

    The ID is the six characters before the point.
    """
    return f"{_SECRETS}/bootstrap-token-{token_id}"


def create(client: ApiClient, document: t.Mapping[str, t.Any]) -> bool:
    """Create a token's Secret; return False where the token's ID exists.

    Raises:
        ApiError: the API refused. Unreachable: it did not answer.
    """
    answer = client.send("POST", _SECRETS, document)
    if answer.status == 409:
        return False
    client.checked(answer, _SECRETS)
    return True


def signs(client: ApiClient, token: str) -> t.Optional[bool]:
    """Return whether a token that exists signs and hasn't ended.

    None where none of its ID exists.

    Raises:
        ValueError: another token has its ID (the message doesn't show it).
    """
    token_id, secret = token.split(".")
    stored = client.get(path_of(token_id))
    if stored is None:
        return None
    data = {key: base64.b64decode(value).decode(errors="replace") for key, value in (stored.get("data") or {}).items()}
    if data.get("token-secret") != secret:
        raise ValueError(f"another token has the ID {token_id}: give another one, or delete that one with state=absent")
    end = (parse_time(data["expiration"]) or 0) if data.get("expiration") else math.inf
    return data.get("usage-bootstrap-signing") == "true" and end > server_time(client).timestamp()


def delete(client: ApiClient, token_id: str) -> bool:
    """Delete a token by its ID and return whether it existed."""
    path = path_of(token_id)
    answer = client.send("DELETE", path)
    if answer.status == 404:
        return False
    client.checked(answer, path)
    return True


def signature(token: str, content: str) -> str:
    """Return a token's signature of cluster-info's kubeconfig.

    It is the controller manager's: a JSON web signature (RFC 7515) of HS256 without the signed text, which kubeadm compares letter by letter.
    Source: docs/reference/kubeadm.md, "Discovery".
    """
    token_id, secret = token.split(".")
    header = _base64url(f'{{"alg":"HS256","kid":"{token_id}"}}'.encode())
    signed = f"{header}.{_base64url(content.encode())}".encode()
    return f"{header}..{_base64url(hmac.new(secret.encode(), signed, hashlib.sha256).digest())}"


def sign(client: ApiClient, token: str) -> t.Optional[bool]:
    """Sign cluster-info with a token, as the controller manager will.

    That may not be so far: twelve seconds after the first initialization it has read nothing yet, and one that leads may have to be elected
    first. kubeadm join asks for the signature every five seconds only.

    Returns:
        Whether it had to be written; None where the cluster has no cluster-info.

    Raises:
        ApiError: the API refused, or others wrote it each time. Unreachable: it did not answer.
    """
    for _attempt in range(_ATTEMPTS):
        missing = unsigned(client, token)
        if not missing:
            return None if missing is None else False
        answer = client.send("PATCH", CLUSTER_INFO, missing, content_type=MERGE_PATCH)
        if answer.status != 409:
            break
    client.checked(answer, CLUSTER_INFO)
    return True


def unsigned(client: ApiClient, token: str) -> t.Optional[dict[str, t.Any]]:
    """Return the patch that signs cluster-info with a token.

    It is empty where cluster-info is signed; None where the cluster has no cluster-info.
    """
    info = client.get(CLUSTER_INFO) or {}
    data = info.get("data") or {}
    if not isinstance(data.get("kubeconfig"), str):
        return None
    key, value = "jws-kubeconfig-" + token.split(".", maxsplit=1)[0], signature(token, data["kubeconfig"])
    if data.get(key) == value:
        return {}
    return {"metadata": {"resourceVersion": info["metadata"]["resourceVersion"]}, "data": {key: value}}


def _base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")
