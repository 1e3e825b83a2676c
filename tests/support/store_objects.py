# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Objects for tests of the file store."""

from __future__ import annotations

from typing import Any

MACHINE = ("cluster.x-k8s.io", "Machine")


SECRET = ("", "Secret")


def machine(name: str = "m-1", namespace: str = "default", **metadata: Any) -> dict[str, Any]:
    """A Machine."""
    return {
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "Machine",
        "metadata": {"name": name, "namespace": namespace, **metadata},
        "spec": {"clusterName": "prod", "version": "v1.20.2"},
    }


def secret(name: str = "prod-ca", value: str = "c2VjcmV0") -> dict[str, Any]:
    """A Secret with one value."""
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "Opaque", "data": {"tls.key": value}}
