# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Document of kubeadm in a ConfigMap: read, edited and written.

Read in whatever API version it has, edited in the hub form, written in the target's.

Everything that the edit doesn't touch stays as it was written, as long as the API version stays: unknown fields, removed fields that
this version still has, a map's order. What kubeadm doesn't know is kept across API versions too, with a warning: kubeadm warns about
such fields and continues, and dropping what a user put there is not for us to decide.
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ...module_utils.common import kubernetes_versions
from ...module_utils.common.violations import ManifestError, Report, child
from ..documents.yaml_files import read_documents
from ..kubeadm.configuration import decode, fields, kinds, render, yaml_documents
from .writes import WorkloadError

OBJECT = "ConfigMap kube-system/kubeadm-config"
# No object of the Kubernetes API is larger.
MAX_BYTES = 2 * 1024 * 1024


@dataclass(frozen=True)
class Stored:
    """Stored document: configuration part, API number, JSON content and hub form.

    The part is that of kubeadm's configuration.
    """

    part: kinds.Part
    api: int
    data: dict[str, t.Any]
    hub: dict[str, t.Any]


def read(text: str, key: str) -> Stored:
    """Return the one kubeadm document of a ConfigMap's key.

    ``key`` is the hub's name of the kind, "clusterConfiguration".

    Raises:
        WorkloadError: the text is not one document of that kind in an API version that is read here.
        ManifestError: fields of wrong types, every one with its path.
    """
    part = kinds.BY_KEY[key]
    where = f"{OBJECT}, key {part.kind}"
    if not isinstance(text, str):
        raise WorkloadError(f"{where}: the value is no text.")
    if len(text) > MAX_BYTES:
        raise WorkloadError(f"{where}: larger than 2 MB, which no ConfigMap can be.")
    try:
        documents = [document for document in read_documents(text) if document is not None]
    except ValueError as error:
        raise WorkloadError(f"{where} can't be read: {error}. Correct it with kubectl edit.") from error
    if len(documents) != 1 or not isinstance(documents[0], dict):
        raise WorkloadError(f"{where}: there must be one document that is a mapping; there are {len(documents)}.")
    data = documents[0]
    if data.get("kind") != part.kind:
        raise WorkloadError(f"{where}: the document's kind is {str(data.get('kind'))[:80]!r}, not {part.kind}.")
    api_version = str(data.get("apiVersion"))
    api = kinds.api_number(api_version) if "/" in api_version else None
    if api is None:
        group = api_version.partition("/")[0]
        if group != kubernetes_versions.KUBEADM_GROUP:
            raise WorkloadError(
                f"{where}: apiVersion {api_version[:80]!r} is not kubeadm's ({kubernetes_versions.KUBEADM_GROUP})."
            )
        rule, fix = kinds.why_not_read(api_version)
        raise WorkloadError(f"{where}: apiVersion {api_version!r}: {rule}. {fix}")
    report = Report(where)
    content = {name: value for name, value in data.items() if name not in ("apiVersion", "kind")}
    hub = decode.Reader(api, report, []).structure(part.struct, content, "", key)
    if report.violations:
        raise ManifestError(report.violations)
    return Stored(part, api, data, _without_unconverted(hub))


def given(struct: fields.Struct, value: t.Mapping[str, t.Any], option: str) -> dict[str, t.Any]:
    """Return an option's value in the hub form.

    Given in the hub form or in Cluster API's classic form.

    Raises:
        ManifestError: unknown fields and wrong types, every one with its path.
    """
    report = Report("option")
    hub = decode.Reader(decode.HUB, report, []).structure(struct, dict(value), option, option)
    if report.violations:
        raise ManifestError(report.violations)
    return hub


def write(
    stored: Stored, hub: t.Mapping[str, t.Any], api: int, version: t.Optional[str]
) -> tuple[dict[str, t.Any], list[str]]:
    """Return the document of API number ``api``, and warnings.

    It has this hub form.

    Args:
        stored: what it is made from.
        hub: the hub form after the edit.
        api: the API number to write.
        version: the Kubernetes version that it is for.

    Raises:
        ManifestError: values that the API version can't hold, every one with its path and the alternative.
    """
    report = Report(OBJECT)
    target = render.Target(api, kubernetes_versions.parse(version or kubernetes_versions.typical_version(api)), report)
    rendered = render.document(stored.part, hub, "", target)
    if report.violations:
        raise ManifestError(report.violations)
    warnings: list[str] = list(target.warnings)
    result: dict[str, t.Any] = {"apiVersion": kubernetes_versions.api(api).api_version, "kind": stored.part.kind}
    for name, value in stored.data.items():
        if name in result:
            continue
        field = _field(stored.part.struct, name, stored.api)
        if field is None:
            result[name] = value
            _say_unknown(name, stored.api, api, warnings)
        elif api == stored.api and _same(field, stored.hub.get(field.hub_name), hub.get(field.hub_name)):
            result[name] = value
        elif name in rendered:
            result[name] = _with_leftovers(field, value, rendered[name], name, (stored.api, api), warnings)
        elif not field.hub:
            _leftover(field, value, name, api, result, warnings)
    for name, value in rendered.items():
        field = stored.part.struct.by_name.get(name)
        if name not in result and (
            field is None or not _same(field, stored.hub.get(field.hub_name), hub.get(field.hub_name))
        ):
            result[name] = value
    return result, warnings


def text(document: t.Mapping[str, t.Any]) -> str:
    """Return a document as YAML in kubeadm's own layout.

    Keys in alphabetical order, no separator.
    """
    written = yaml_documents.documents_text([_sorted(document)])
    return written[len("---\n") :] if written.startswith("---\n") else written


def _field(struct: fields.Struct, name: str, api: int) -> t.Optional[fields.Field]:
    field = struct.by_name.get(name)
    return field if field is not None and field.since <= api <= field.until else None


def _with_leftovers(
    field: fields.Field, before: t.Any, after: t.Any, path: str, apis: tuple[int, int], warnings: list[str]
) -> t.Any:
    """Return a rendered value with the stored value's other fields.

    Only the stored one can hold them: unknown fields and those the hub has elsewhere.
    """
    if field.struct is None or not isinstance(before, dict) or not isinstance(after, dict):
        return after
    result = dict(after)
    for name, value in before.items():
        where = child(path, name)
        inner = _field(field.struct, name, apis[0])
        if inner is None:
            result[name] = value
            _say_unknown(where, *apis, warnings)
        elif name in after:
            result[name] = _with_leftovers(inner, value, after[name], where, apis, warnings)
        elif not inner.hub:
            _leftover(inner, value, where, apis[1], result, warnings)
    return result


def _leftover(
    field: fields.Field, value: t.Any, path: str, api: int, result: dict[str, t.Any], warnings: list[str]
) -> None:
    """Keep a removed field where the API version has it, else warn."""
    if field.since <= api <= field.until:
        result[field.name] = value
    elif field.type == fields.DURATION:
        warnings.append(
            f"{path} ({value}) has no place in {kubernetes_versions.api(api).name}: set timeouts.controlPlaneComponentHealthCheckSeconds of "
            "initConfiguration and joinConfiguration instead."
        )
    elif value not in ("", "CoreDNS", False, None):
        warnings.append(
            f"{path} ({value}) has no place in {kubernetes_versions.api(api).name} and was left out; kubeadm has no successor for it."
        )


def _say_unknown(path: str, before: int, after: int, warnings: list[str]) -> None:
    if before != after:
        told, kept = kubernetes_versions.api(before).name, kubernetes_versions.api(after).name
        warnings.append(
            f"{path} is no field of kubeadm {told}; it was kept as it is in {kept}. Remove it unless you know better."
        )


def _same(field: fields.Field, before: t.Any, after: t.Any) -> bool:
    """Return whether two hub values mean the same.

    Nothing and an empty structure do, and so do arguments in another order of names.
    """
    return bool(_comparable(field, before) == _comparable(field, after))


def _comparable(field: fields.Field, value: t.Any) -> t.Any:
    if value in (None, "", {}, []):
        return None
    if field.type == fields.ARGS and isinstance(value, list):
        return sorted(value, key=lambda argument: str(argument.get("name")))
    if field.type == fields.STRUCT and field.struct is not None and isinstance(value, dict):
        known = field.struct.by_hub_name
        inner = {name: _comparable(known[name], one) if name in known else one for name, one in value.items()}
        return {name: one for name, one in inner.items() if one is not None} or None
    return value


def _without_unconverted(value: t.Any) -> t.Any:
    if isinstance(value, dict):
        return {name: _without_unconverted(one) for name, one in value.items() if name != decode.UNCONVERTED}
    if isinstance(value, list):
        return [_without_unconverted(one) for one in value]
    return value


def _sorted(value: t.Any) -> t.Any:
    if isinstance(value, dict):
        return {name: _sorted(value[name]) for name in sorted(value)}
    if isinstance(value, list):
        return [_sorted(one) for one in value]
    return value
