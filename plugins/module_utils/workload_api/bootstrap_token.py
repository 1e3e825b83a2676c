# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bootstrap tokens: the Secrets in kube-system with which machines join.

Source: docs/reference/cluster_api.md, "Creating a machine".
"""

from __future__ import annotations

import datetime
import re
import secrets
import string
import time
import typing as t

from ..common.https import read_date
from ..common.values import format_moment
from .api import ApiClient, ApiError

# kubeadm binds the rights of a joining node to this group (docs/reference/kubeadm.md, "RBAC").
GROUP = "system:bootstrappers:kubeadm:default-node-token"
TOKEN_PATTERN = re.compile(r"([a-z0-9]{6})\.([a-z0-9]{16})")
TOKEN_ID_PATTERN = re.compile(r"[a-z0-9]{6}")
_ALPHABET = string.ascii_lowercase + string.digits
_SECRETS = "/api/v1/namespaces/kube-system/secrets"
CLUSTER_INFO = "/api/v1/namespaces/kube-public/configmaps/cluster-info"
_POLL_SECONDS = 0.25


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


def exists(client: ApiClient, token_id: str) -> bool:
    """Return whether a token of that ID exists.

    Its Secret is read, and nothing of it is kept.
    """
    return client.get(f"{_SECRETS}/bootstrap-token-{token_id}") is not None


def delete(client: ApiClient, token_id: str) -> bool:
    """Delete a token by its ID and return whether it existed.

    The ID is the six characters before the point.
    """
    path = f"{_SECRETS}/bootstrap-token-{token_id}"
    answer = client.send("DELETE", path)
    if answer.status == 404:
        return False
    client.checked(answer, path)
    return True


def wait_until_signed(client: ApiClient, token_id: str, seconds: float) -> bool:
    """Wait until cluster-info is signed with the token.

    kubeadm join itself would check it only every five seconds. Returns False where it was not signed in time.
    """
    deadline = time.monotonic() + seconds
    while True:
        try:
            info = client.get(CLUSTER_INFO)
        except ApiError:
            info = None
        if f"jws-kubeconfig-{token_id}" in ((info or {}).get("data") or {}):
            return True
        if time.monotonic() >= deadline:
            return False
        time.sleep(_POLL_SECONDS)
