# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Paths of kinds and objects in a Kubernetes API."""

from __future__ import annotations

from ...crds import crd_names, definitions
from .. import base
from ..base import KindRef


def kind_path(kind_ref: KindRef, namespace: str | None, version: str = "") -> str:
    """Return the API path of a kind's objects; refuse invalid names.

    The objects of one namespace, or of all; in the version of this collection's definition by default.
    """
    base.check_kind_ref(kind_ref)
    group, kind = kind_ref
    version = version or definitions.version_of(kind)
    root = f"/apis/{group}/{version}" if group else f"/api/{version}"
    if namespace is None:
        return f"{root}/{crd_names.plural(kind)}"
    base.check_namespace(namespace)
    return f"{root}/namespaces/{namespace}/{crd_names.plural(kind)}"


def object_path(kind_ref: KindRef, namespace: str, name: str, version: str = "") -> str:
    """Return an object's API path; refuse invalid names."""
    base.check_namespace(namespace)
    base.check_name(name)
    return f"{kind_path(kind_ref, namespace, version)}/{name}"
