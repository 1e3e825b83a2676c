# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Text of a kubeconfig, written and read."""

from __future__ import annotations

import base64
import typing as t

from ..store import yaml_text
from .certificates import KeyPair
from .reissue import certificates_of


def kubeconfig_text(cluster_name: str, server: str, ca_pem: str, client: KeyPair) -> str:
    """Return a kubeconfig with Cluster API's names. Secret.

    User ``<cluster>-admin``, context ``<user>@<cluster>``.
    """
    user = f"{cluster_name}-admin"
    context = f"{user}@{cluster_name}"
    return yaml_text.to_yaml(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [
                {"name": cluster_name, "cluster": {"server": server, "certificate-authority-data": _b64(ca_pem)}}
            ],
            "contexts": [{"name": context, "context": {"cluster": cluster_name, "user": user}}],
            "current-context": context,
            "preferences": {},
            "users": [
                {
                    "name": user,
                    "user": {"client-certificate-data": _b64(client.crt), "client-key-data": _b64(client.key or "")},
                }
            ],
        }
    )


def changed(text: str, ca_pem: str = "", client: KeyPair | None = None) -> str:
    """Return a kubeconfig with other authorities or client certificate. Secret.

    They are replaced for its current context; what is not given stays.

    Raises:
        ValueError: it is none, or its current context leads nowhere.
    """
    config = _read(text)
    try:
        context = _named(config, "contexts", config["current-context"])
        cluster = _named(config, "clusters", context["cluster"])
        user = _named(config, "users", context["user"])
    except (KeyError, TypeError, StopIteration):
        raise ValueError("this is no kubeconfig with a current context") from None
    if ca_pem:
        cluster["certificate-authority-data"] = _b64(ca_pem)
    if client is not None:
        user.update({"client-certificate-data": _b64(client.crt), "client-key-data": _b64(client.key or "")})
    return yaml_text.to_yaml(config)


def authorities(text: str) -> str:
    """Return the PEM authorities of all clusters of a kubeconfig.

    One after the other; "" where it names none.
    """
    try:
        found = [each.get("certificate-authority-data") or "" for each in _bodies(_read(text), "clusters")]
        return "".join(base64.b64decode(each).decode() for each in found)
    except (ValueError, KeyError, TypeError):
        return ""


def is_of_the_same_cluster(found: str, text: str) -> bool:
    """Return whether a kubeconfig leads only to another one's cluster.

    True where ``found`` leads to the cluster of ``text``, and to nothing else.
    It is the same cluster where the server or one of the authorities is the same: an endpoint can move, and authorities
    are rotated.
    """
    try:
        config = _read(found)
        alone = len(config["clusters"]) == 1 and len(config["contexts"]) == 1
    except (ValueError, KeyError, TypeError):
        return False
    shared = set(certificates_of(authorities(found))) & set(certificates_of(authorities(text)))
    return alone and (bool(shared) or server_url(found) == server_url(text))


def with_authorities(text: str, ca_pem: str) -> str:
    """Return a kubeconfig with these authorities for all its clusters.

    It needs no context: the one of cluster-info has none. Raises ValueError.
    """
    config = _read(text)
    try:
        for each in _bodies(config, "clusters"):
            each["certificate-authority-data"] = _b64(ca_pem)
    except (KeyError, TypeError):
        raise ValueError("this is no kubeconfig") from None
    return yaml_text.to_yaml(config)


def client_certificate(text: str) -> str | None:
    """Return the PEM client certificate of a kubeconfig's current context.

    None where it carries none.
    """
    try:
        config = _read(text)
        context = _named(config, "contexts", config["current-context"])
        encoded = _named(config, "users", context["user"])["client-certificate-data"]
        return base64.b64decode(encoded).decode()
    except (ValueError, KeyError, TypeError, StopIteration):
        return None


def server_url(text: str | None) -> str | None:
    """Return the server's URL of a kubeconfig's current context.

    None where there is none.
    """
    try:
        config = _read(text or "")
        context = _named(config, "contexts", config["current-context"])
        return str(_named(config, "clusters", context["cluster"])["server"])
    except (ValueError, KeyError, TypeError, StopIteration):
        return None


def _read(text: str) -> dict[str, t.Any]:
    """Return a kubeconfig's mapping. Raises ValueError."""
    config = yaml_text.from_yaml(text)
    if not isinstance(config, dict):
        raise ValueError("this is no kubeconfig")
    return config


def _named(config: dict[str, t.Any], kind: str, name: t.Any) -> dict[str, t.Any]:
    """Return the body of the entry with a name.

    Raises KeyError or TypeError where a part of it is not of its type, and StopIteration without it.
    """
    return _body(next(each for each in config[kind] if each["name"] == name), kind)


def _bodies(config: dict[str, t.Any], kind: str) -> list[dict[str, t.Any]]:
    """Return the bodies of all entries. Raises KeyError or TypeError."""
    return [_body(each, kind) for each in config[kind]]


def _body(entry: t.Any, kind: str) -> dict[str, t.Any]:
    body = entry[kind[:-1]]
    if not isinstance(body, dict):
        raise TypeError(f"{kind[:-1]} is no mapping")
    return body


def _b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
