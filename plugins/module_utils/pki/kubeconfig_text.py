# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A kubeconfig as text, written and read."""

from __future__ import annotations

import base64
import typing as t

from ansible_collections.kubeadm.control_plane.plugins.module_utils.pki.certificates import KeyPair
from ansible_collections.kubeadm.control_plane.plugins.module_utils.store import yaml_text


def kubeconfig_text(cluster_name: str, server: str, ca_pem: str, client: KeyPair) -> str:
    """Return a kubeconfig with Cluster API's names: user ``<cluster>-admin``, context ``<user>@<cluster>``. Secret."""
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


def client_certificate(text: str) -> str | None:
    """Return the PEM client certificate that a kubeconfig carries for its current context, or None."""
    try:
        config = yaml_text.from_yaml(text)
        context = _named(config["contexts"], config["current-context"])["context"]
        encoded = _named(config["users"], context["user"])["user"]["client-certificate-data"]
        return base64.b64decode(encoded).decode()
    except (ValueError, KeyError, TypeError, StopIteration):
        return None


def server_url(text: str | None) -> str | None:
    """Return the URL of the server of a kubeconfig's current context, or None."""
    try:
        config = yaml_text.from_yaml(text or "")
        context = _named(config["contexts"], config["current-context"])["context"]
        return str(_named(config["clusters"], context["cluster"])["cluster"]["server"])
    except (ValueError, KeyError, TypeError, StopIteration):
        return None


def _named(entries: t.Any, name: t.Any) -> t.Any:
    return next(each for each in entries if each["name"] == name)


def _b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
