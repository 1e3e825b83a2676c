# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ownership of an API server's CustomResourceDefinitions.

This collection's, Cluster API's, or another manager's.

Source: the control plane contract, "All resources: version".

Definitions hold for a whole API server. Where Cluster API's controllers have theirs, they act on every Cluster and Machine in every
namespace: they delete Nodes, make machines of MachineSets, write the same statuses. Two managers of one object undo each other's work.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Optional

from ..crds import definitions
from ..objects import kinds
from ..store.base import StoreError
from ..store.kubernetes.requests import FIELD_MANAGER, KubernetesApi

Object = dict[str, Any]

# What Cluster API's core has in this group and this collection has not: seen by whoever may ask what an API server serves.
CLUSTER_API_ONLY = ("machinepools", "clusterclasses")
DISCOVERY = f"/apis/{kinds.API_CLUSTER}"


class ManagedElsewhere(StoreError):
    """Error of an API server whose kinds Cluster API's controllers manage."""


class OtherDefinitions(StoreError):
    """Error of an API server with definitions of another manager or release.

    This release can't work with them, or must not overwrite them.
    """


def is_ours(definition: Mapping[str, Any]) -> bool:
    """Return whether a stored definition is this collection's own.

    Made by it and not replaced by another manager's since.
    """
    labels = (definition.get("metadata") or {}).get("labels") or {}
    conversion = ((definition.get("spec") or {}).get("conversion") or {}).get("strategy", "None")
    # Whoever merges theirs into ours (kubectl apply) leaves our label on it; a webhook is never ours.
    return labels.get(definitions.MANAGED_BY) == definitions.MANAGER and conversion == "None"


def is_providers(definition: Mapping[str, Any]) -> bool:
    """Return whether a registered kind's definition is the provider's own.

    In Cluster API's group for infrastructure: it is not ours, or the provider's versions have replaced ours. In any other group it has a
    label of Cluster API's contract: other software may have kinds of the same name.
    """
    if definition["spec"]["group"] == kinds.GROUP_INFRASTRUCTURE:
        return not is_ours(definition) or _is_replaced(definition)
    return is_cluster_apis(definition)


def _is_replaced(definition: Mapping[str, Any]) -> bool:
    # Whoever merges theirs into ours leaves our label and our annotations. An API server knows which client has set the versions: this
    # collection, or another one, which may have restored ours from a backup.
    entries = (definition.get("metadata") or {}).get("managedFields") or []
    managers = [
        each.get("manager") for each in entries if "f:versions" in ((each.get("fieldsV1") or {}).get("f:spec") or {})
    ]
    return FIELD_MANAGER not in managers and not _is_as_made(definition)


def _is_as_made(definition: Mapping[str, Any]) -> bool:
    """Return whether an infrastructure kind's versions are as this collection writes them.

    In each revision that is one version, which describes no field of a machine's or a cluster's spec: those are the provider's to check, and
    a provider's own definition describes them. One that describes none either loses nothing where ours is written over it.
    """
    kind, versions = str(definition["spec"]["names"]["kind"]), definition["spec"].get("versions") or []
    if [each.get("name") for each in versions] != [definitions.version_of(kind)]:
        return False
    spec = _field((versions[0].get("schema") or {}).get("openAPIV3Schema"), "spec")
    if kind.endswith("Template"):
        spec = _field(_field(spec, "template"), "spec")
    return "properties" not in spec and spec.get("x-kubernetes-preserve-unknown-fields") is True


def _field(schema: Optional[Mapping[str, Any]], name: str) -> Mapping[str, Any]:
    return ((schema or {}).get("properties") or {}).get(name) or {}


def is_cluster_apis(definition: Mapping[str, Any]) -> bool:
    """Return whether a foreign definition is Cluster API's or its provider's.

    Foreign: it is not this collection's.
    """
    labels = (definition.get("metadata") or {}).get("labels") or {}
    return definitions.PROVIDER_LABEL in labels or any(label.startswith("cluster.x-k8s.io/v1") for label in labels)


def refuse_others(host: str, stored: Mapping[str, Optional[Object]]) -> None:
    """Refuse an API server with another manager's definitions; nothing was written.

    Raises ManagedElsewhere or OtherDefinitions.

    Args:
        host: the API server, as messages name it.
        stored: by name, the definitions that would be written, as the API server has them; None where it has none.
    """
    others = {name: each for name, each in sorted(stored.items()) if each is not None and not is_ours(each)}
    if not others:
        return
    if any(is_cluster_apis(each) for each in others.values()):
        raise managed_elsewhere(host, ", ".join(sorted(others)))
    raise OtherDefinitions(
        f"definitions of these names belong to another software: {', '.join(others)}",
        host,
        f"they don't have the label {definitions.MANAGED_BY}={definitions.MANAGER}, so writing over them could take fields from objects "
        "that others work with",
        "Nothing was changed. Use another API server as the store. Where they are left from tests and no object of theirs is needed, delete "
        "them first (that deletes their objects).",
    )


def managed_elsewhere(host: str, what: str) -> ManagedElsewhere:
    """Return the error for an API server managed by Cluster API's controllers.

    ``what`` states how that was seen.
    """
    return ManagedElsewhere(
        "Cluster API's own controllers manage these kinds in this API server",
        host,
        f"{what} are Cluster API's. Its controllers act on every Cluster and Machine there, in every namespace, and would delete, drain and "
        "rewrite what this collection makes, and the other way round",
        "Nothing was changed. Use an API server without Cluster API as the store (a namespace of its own is not enough), or the file store; or "
        "hand a cluster over to Cluster API for good (docs/contract.md).",
    )


def refuse_cluster_api(api: KubernetesApi) -> None:
    """Refuse an API server that serves Cluster API's own resources.

    Raises ManagedElsewhere, as far as a run may ask what the API server serves.

    For runs, which may not read definitions: ``install`` may never have been run there.
    """
    answer = api.send("get", DISCOVERY, accepted=(403, 404))
    found = serves_cluster_api(answer.document if answer.status == 200 else {})
    if found:
        raise managed_elsewhere(api.host, ", ".join(found))


def serves_cluster_api(discovered: Mapping[str, Any]) -> list[str]:
    """Return Cluster API's own resources among those that are served.

    Of the API server's answer at ``DISCOVERY``.
    """
    served = {str(each.get("name")) for each in discovered.get("resources") or []}
    return [name for name in CLUSTER_API_ONLY if name in served]


def refuse_newer(host: str, stored: Mapping[str, Optional[Object]], revision: int) -> None:
    """Refuse definitions of a newer release or with foreign stored versions.

    Raises OtherDefinitions; foreign: objects are kept in a version that isn't ours.

    Args:
        host: the API server.
        stored: as of :func:`refuse_others`.
        revision: the revision of this release's definitions.
    """
    for name, found in sorted(stored.items()):
        if found is None:
            continue
        theirs = revision_of(found)
        if theirs > revision:
            raise OtherDefinitions(
                f"the definition {name} was installed by a newer release of this collection",
                host,
                f"it has revision {theirs} and this release has {revision}; the older one would take away fields that objects already use",
                "Nothing was changed. Use the newer release here too.",
            )
        version = definitions.version_of(str(found["spec"]["names"]["kind"]))
        kept = [each for each in (found.get("status") or {}).get("storedVersions") or [] if each != version]
        if kept:
            raise OtherDefinitions(
                f"objects of {name} are kept in the versions {', '.join(kept)}",
                host,
                f"this release serves {version} alone, and an API server can't give up a version in which objects are kept",
                "Nothing was changed. Write every object of the kind again with the release that installed them, take these versions "
                "out of the definition's status.storedVersions, and run this again.",
            )


def revision_of(definition: Mapping[str, Any]) -> int:
    """Return the revision of a stored definition, 0 without one."""
    text = str(((definition.get("metadata") or {}).get("annotations") or {}).get(definitions.REVISION, "0"))
    return int(text) if text.isdecimal() else 0
