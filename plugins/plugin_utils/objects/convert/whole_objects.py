# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Conversion of objects between Cluster API v1alpha3, v1alpha4, v1beta1 and v1beta2.

v1beta2 is the hub form; objects are converted in both directions.

What an older version has no place for is reported by its path, and can be kept the way Cluster API keeps it: the whole
newer object, but for its metadata, as JSON in the annotation `cluster.x-k8s.io/conversion-data`. Converted back, what
was kept is taken from there wherever the fields beside it are unchanged; what was changed in the older object wins.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ....module_utils.common.bounded_yaml import read_json
from ....module_utils.common.violations import ManifestError, Report, Violation, child, item, steps
from ...documents.yaml_files import MAX_BYTES, Document
from .. import kinds
from ..equivalence import ABSENT, ARGUMENT_LISTS, EXACT, canonical, same
from . import from_hub as older_versions
from . import to_hub as convert
from .from_hub import Target
from .status import checked_status, hub_status, older_status

ANNOTATION_CONVERSION_DATA = "cluster.x-k8s.io/conversion-data"
# Cluster API's contract of infrastructure providers (docs/provider_contract.md).
_INFRASTRUCTURE_ENDINGS = ("Cluster", "Machine", "MachineTemplate")
DEFAULT_INFRASTRUCTURE_VERSION = kinds.API_INFRASTRUCTURE.rpartition("/")[2]

_ANNOTATION_PATH = child("metadata.annotations", ANNOTATION_CONVERSION_DATA)
_CORE_KINDS = (
    kinds.CLUSTER,
    kinds.KUBEADM_CONTROL_PLANE,
    kinds.MACHINE,
    kinds.KUBEADM_CONFIG,
    kinds.KUBEADM_CONFIG_TEMPLATE,
    kinds.MACHINE_DEPLOYMENT,
    kinds.MACHINE_SET,
    kinds.MACHINE_HEALTH_CHECK,
    kinds.CLUSTER_RESOURCE_SET,
)
# Kubernetes' own, which every version of Cluster API has.
_AS_THEY_ARE = (kinds.SECRET, kinds.CONFIG_MAP)
_SECTIONS = ("spec", "status")
# Fields of this collection's v1beta2 form that Cluster API's v1beta2 does not have, and an API server would drop.
_EXTENSIONS = ("kubeletConfiguration", "kubeProxyConfiguration")
_EXTENSIONS_V1BETA2 = ("networking", "kubernetesVersion", "clusterName")


@dataclass(frozen=True)
class Converted:
    """Converted object in the version asked for.

    `losses`: what that version has no place for, one violation each, none of them a secret's value. `extensions`: paths of fields in
    `object` that this collection reads and Cluster API does not know.
    """

    object: dict[str, Any]
    losses: tuple[Violation, ...]
    extensions: tuple[str, ...]


def to_hub(document: Document, report: Report) -> dict[str, Any]:
    """Return the hub object of a manifest's document.

    It has spec and the user's metadata, and the fields that its conversion data keep.
    """
    hub = convert.to_hub(document, report)
    if document.kind in (*_CORE_KINDS, *kinds.OWN_INFRASTRUCTURE):
        _restore(hub, document.api_version.rpartition("/")[2], report)
    return hub


def object_to_hub(obj: Mapping[str, Any], report: Report | None = None) -> dict[str, Any]:
    """Return the hub form of an object's metadata, spec and status.

    The object may have any version.

    In: JSON types. Secrets and other providers' infrastructure objects come back unchanged. Violations go to `report`;
    without it a ManifestError lists them all.
    """
    own = Report(kinds.label_of(obj)) if report is None else report
    hub = _to_hub(obj, own)
    if report is None and own.violations:
        raise ManifestError(own.violations)
    return hub


def from_hub(
    hub: Mapping[str, Any],
    version: str,
    infrastructure_version: str = DEFAULT_INFRASTRUCTURE_VERSION,
    keep: bool = True,
) -> Converted:
    """Return a hub object in another Cluster API version.

    The version is one of kinds.MANIFEST_VERSIONS.

    `infrastructure_version` is written in references to infrastructure kinds before v1beta2, and into this collection's
    own infrastructure objects; other providers' objects stay unchanged. With `keep`, what the version cannot hold is
    kept in the annotation, as Cluster API does. ManifestError for another version or a kind that is not converted.
    """
    kind = _known_kind(hub, version)
    target = Target(version, infrastructure_version, str((hub.get("metadata") or {}).get("namespace") or "default"))
    older = _older(hub, target)
    if version == older_versions.V1BETA2 or kind not in (*_CORE_KINDS, *kinds.OWN_INFRASTRUCTURE):
        return Converted(older, (), tuple(_extensions(older, version)))
    back = _plain(older)
    losses = tuple(_losses(hub, back, target))
    if keep and any(not same(hub.get(section), back.get(section)) for section in _SECTIONS):
        kept = {key: hub[key] for key in ("apiVersion", "kind", *_SECTIONS) if key in hub}
        text = json.dumps(kept, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        older["metadata"].setdefault("annotations", {})[ANNOTATION_CONVERSION_DATA] = text
    return Converted(older, losses, tuple(_extensions(older, version)))


def _known_kind(obj: Mapping[str, Any], version: str) -> str:
    kind, group = str(obj.get("kind")), kinds.group(str(obj.get("apiVersion")))
    label = kinds.label_of(obj)
    if version not in kinds.MANIFEST_VERSIONS:
        rule = "there is no conversion to this Cluster API version"
        fix = f"Use one of {', '.join(kinds.MANIFEST_VERSIONS)}."
        raise ManifestError([Violation(label, "apiVersion", version, rule, fix)])
    if kind not in (*_CORE_KINDS, *_AS_THEY_ARE) and not _is_infrastructure(group, kind):
        known = ", ".join((*_CORE_KINDS, *_AS_THEY_ARE))
        fix = (
            f"Known kinds: {known}, every kind of the group {kinds.GROUP_INFRASTRUCTURE}, and those of other groups that are named as the contract "
            f"of infrastructure providers asks: {', '.join('...' + ending for ending in _INFRASTRUCTURE_ENDINGS)}."
        )
        raise ManifestError([Violation(label, "kind", kind, "objects of this kind are not converted", fix)])
    return kind


def _is_infrastructure(group: str, kind: str) -> bool:
    """Return whether an object is an infrastructure provider's, of any group.

    Kubernetes' own groups have no dot, or are of k8s.io.
    """
    if group == kinds.GROUP_INFRASTRUCTURE:
        return True
    foreign = "." in group and not group.endswith(".k8s.io") and group not in older_versions.CLUSTER_API_GROUPS
    return foreign and kind.endswith(_INFRASTRUCTURE_ENDINGS)


def _older(hub: Mapping[str, Any], target: Target) -> dict[str, Any]:
    kind = str(hub["kind"])
    older = copy.deepcopy(dict(hub))
    older.setdefault("metadata", {})
    _owners(older["metadata"], target.api_version)
    if kind in _AS_THEY_ARE or kind not in (*_CORE_KINDS, *kinds.OWN_INFRASTRUCTURE):
        return older
    older["apiVersion"] = target.api_version(kinds.group(kinds.api_version(kind)))
    if kind == kinds.KUBEADM_CONFIG and older.get("spec") == {}:
        # Every field of it may be left out, and v1beta2 has no empty one.
        del older["spec"]
        hub = {key: value for key, value in hub.items() if key != "spec"}
    if target.version != older_versions.V1BETA2:
        if "spec" in hub:
            older["spec"] = older_versions.older_spec(kind, hub["spec"], target)
        if "status" in hub:
            older["status"] = older_status(kind, hub["status"], target.index)
    return older


def _owners(metadata: dict[str, Any], api_version: Any) -> None:
    owners = metadata.get("ownerReferences")
    for owner in owners if isinstance(owners, list) else []:
        if not isinstance(owner, dict):
            continue
        group = kinds.group(str(owner.get("apiVersion") or ""))
        if group in older_versions.CLUSTER_API_GROUPS or owner.get("kind") in kinds.OWN_INFRASTRUCTURE:
            owner["apiVersion"] = api_version(group)


def _to_hub(obj: Mapping[str, Any], report: Report) -> dict[str, Any]:
    before = len(report.violations)
    _object_rules(obj, report)
    kind, version = str(obj.get("kind")), str(obj.get("apiVersion")).rpartition("/")[2]
    if len(report.violations) > before or kind not in (*_CORE_KINDS, *kinds.OWN_INFRASTRUCTURE):
        return copy.deepcopy(dict(obj))
    hub = _plain(obj, report)
    _restore(hub, version, report)
    return hub


def _object_rules(obj: Mapping[str, Any], report: Report) -> None:
    """Check apiVersion, kind and name of an object.

    Without them nothing else of it can be checked.
    """
    for key in ("apiVersion", "kind"):
        if not isinstance(obj.get(key), str) or not obj[key]:
            report.add(key, None, f"the object has no {key}", f"Add {key} (text).")
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str):
        report.add("metadata.name", None, "the object has no name", "Add metadata.name (text).")
    if not report.violations:
        try:
            _known_kind(obj, older_versions.V1BETA2)
        except ManifestError as error:
            report.violations += error.violations


def _plain(obj: Mapping[str, Any], report: Report | None = None) -> dict[str, Any]:
    """Return the hub form of an object, ignoring its conversion annotation."""
    report = Report(kinds.label_of(obj)) if report is None else report
    kind, version = str(obj["kind"]), str(obj["apiVersion"]).rpartition("/")[2]
    metadata = {
        key: obj["metadata"][key] for key in ("name", "namespace", "labels", "annotations") if key in obj["metadata"]
    }
    data = {"apiVersion": obj["apiVersion"], "kind": kind, "metadata": metadata, "spec": obj.get("spec", {})}
    hub = convert.to_hub(Document("", 0, data, None), report)
    hub["metadata"] = copy.deepcopy(dict(obj["metadata"]))
    _owners(hub["metadata"], lambda group: f"{group}/{_hub_version(group)}")
    if "spec" not in obj:
        del hub["spec"]
    if obj.get("status") is not None:
        status = checked_status(obj["status"], report)
        older = version != older_versions.V1BETA2 or kind in kinds.OWN_INFRASTRUCTURE
        index = kinds.MANIFEST_VERSIONS.index(version) if version in kinds.MANIFEST_VERSIONS else 0
        hub["status"] = hub_status(kind, status, index) if older else copy.deepcopy(status)
    return hub


def _hub_version(group: str) -> str:
    return older_versions.V1BETA2 if group in older_versions.CLUSTER_API_GROUPS else DEFAULT_INFRASTRUCTURE_VERSION


def _lost(hub: Any, back: Any) -> Iterator[tuple[str, Any]]:
    """Yield (path, value) of each spec or status field lost in conversion."""
    for section in _SECTIONS:
        yield from _differences(hub.get(section), back.get(section), section, section)


def _differences(hub: Any, back: Any, path: str, key: str) -> Iterator[tuple[str, Any]]:
    if same(hub, back, key) or canonical(hub, key) is ABSENT:
        return
    if isinstance(hub, dict) and (back is None or isinstance(back, dict)):
        for name in hub:
            if key in EXACT:
                if (back or {}).get(name) != hub[name]:
                    yield child(path, name), hub[name]
                continue
            yield from _differences(hub[name], (back or {}).get(name), child(path, name), name)
    elif isinstance(hub, list) and isinstance(back, list) and len(hub) == len(back):
        for index, (first, second) in enumerate(zip(hub, back)):
            yield from _differences(first, second, item(path, index), "")
    else:
        yield path, hub


def _losses(hub: Mapping[str, Any], back: Mapping[str, Any], target: Target) -> Iterator[Violation]:
    """Yield a violation for each field lost in conversion.

    It names the version that has a place for the field.
    """
    found = list(_lost(hub, back))
    newer: dict[str, set[str]] = {}
    for version in kinds.MANIFEST_VERSIONS[target.index + 1 :] if found else ():
        other = Target(version, target.infrastructure_version, target.namespace)
        newer[version] = {path for path, _value in _lost(hub, _plain(_older(hub, other)))}
    for path, value in found:
        since = next((version for version, lost in newer.items() if path not in lost), "")
        rule = f"Cluster API {target.version} has no place for this"
        if path.rpartition(".")[2] in ARGUMENT_LISTS:
            rule = f"Cluster API {target.version} has a map of flags, which cannot hold a repeated one"
        fix = f"It came with {since}: use that, or leave the field out." if since else "Leave the field out."
        shown = value if isinstance(value, (str, bool, int, float)) else None
        yield Violation(kinds.label_of(hub), path, shown, rule, fix)


def _restore(hub: dict[str, Any], version: str, report: Report) -> None:
    """Restore fields from a hub object's conversion annotation, in place.

    Its older `version` had no place for them.
    """
    annotations = hub["metadata"].get("annotations") or {}
    kept = _kept(hub, annotations.get(ANNOTATION_CONVERSION_DATA))
    if kept is None:
        return
    del annotations[ANNOTATION_CONVERSION_DATA]
    if not annotations:
        del hub["metadata"]["annotations"]
    if version not in kinds.MANIFEST_VERSIONS or version == older_versions.V1BETA2:
        return
    namespace = str(hub["metadata"].get("namespace") or "default")
    back = _plain(_older(kept, Target(version, DEFAULT_INFRASTRUCTURE_VERSION, namespace)))
    plain = copy.deepcopy(hub)
    for section in _SECTIONS:
        if section not in hub or section not in kept:
            continue
        differences = list(_differences(kept[section], back.get(section), section, section))
        if same(hub[section], back.get(section)):
            hub[section] = kept[section]
        else:
            differences = [each for each in differences if _put_back(hub, plain, back, *each)]
        for path, _value in differences:
            report.moved(path, _ANNOTATION_PATH)
    if not report.violations:
        restored = Report("")
        _plain(hub, restored)
        for beyond in restored.violations:
            report.unreadable(_ANNOTATION_PATH, None, f"{beyond.path}: {beyond.rule}", beyond.fix)


def _kept(hub: Mapping[str, Any], text: Any) -> dict[str, Any] | None:
    """Return the hub object that the annotation holds, or None.

    None also where it can't be read. What is beyond a limit can be, and is refused when it is restored.
    """
    if not isinstance(text, str) or len(text) > MAX_BYTES:
        return None
    try:
        found = read_json(text)
    except ValueError:
        return None
    if not isinstance(found, dict):
        return None
    sections = {key: found[key] for key in _SECTIONS if isinstance(found.get(key), dict)}
    # Cluster API leaves out what kind of object it is; it is the newest version it has.
    api_version = found.get("apiVersion")
    head = {"apiVersion": api_version if isinstance(api_version, str) and api_version else hub["apiVersion"]}
    report = Report("")
    kept = _plain({**head, "kind": hub["kind"], "metadata": {"name": "kept", **_place(hub)}, **sections}, report)
    return None if len(report.violations) > report.limits else kept


def _place(hub: Mapping[str, Any]) -> dict[str, Any]:
    return {key: hub["metadata"][key] for key in ("name", "namespace") if key in hub["metadata"]}


def _put_back(hub: Any, plain: Any, back: Any, path: str, value: Any) -> bool:
    """Put a kept value back into `hub` and return whether it fitted.

    It does not fit where its surroundings in the older object (`plain`, in hub form) are not what the kept object has
    there in that version (`back`).
    """
    *way, last = steps(path)
    for step in way:
        if isinstance(step, int):
            lists = isinstance(plain, list) and isinstance(back, list)
            if not lists or step >= min(len(plain), len(back)) or not same(plain[step], back[step]):
                return False
            hub, plain, back = hub[step], plain[step], back[step]
        else:
            found, expected = (each.get(step) if isinstance(each, dict) else None for each in (plain, back))
            if not isinstance(hub, dict) or (found is None and expected is not None):
                return False
            hub, plain, back = hub.setdefault(step, {}), found, expected
    if isinstance(last, int) or not isinstance(hub, dict):
        return False
    found, expected = (each.get(last) if isinstance(each, dict) else None for each in (plain, back))
    if not same(found, expected, last):
        return False
    hub[last] = copy.deepcopy(value)
    return True


def _extensions(obj: Mapping[str, Any], version: str) -> Iterator[str]:
    spec, path = obj.get("spec") or {}, "spec"
    if obj["kind"] == kinds.KUBEADM_CONTROL_PLANE:
        spec, path = spec.get("kubeadmConfigSpec") or {}, "spec.kubeadmConfigSpec"
    elif obj["kind"] != kinds.KUBEADM_CONFIG:
        return
    yield from (child(path, key) for key in _EXTENSIONS if key in spec)
    if version == older_versions.V1BETA2:
        cluster = spec.get("clusterConfiguration") or {}
        yield from (child(path, "clusterConfiguration", key) for key in _EXTENSIONS_V1BETA2 if key in cluster)
