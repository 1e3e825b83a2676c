# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Contents of a ConfigMap or Secret that a ClusterResourceSet applies.

Source: docs/reference/cluster_api.md, "ClusterResourceSets".
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Mapping
from typing import Any

from ....module_utils.common.violations import Violation, child
from ...documents.yaml_files import read_text
from .. import kinds

Object = dict[str, Any]
PRESENT, MISSING, WRONG_TYPE, UNREADABLE = "present", "missing", "wrongType", "unreadable"
STATES = (PRESENT, MISSING, WRONG_TYPE, UNREADABLE)
# What others need goes first, as in Cluster API; everything else stays in the order in which it is written.
_FIRST = (
    "Namespace",
    "CustomResourceDefinition",
    "StorageClass",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "Secret",
    "ConfigMap",
    "ServiceAccount",
    "LimitRange",
    "Pod",
    "ReplicaSet",
    "Endpoints",
)
# The reader's own words name a tag, an alias or a key, and each may be a piece of a password.
_HIDDEN = (
    "this can't be read as a manifest is; how it breaks the rules is not shown, since that may quote what is secret"
)
_HIDDEN_FIX = (
    "Correct the YAML syntax on or just before this line; every document needs apiVersion, kind and metadata.name."
)


def state_of(resource: Mapping[str, Any] | None) -> str:
    """Return whether a ConfigMap or Secret can be applied, or why not.

    A Secret needs the type addons.cluster.x-k8s.io/resource-set: no other one is to reach the workload cluster.
    """
    if resource is None:
        return MISSING
    if resource.get("kind") == kinds.SECRET and resource.get("type") != kinds.RESOURCE_SET_SECRET_TYPE:
        return WRONG_TYPE
    try:
        return PRESENT if _values(resource) else UNREADABLE
    except ValueError:
        return UNREADABLE


def content_hash(resource: Mapping[str, Any]) -> str:
    """Return the hash of a resource's values, as a binding has it.

    "sha256:…". It is Cluster API's: over the values in the order of their keys, those of a Secret decoded. ValueError without base64.
    """
    done = hashlib.sha256()
    for _key, value in _values(resource):
        done.update(value)
    return f"sha256:{done.hexdigest()}"


def documents(resource: Mapping[str, Any]) -> tuple[list[Object], list[Violation]]:
    """Return the documents of a resource in order, and the violations.

    Namespaces and definitions come before what needs them. No violation quotes a value.
    """
    found: list[Object] = []
    violations: list[Violation] = []
    metadata = resource["metadata"]
    label = f"{resource['kind']} {metadata.get('namespace') or 'default'}/{metadata['name']}"
    try:
        values = _values(resource)
    except ValueError:
        return [], [Violation(label, "data", None, "a value is not base64", "Encode it, or write it under stringData.")]
    for key, value in values:
        where = f"{label}, key {key}"
        read, wrong = _read(value, where)
        found += read
        rule = _HIDDEN if resource["kind"] == kinds.SECRET else ""
        violations += [
            Violation(
                label, child("data", key), None, rule or each.rule, each.fix if not rule else _HIDDEN_FIX, each.source
            )
            for each in wrong
        ]
    if not found and not violations:
        violations.append(
            Violation(label, "data", None, "it has no document", "Write what is to be applied under data.")
        )
    first = {kind: number for number, kind in enumerate(_FIRST)}
    return sorted(found, key=lambda each: first.get(str(each["kind"]), len(first))), violations


def _read(value: bytes, where: str) -> tuple[list[Object], list[Violation]]:
    try:
        text = value.decode("utf-8-sig")
    except UnicodeDecodeError:
        return [], [Violation(where, "", None, "the value is not UTF-8 text", "Save it as UTF-8.", where)]
    if not text.lstrip().startswith("["):
        read, wrong = read_text(text, where)
        return [each.data for each in read], wrong
    # Cluster API takes a list in JSON, too.
    try:
        listed = json.loads(text)
    except (ValueError, RecursionError):
        return [], [Violation(where, "", None, "this is not a list in JSON", "Correct its syntax.", where)]
    written, wrong = read_text("\n---\n".join(json.dumps(each) for each in listed), where)
    return [each.data for each in written], wrong


def _values(resource: Mapping[str, Any]) -> list[tuple[str, bytes]]:
    data = resource.get("data") or {}
    if resource.get("kind") != kinds.SECRET:
        return [(key, str(data[key]).encode()) for key in sorted(data)]
    try:
        return [(key, base64.b64decode("".join(str(data[key]).split()), validate=True)) for key in sorted(data)]
    except binascii.Error as error:
        raise ValueError(str(error)) from error
