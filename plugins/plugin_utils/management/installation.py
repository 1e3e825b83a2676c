# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Installation of a store in an API server: definitions, roles, bindings.

Brought there, or shown as they would be.

Nothing is written before everything was checked: an API server of another manager stays unchanged as a whole.
"""

from __future__ import annotations

import copy
import re
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Optional

from ...module_utils.common import settings
from ..crds import crd_names, definitions
from ..objects import kinds
from ..store import base
from ..store.kubernetes.requests import FIELD_MANAGER, KubernetesApi
from . import recognition, roles

Object = dict[str, Any]

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
POLL_SECONDS = 0.25
UPDATE_ATTEMPTS = 5
_RBAC = "/apis/rbac.authorization.k8s.io/v1"
_WRITTEN = {"fieldManager": FIELD_MANAGER}
# What an API server counts and notes of an object, whoever wrote it.
_COUNTED = ("resourceVersion", "generation", "managedFields")
# What an object is made of that this collection says something about; the rest is the API server's, or somebody else's.
_PARTS = ("spec", "rules", "roleRef", "subjects")
# Kinds that no provider of the user's brings.
_OWN = {kind.name for kind in definitions.KINDS}


class NotServed(base.StoreError):
    """Error of a stored definition whose kind is not served."""


@dataclass(frozen=True)
class Wish:
    """Desired state of an installation: kinds, namespaces and runners.

    Namespaces are those with clusters, runners those of ``roles.runner_binding``.
    """

    kinds: Sequence[definitions.Kind]
    namespaces: Sequence[str]
    runners: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True)
class Change:
    """Change of one object: title, object before (None if new) and after."""

    title: str
    before: Optional[Object]
    after: Object
    path: str = field(repr=False, default="")


def kinds_for(providers: Mapping[str, Any]) -> list[definitions.Kind]:
    """Return every kind to install, with those of the user's providers.

    The collection's own, and three for each infrastructure provider of the user's own.

    Args:
        providers: the roles of providers by the kind that each serves: AcmeCluster, AcmeMachineTemplate.
    """
    found = list(definitions.KINDS)
    prefixes = {_prefix(str(kind)) for kind in providers}
    known = {kind.name for kind in found}
    for prefix in sorted(prefixes):
        found += [kind for kind in definitions.infrastructure_kinds(prefix) if kind.name not in known]
    return found


def plan(api: KubernetesApi, wish: Wish) -> list[Change]:
    """Return the changes to make, in order; empty where nothing is missing.

    Of a provider that has brought definitions of its own, in whatever group, none is made; the runner's Role has its kinds. What was made
    before stays defined and in the Role, also of a provider that is registered no more: objects of it may be there.

    Raises ManagedElsewhere or OtherDefinitions where the definitions there are not ours to write, and the API's own errors.
    """
    minor = server_minor(api)
    defined = _defined(api)
    foreign = _foreign_kinds(defined, wish.kinds)
    found = _kinds_to_define(defined, wish.kinds, {_prefix(each.kind) for each in foreign})
    wanted = [definitions.definition(kind, minor) for kind in found]
    stored = {name(each): _read(api, _path(each)) for each in wanted}
    recognition.refuse_cluster_api(api)
    recognition.refuse_others(api.host, stored)
    recognition.refuse_newer(api.host, stored, definitions.REVISION_NUMBER)
    wanted += roles.cluster_roles(found)
    for namespace in wish.namespaces:
        base.check_namespace(namespace)
        wanted.append({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
        wanted.append(roles.runner_role(namespace, found, foreign))
        if wish.runners:
            wanted.append(roles.runner_binding(namespace, wish.runners))
    return [change for each in wanted for change in _difference(api, each, stored)]


def _prefix(kind: str) -> str:
    """Return what the three kinds of a provider have in common."""
    return re.sub(r"(Cluster|MachineTemplate|Machine)$", "", kind)


def namesakes(api: KubernetesApi, wish: Wish) -> list[str]:
    """Return the names of definitions that share a registered kind's name only.

    They are of another group and lack the labels of Cluster API's contract: other software's, or of a provider that has to label them.
    """
    names = {kind.name for kind in wish.kinds if kind.name not in _OWN}
    found = [each for each in _defined(api) if _kind(each) in names and not recognition.is_ours(each)]
    return sorted(name(each) for each in found if not recognition.is_providers(each))


def _defined(api: KubernetesApi) -> list[Object]:
    return list(api.send("get", DEFINITIONS).document.get("items") or [])


def _kind(definition: Object) -> str:
    return str(definition["spec"]["names"]["kind"])


def _group(definition: Object) -> str:
    return str(definition["spec"]["group"])


def _foreign_kinds(defined: Sequence[Object], wanted: Sequence[definitions.Kind]) -> list[roles.ForeignKind]:
    """Return the kinds that registered providers have brought themselves."""
    names = {kind.name for kind in wanted if kind.name not in _OWN}
    found = set()
    for each in defined:
        if _kind(each) in names and recognition.is_providers(each):
            status = any(
                "status" in (version.get("subresources") or {}) for version in each["spec"].get("versions") or []
            )
            found.add(roles.ForeignKind(_group(each), _kind(each), str(each["spec"]["names"]["plural"]), status))
    return sorted(found)


def _kinds_to_define(
    defined: Sequence[Object], wanted: Sequence[definitions.Kind], brought: Collection[str]
) -> list[definitions.Kind]:
    """Return the kinds that this collection defines or has defined.

    What is wanted, and what it made for providers before. ``brought``: the providers that have definitions of their own.
    """
    made = {
        _kind(each)
        for each in defined
        if _group(each) == kinds.GROUP_INFRASTRUCTURE and not recognition.is_providers(each)
    }
    former = made - _OWN - {kind.name for kind in wanted}
    prefixes = sorted({_prefix(each) for each in former})
    return [
        *(kind for kind in wanted if kind.name in (_OWN | made) or _prefix(kind.name) not in brought),
        *(kind for each in prefixes for kind in definitions.infrastructure_kinds(each) if kind.name in former),
    ]


def carry_out(api: KubernetesApi, changes: Sequence[Change], told: Callable[[str], None]) -> None:
    """Make the changes and wait until every new kind is served.

    Args:
        api: the API.
        changes: as of :func:`plan`, just made.
        told: is given a line for the user before each.
    """
    for change in changes:
        told(f"{'create' if change.before is None else 'change'} {change.title}")
        if change.before is None:
            _create(api, change)
        else:
            _update(api, change)
    for change in changes:
        if change.after["kind"] == "CustomResourceDefinition":
            _wait_served(api, change)


def _create(api: KubernetesApi, change: Change) -> None:
    """Create an object; the same object created meanwhile is no error.

    By a second run or by Kubernetes itself (a namespace).
    """
    parent = change.path.rpartition("/")[0]
    if api.send("create", parent, change.after, _WRITTEN, accepted=(409,)).status == 409:
        there = _read(api, change.path)
        if there is None or _difference(api, change.after, {name(change.after): there}):
            api.send("create", parent, change.after, _WRITTEN)


def _update(api: KubernetesApi, change: Change) -> None:
    """Write a change of an object; another writer's change is a conflict.

    A conflict raises. What the API server records in a status meanwhile is none.
    """
    after = change.after
    for _attempt in range(UPDATE_ATTEMPTS - 1):
        if api.send("update", change.path, after, _WRITTEN, accepted=(409,)).status != 409:
            return
        now = _read(api, change.path) or {"metadata": {}}
        if _written_by_people(now) != _written_by_people(change.before or {}):
            break
        metadata = {**after["metadata"], "resourceVersion": now["metadata"]["resourceVersion"]}
        after = {**after, "metadata": metadata}
    api.send("update", change.path, after, _WRITTEN)


def _written_by_people(obj: Object) -> Object:
    metadata = {key: each for key, each in (obj.get("metadata") or {}).items() if key not in _COUNTED}
    return {**{key: each for key, each in obj.items() if key != "status"}, "metadata": metadata}


def server_minor(api: KubernetesApi) -> int:
    """Return the API server's minor version."""
    found = re.match(r"\d+", str(api.send("get", "/version").document.get("minor", "")))
    return int(found.group()) if found else 0


def name(obj: Mapping[str, Any]) -> str:
    """Return an object's name."""
    return str(obj["metadata"]["name"])


def _difference(api: KubernetesApi, wanted: Object, stored: Mapping[str, Optional[Object]]) -> list[Change]:
    path = _path(wanted)
    title = " ".join((wanted["kind"], "/".join(filter(None, (wanted["metadata"].get("namespace"), name(wanted))))))
    definition = wanted["kind"] == "CustomResourceDefinition"
    before = stored[name(wanted)] if definition else _read(api, path)
    if before is None:
        return [Change(title, None, wanted, path)]
    after = copy.deepcopy(before)
    for part in ("labels", "annotations"):
        given = wanted["metadata"].get(part)
        if given:
            after["metadata"][part] = {**(after["metadata"].get(part) or {}), **given}
    for part in _PARTS:
        if part in wanted:
            # What an API server fills in beside (a definition's conversion) stays.
            after[part] = {**before[part], **wanted[part]} if part == "spec" else wanted[part]
    return [Change(title, before, after, path)] if after != before else []


def _read(api: KubernetesApi, path: str) -> Optional[Object]:
    answer = api.send("get", path, accepted=(404,))
    if answer.status == 404:
        return None
    answer.document["metadata"].pop("managedFields", None)
    return answer.document


def _path(obj: Mapping[str, Any]) -> str:
    kind = str(obj["kind"])
    if kind == "CustomResourceDefinition":
        return f"{DEFINITIONS}/{name(obj)}"
    if kind == "Namespace":
        return f"/api/v1/namespaces/{name(obj)}"
    namespace = obj["metadata"].get("namespace")
    return f"{_RBAC}/{f'namespaces/{namespace}/' if namespace else ''}{crd_names.plural(kind)}/{name(obj)}"


def _wait_served(api: KubernetesApi, change: Change) -> None:
    # Established: not only named, but answered for. What is sent before that is lost as "not found".
    deadline = time.monotonic() + settings.DEFINITION_SERVED_SECONDS
    while True:
        found = _read(api, change.path) or {}
        conditions = {each["type"]: each for each in (found.get("status") or {}).get("conditions") or []}
        wrong = [
            f"{each['type']}: {each.get('message', '')}"
            for each in conditions.values()
            if (each["type"], each["status"]) in (("NamesAccepted", "False"), ("NonStructuralSchema", "True"))
        ]
        if conditions.get("Established", {}).get("status") == "True" and not wrong:
            return
        if wrong or time.monotonic() > deadline:
            raise NotServed(
                f"{change.title} is stored and the API server does not serve it",
                api.host,
                "; ".join(wrong) or f"it was not established within {settings.DEFINITION_SERVED_SECONDS} s",
                "Mend what it says (another definition may have taken its names), then run this again; it continues from here.",
            )
        time.sleep(POLL_SECONDS)
