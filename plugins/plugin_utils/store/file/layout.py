# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layout of the file store: the path of each object's file."""

from __future__ import annotations

import os
import typing as t

from .. import base, pause
from ..base import KindRef, Object

SECRET: KindRef = ("", "Secret")
JOURNAL_FOLDER = "journal"
LOCKS_FOLDER = "locks"
# A file name has at most 255 bytes.
NAME_BYTES = 255 - len(".yaml")
# Fields of metadata that are the store's, never the caller's.
OWN_FIELDS = ("uid", "creationTimestamp", "generation", "resourceVersion")
# A pause of a namespace is the one object that users write there themselves (docs/eda.md).
_BY_HAND = 'one that is made by hand needs in metadata uid: by-hand, resourceVersion: "1", generation: 1 and creationTimestamp: "2026-01-01T00:00:00Z"'


def object_path(directory: str, kind_ref: KindRef, namespace: str, name: str) -> str:
    """Return the path of an object's file.

    Every part is checked, so that none leads out of the store.
    """
    folder = kind_folder(kind_ref)
    base.check_namespace(namespace)
    base.check_name(name)
    if len(name) > NAME_BYTES:
        raise base.StoreError(
            "metadata.name is too long for the file store",
            f"{name[:40]}… has {len(name)} characters",
            f"a file name carries at most {NAME_BYTES} of them",
            "Use a shorter name.",
        )
    return os.path.join(directory, namespace, folder, f"{name}.yaml")


def identity(obj: Object) -> tuple[KindRef, str, str]:
    """Return an object's checked (apiGroup, kind), namespace and name."""
    kind_ref = base.kind_ref_of(obj)
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict):
        raise base.StoreError(
            f"a {kind_ref[1]} without metadata can't be stored",
            "field metadata",
            "it has no name",
            "Give metadata.name.",
        )
    namespace, name = metadata.get("namespace"), metadata.get("name")
    base.check_namespace(t.cast(str, namespace))
    base.check_name(t.cast(str, name))
    return kind_ref, t.cast(str, namespace), t.cast(str, name)


def wrong_in(obj: t.Any, kind_ref: KindRef, namespace: str, name: str) -> str:
    """Return what is wrong in an object's file, "" where nothing is.

    Nothing is quoted: the file may be a Secret's.
    """
    wrong = []
    try:
        same = base.kind_ref_of(obj) == kind_ref and identity(obj)[1:] == (namespace, name)
    except (base.StoreError, AttributeError, TypeError):
        same = False
    if not same:
        wrong.append("apiVersion, kind, metadata.namespace and metadata.name have to be those of its path")
    try:
        metadata = obj["metadata"]
        complete = all(metadata[field] for field in OWN_FIELDS) and int(metadata["resourceVersion"]) > 0
        complete = complete and int(metadata["generation"]) > 0 and base.is_shaped(obj)
    except (AttributeError, KeyError, TypeError, ValueError):
        complete = False
    if not complete:
        by_hand = kind_ref == ("", "ConfigMap") and name == pause.NAME
        wrong.append(_BY_HAND if by_hand else "a field that the store writes is missing, or one has another form")
    return "; ".join(wrong)


def kind_folder(kind_ref: KindRef) -> str:
    """Return the name of a kind's folder: ``machine.cluster.x-k8s.io``, ``secret``."""
    base.check_kind_ref(kind_ref)
    group, kind = kind_ref
    folder = f"{kind.lower()}.{group}" if group else kind.lower()
    if folder in (JOURNAL_FOLDER, LOCKS_FOLDER):
        raise base.StoreError(
            f"the file store has no place for the kind {kind} of the core group",
            f"folder {folder}",
            "the store keeps its own files there",
            "Kubernetes has no such kind; check kind and apiVersion.",
        )
    return folder
