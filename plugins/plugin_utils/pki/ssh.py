# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""SSH key for a cluster's machines, in the Secret ``<cluster>-ssh``.

An Ed25519 pair.
"""

from __future__ import annotations

import typing as t

from ..objects import kinds
from ..store.base import AlreadyExists, Object, Store
from . import certificates, secrets
from .certificates import PkiError

try:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ed25519
except ImportError:
    pass  # certificates.need_cryptography says so

PURPOSE = kinds.PURPOSE_SSH
KEY = "ssh-privatekey"


def ensure_ssh_key(store: Store, cluster: Object, control_plane: Object | None, now: str = "") -> str:
    """Make the cluster's SSH key if missing; return the public key.

    It is one line as in ``authorized_keys``.
    A user's own Secret of that name is used untouched, whatever its key's algorithm. Raises :class:`PkiError`.
    """
    certificates.need_cryptography()
    stored = secrets.read_secret(store, cluster, PURPOSE)
    if stored is None:
        private = ed25519.Ed25519PrivateKey.generate()
        text = private.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
        ).decode()
        try:
            stored = store.create(secrets.new_secret(cluster, control_plane, PURPOSE, {KEY: text}))
        except AlreadyExists:
            stored = secrets.read_secret(store, cluster, PURPOSE)
    return f"{_public_key(cluster, stored)} {cluster['metadata']['namespace']}-{cluster['metadata']['name']}"


def public_key(store: Store, cluster: Object) -> str | None:
    """Return the public key of the cluster's SSH Secret, or None.

    None where there is no such Secret. Raises :class:`PkiError`.
    """
    certificates.need_cryptography()
    stored = secrets.read_secret(store, cluster, PURPOSE)
    return None if stored is None else _public_key(cluster, stored)


def _public_key(cluster: Object, stored: Object | None) -> str:
    text = secrets.value(stored, KEY)
    private: t.Any = None
    if text:
        # The library's words may quote what it read.
        try:
            private = serialization.load_ssh_private_key(text.encode(), password=None)
        except (ValueError, TypeError):
            private = _load_pem(text)
    if private is None:
        raise PkiError(
            "the SSH key of the cluster's machines can't be used",
            f"Secret {cluster['metadata']['namespace']}/{secrets.secret_name(cluster, PURPOSE)}, key {KEY}",
            "it is not a private key in OpenSSH or PEM form without a passphrase",
            "No machine was reached. Give such a key there, base64 encoded.",
        )
    data: bytes = private.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    return data.decode()


def _load_pem(text: str) -> t.Any:
    try:
        return serialization.load_pem_private_key(text.encode(), password=None)
    except (ValueError, TypeError):
        return None
