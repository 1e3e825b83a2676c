# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Values of the store's Secrets."""

from __future__ import annotations

import base64

from ..calls.failure import ControlPlaneFailure
from ..store.base import Store
from .cluster_objects import SECRET


def secret_value(store: Store, namespace: str, name: str, key: str) -> bytes:
    """Return the decoded value of a Secret's key.

    Fails naming Secret and key where it doesn't exist.
    """
    secret = store.get(SECRET, namespace, name)
    if secret is None or key not in secret.get("data", {}):
        raise ControlPlaneFailure(
            f"the Secret {namespace}/{name} has no key {key!r} in the store, but the KubeadmConfigSpec refers to it "
            "(contentFrom or passwdFrom); nothing was started. Add the Secret to the manifest."
        )
    return base64.b64decode(secret["data"][key])
