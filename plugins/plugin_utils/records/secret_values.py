# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Values of the store's Secrets, and the templates in them."""

from __future__ import annotations

import base64
import functools
from collections.abc import Sequence
from typing import Optional

from ...module_utils.common.violations import Report
from ..calls.failure import ControlPlaneFailure
from ..objects.instance_data import rendering
from ..objects.manifest.reader import ClusterManifest
from ..store.base import Store
from .cluster_objects import SECRET, Object


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
    return _decoded(secret, key)


def checked_secrets(store: Store, manifest: ClusterManifest) -> Report:
    """Check the templates in the Secrets of files and users.

    Here, before a rollout removes a machine for one that could not be started.
    """
    metadata = manifest.control_plane["metadata"]
    find = functools.partial(_known_value, store, str(metadata.get("namespace", "default")), manifest.secrets)
    report = manifest.report(manifest.control_plane)
    config = manifest.control_plane["spec"].get("kubeadmConfigSpec") or {}
    rendering.validate_secrets(config, "spec.kubeadmConfigSpec", find, report)
    return report


def _known_value(store: Store, namespace: str, given: Sequence[Object], name: str, key: str) -> Optional[bytes]:
    """Return the decoded value of a Secret's key, or None.

    `given` are a manifest's Secrets, which come before the stored ones.
    """
    secret = next((each for each in given if each["metadata"]["name"] == name), None) or store.get(
        SECRET, namespace, name
    )
    return _decoded(secret, key) if secret and key in (secret.get("data") or {}) else None


def _decoded(secret: Object, key: str) -> bytes:
    try:
        return base64.b64decode("".join(secret["data"][key].split()), validate=True)
    except (AttributeError, ValueError):
        metadata = secret["metadata"]
        raise ControlPlaneFailure(
            f"the Secret {metadata.get('namespace', 'default')}/{metadata['name']} has no base64 in data[{key!r}], but the KubeadmConfigSpec "
            "refers to it (contentFrom or passwdFrom): no machine could be started with it. Nothing was changed. Write the value in base64, "
            "or as plain text below stringData of the manifest."
        ) from None
