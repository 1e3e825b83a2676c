# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plan for ConfigMap kube-system/kubeadm-config, read at joins and upgrades.

Sources: docs/reference/cluster_api.md, "Rollout"; docs/reference/kubeadm.md, "Reconfiguring", "Stored objects".
"""

from __future__ import annotations

import copy
import re
import typing as t
from dataclasses import dataclass

from ...module_utils.common import kubernetes_facts, kubernetes_versions
from ...module_utils.common.redact import redact
from ...module_utils.workload_api import compare_and_swap
from ..documents.scalars import format_duration, parse_duration
from ..kubeadm.configuration import fields
from ..objects import advice
from . import kubeadm_document
from .writes import Change, Objects, Plan, WorkloadError, resource_version

PATH = "/api/v1/namespaces/kube-system/configmaps/kubeadm-config"
CLUSTER_CONFIGURATION, CLUSTER_STATUS = "ClusterConfiguration", "ClusterStatus"
READS = (compare_and_swap.Read(PATH, (f"data.{CLUSTER_CONFIGURATION}", f"data.{CLUSTER_STATUS}")),)
_STRUCTS = fields.CLUSTER_CONFIGURATION.by_name
_BY_HUB_NAME = fields.CLUSTER_CONFIGURATION.by_hub_name
# Arguments whose value is a secret itself rather than the path of a file.
_SECRET_ARGUMENT = re.compile(r"(token|secret|passw|credential|key)", re.IGNORECASE)
_REDACTED = "[redacted]"


@dataclass(frozen=True)
class ApiEndpoint:
    """Entry of a node in ClusterStatus (Kubernetes before 1.22).

    There with this address and port, or ``address`` None = removed.
    """

    node: str
    address: t.Optional[str] = None
    port: int = kubernetes_facts.DEFAULT_BIND_PORT


@dataclass(frozen=True)
class Wanted:
    """Desired state of kubeadm-config; None leaves a field unchanged.

    Structures are in the hub form or in Cluster API's classic form.

    ``feature_gates`` and the structures replace what is there as a whole. An empty text, or 0, takes a field out, so that kubeadm's own
    value holds. ``health_check_seconds`` is written only where the API version has it in the ClusterConfiguration (before v1beta4).
    """

    kubernetes_version: t.Optional[str] = None
    image_repository: t.Optional[str] = None
    feature_gates: t.Optional[t.Mapping[str, bool]] = None
    api_server: t.Optional[t.Mapping[str, t.Any]] = None
    controller_manager: t.Optional[t.Mapping[str, t.Any]] = None
    scheduler: t.Optional[t.Mapping[str, t.Any]] = None
    etcd: t.Optional[t.Mapping[str, t.Any]] = None
    dns: t.Optional[t.Mapping[str, t.Any]] = None
    certificate_validity_period_days: t.Optional[int] = None
    encryption_algorithm: t.Optional[str] = None
    health_check_seconds: t.Optional[int] = None
    api_endpoints: tuple[ApiEndpoint, ...] = ()


def plan(objects: Objects, wanted: Wanted) -> Plan:
    """Return the plan for kubeadm-config.

    Raises:
        WorkloadError: the ConfigMap or its key is missing or can't be read, or what is wanted contradicts what is there.
        ManifestError: values that don't fit, every one with its path.
    """
    item = objects[PATH]
    if item is None:
        raise WorkloadError(
            "there is no ConfigMap kube-system/kubeadm-config: kubeadm did not make this cluster, or it was deleted. "
            f"Nothing was written. {advice.RESTORE_KUBEADM_CONFIG}"
        )
    data: t.Mapping[str, str] = item.get("data") or {}
    if not data.get(CLUSTER_CONFIGURATION):
        raise WorkloadError(
            f"{kubeadm_document.OBJECT} has no key {CLUSTER_CONFIGURATION}; nothing was written. {advice.RESTORE_KUBEADM_CONFIG}"
        )
    stored = kubeadm_document.read(data[CLUSTER_CONFIGURATION], "clusterConfiguration")
    warnings: list[str] = []
    hub = _edited(stored.hub, wanted, warnings)
    target = wanted.kubernetes_version
    api = kubernetes_versions.api_version_for(target).number if target else stored.api
    version = target or _parsable(stored.hub.get("kubernetesVersion"))
    document, said = kubeadm_document.write(stored, hub, api, version)
    warnings += said
    _health_timeout(document, api, wanted)
    patch: dict[str, str] = {}
    changes: list[Change] = []
    if document != stored.data:
        patch[CLUSTER_CONFIGURATION] = kubeadm_document.text(document)
        changes.append(_change(CLUSTER_CONFIGURATION, stored.data, document))
    _cluster_status(data.get(CLUSTER_STATUS), wanted, api, version, patch, changes)
    configuration = dict(_shown(hub))
    known: dict[str, t.Any] = {"api_version": kubernetes_versions.api(api).api_version, "configuration": configuration}
    if not patch:
        return Plan("kubeadm-config is as wanted", warnings=tuple(warnings), facts=known)
    write = compare_and_swap.Write(PATH, compare_and_swap.MERGE, {"data": patch}, resource_version(item))
    return Plan(f"kubeadm-config: {' and '.join(patch)} written", (write,), tuple(changes), tuple(warnings), known)


def _edited(stored: t.Mapping[str, t.Any], wanted: Wanted, warnings: list[str]) -> dict[str, t.Any]:
    hub = copy.deepcopy(dict(stored))
    if wanted.kubernetes_version:
        # Named so that an unusable version is refused before anything else is looked at.
        kubernetes_versions.parse(wanted.kubernetes_version)
        hub["kubernetesVersion"] = wanted.kubernetes_version
    _image_repository(hub, wanted, warnings)
    _feature_gates(hub, wanted, warnings)
    for name, value in (
        ("apiServer", wanted.api_server),
        ("controllerManager", wanted.controller_manager),
        ("scheduler", wanted.scheduler),
        ("dns", wanted.dns),
        ("etcd", wanted.etcd),
    ):
        struct = _STRUCTS[name].struct
        if value is not None and struct is not None:
            hub[name] = kubeadm_document.given(struct, value, name)
    if wanted.dns is not None and "disabled" in (stored.get("dns") or {}):
        hub["dns"].setdefault("disabled", stored["dns"]["disabled"])
    if wanted.etcd is not None:
        _etcd(stored.get("etcd") or {}, hub["etcd"])
    _scalar(hub, "certificateValidityPeriodDays", wanted.certificate_validity_period_days)
    _scalar(hub, "encryptionAlgorithm", wanted.encryption_algorithm)
    return hub


def _scalar(hub: dict[str, t.Any], name: str, value: t.Union[str, int, None]) -> None:
    if value:
        hub[name] = value
    elif value is not None and hub.get(name) not in _BY_HUB_NAME[name].same_before:
        # kubeadm spells its own value out, which means the same as none.
        hub.pop(name, None)


def _health_timeout(document: dict[str, t.Any], api: int, wanted: Wanted) -> None:
    """Set the health check timeout for joins, before v1beta4 only, in place.

    Left out where that is what kubeadm writes by itself.
    """
    if wanted.health_check_seconds is None or api >= kubernetes_facts.OWN_TIMEOUTS:
        return
    server = dict(document.get("apiServer") or {})
    before = server.get("timeoutForControlPlane")
    if before is None and wanted.health_check_seconds == kubernetes_facts.HEALTH_CHECK_SECONDS:
        return
    if before is None or _seconds(before) != wanted.health_check_seconds:
        document["apiServer"] = {**server, "timeoutForControlPlane": format_duration(wanted.health_check_seconds)}


def _seconds(duration: t.Any) -> t.Optional[int]:
    found = parse_duration(duration) if isinstance(duration, str) else None
    return int(found) if found is not None else None


def _image_repository(hub: dict[str, t.Any], wanted: Wanted, warnings: list[str]) -> None:
    if wanted.image_repository is not None:
        _scalar(hub, "imageRepository", wanted.image_repository)
    elif wanted.kubernetes_version and hub.get("imageRepository") == kubernetes_facts.OLD_REGISTRY:
        # As kubeadm's own upgrade does: the old registry gets no new images.
        # Source: docs/reference/kubeadm.md, "Image registry".
        moved = kubernetes_facts.default_image_repository(wanted.kubernetes_version)
        if moved != kubernetes_facts.OLD_REGISTRY:
            hub["imageRepository"] = moved
            warnings.append(
                f"imageRepository: {kubernetes_facts.OLD_REGISTRY} is frozen; {moved} takes its place, as in kubeadm upgrade."
            )


def _feature_gates(hub: dict[str, t.Any], wanted: Wanted, warnings: list[str]) -> None:
    version = kubernetes_versions.parse(wanted.kubernetes_version) if wanted.kubernetes_version else None
    if wanted.feature_gates is not None:
        unknown = _unknown_gates(wanted.feature_gates, version)
        if unknown:
            raise WorkloadError(
                f"feature_gates: kubeadm of Kubernetes {wanted.kubernetes_version} doesn't know {', '.join(unknown)} and would refuse "
                "the configuration; nothing was written. Leave them out."
            )
        hub["featureGates"] = dict(wanted.feature_gates)
        return
    stripped = _unknown_gates(hub.get("featureGates") or {}, version)
    for gate in stripped:
        del hub["featureGates"][gate]
        warnings.append(f"featureGates: {gate} is removed: kubeadm of {wanted.kubernetes_version} doesn't know it.")


def _unknown_gates(gates: t.Mapping[str, t.Any], version: t.Optional[kubernetes_versions.Version]) -> list[str]:
    """Return the gates that kubeadm of this version refuses."""
    return (
        []
        if version is None
        else sorted(gate for gate in gates if kubernetes_facts.feature_gate_refused(version, gate))
    )


def _etcd(before: t.Mapping[str, t.Any], after: dict[str, t.Any]) -> None:
    if not after:
        # Nothing wanted of etcd: with kubeadm's own etcd its defaults, with an external one what is there.
        after.update({"local": {}} if "local" in before else before)
    if "local" in after and "external" in after:
        raise WorkloadError("etcd: local and external exclude each other; nothing was written. Give one of them.")
    for one, other in (("local", "external"), ("external", "local")):
        if one in after and other in before:
            raise WorkloadError(
                f"etcd: the cluster's etcd is {other}, and can't become {one} by editing kubeadm-config; nothing was written. "
                "Moving etcd's data is a migration of its own."
            )
    directory = (before.get("local") or {}).get("dataDir")
    if "local" in after and directory == kubernetes_facts.DEFAULT_ETCD_DATA_DIR:
        # kubeadm writes its default down; leaving it out means the same.
        after["local"].setdefault("dataDir", directory)


def _cluster_status(
    text: t.Optional[str],
    wanted: Wanted,
    api: int,
    version: t.Optional[str],
    patch: dict[str, str],
    changes: list[Change],
) -> None:
    present = [each for each in wanted.api_endpoints if each.address is not None]
    if not text:
        if present and (api > 2 or (version and not kubernetes_facts.has_cluster_status(version))):
            raise WorkloadError(
                "api_endpoints: kubeadm keeps no ClusterStatus from Kubernetes 1.22 on; nothing was written. "
                "The endpoints are annotations of the static pods there: leave api_endpoints out."
            )
        if not present:
            return
        text = f"apiVersion: {kubernetes_versions.api(min(api, 2)).api_version}\nkind: {CLUSTER_STATUS}\napiEndpoints: {{}}\n"
    elif not wanted.api_endpoints and api > 2:
        # An older kubeadm that is still on some machine reads it; 1.22's upgrade takes it away.
        # Source: docs/reference/kubeadm.md, "Stored objects".
        return
    stored = kubeadm_document.read(text, "clusterStatus")
    document = copy.deepcopy(stored.data)
    # A newer API than v1beta2 has no ClusterStatus; kubeadm 1.21, the last to read it, reads v1beta2.
    document["apiVersion"] = kubernetes_versions.api(max(stored.api, min(api, 2))).api_version
    endpoints = document.get("apiEndpoints") or {}
    for each in wanted.api_endpoints:
        if each.address is None:
            endpoints.pop(each.node, None)
        else:
            endpoints[each.node] = {
                **(endpoints.get(each.node) or {}),
                "advertiseAddress": each.address,
                "bindPort": each.port,
            }
    if endpoints or "apiEndpoints" in document:
        document["apiEndpoints"] = endpoints
    if document != stored.data:
        patch[CLUSTER_STATUS] = kubeadm_document.text(document)
        changes.append(_change(CLUSTER_STATUS, stored.data, document))


def _parsable(version: t.Any) -> t.Optional[str]:
    try:
        kubernetes_versions.parse(str(version))
    except ValueError:
        return None
    return str(version)


def _change(key: str, before: t.Mapping[str, t.Any], after: t.Mapping[str, t.Any]) -> Change:
    texts = [redact(kubeadm_document.text(_shown(document))) for document in (before, after)]
    if texts[0] == texts[1]:
        texts[1] += "# a value that is not shown here changes\n"
    return Change(f"{kubeadm_document.OBJECT}, key {key}", texts[0], texts[1])


def _shown(value: t.Any, name: str = "") -> t.Any:
    """Return a document or its hub form without secrets, for messages.

    Values of environment variables and of arguments that hold secrets are left out.
    """
    if isinstance(value, dict):
        if name == "extraArgs":
            return {key: _argument(key, one) for key, one in value.items()}
        return {key: _shown(one, key) for key, one in value.items()}
    if isinstance(value, list):
        if name == "extraEnvs":
            return [{**one, "value": _REDACTED} if isinstance(one, dict) and "value" in one else one for one in value]
        if name == "extraArgs":
            return [
                {**one, "value": _argument(str(one.get("name")), one.get("value"))} if isinstance(one, dict) else one
                for one in value
            ]
        return [_shown(one) for one in value]
    return value


def _argument(name: str, value: t.Any) -> t.Any:
    secret = _SECRET_ARGUMENT.search(name) and isinstance(value, str) and not value.startswith("/")
    # Switches, numbers, times and algorithms are no secrets, whatever their argument is called.
    return _REDACTED if secret and not re.fullmatch(r"true|false|[0-9]+[a-z]*|RSA.*|ECDSA.*", str(value)) else value
