# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of a Cluster, its infrastructure cluster and its Secrets."""

from __future__ import annotations

import base64
import binascii
import ipaddress
import re
from collections.abc import Mapping
from typing import Any

from ....module_utils.common import kubernetes_facts, kubernetes_versions
from ....module_utils.common.violations import Report, child, item
from ...documents import names
from ...kubeadm.configuration import validate as kubeadm_rules
from .. import kinds
from ..convert import failure_domains
from ..user_annotations import validate_annotations
from . import inventory
from .control_plane import metadata_rules, reference_rules

_SECRET_KEY = re.compile(r"[-._a-zA-Z0-9]{1,253}")


def validate_cluster(cluster: Mapping[str, Any], control_plane: Mapping[str, Any] | None, report: Report) -> None:
    """Check a hub Cluster.

    Its control plane, where it is known, provides the version and the node mask.
    """
    name, spec = cluster["metadata"]["name"], cluster["spec"]
    if not names.is_dns_label(name):
        rule = "a cluster's name is an RFC 1123 label of at most 63 characters: it becomes a label value and part of host names"
        report.add("metadata.name", name, rule, "Use lower case letters, digits and '-'.")
    metadata_rules(cluster["metadata"], "metadata", report)
    validate_annotations(kinds.CLUSTER, cluster["metadata"].get("annotations"), "metadata.annotations", report)
    for key, group, kind in (
        ("controlPlaneRef", kinds.GROUP_CONTROL_PLANE, kinds.KUBEADM_CONTROL_PLANE),
        ("infrastructureRef", kinds.infrastructure_group((spec.get("infrastructureRef") or {}).get("kind")), ""),
    ):
        reference, path = spec.get(key), f"spec.{key}"
        if not reference:
            report.add(path, None, f"the Cluster has no {key}", "Add the reference.")
            continue
        if kind and reference.get("kind") not in (None, kind):
            rule = "no control plane of this kind is managed here"
            report.add(child(path, "kind"), reference["kind"], rule, f"Use {kind}.")
        else:
            reference_rules(reference, path, group, report)
    endpoint_rules(spec, report)
    _network(spec.get("clusterNetwork") or {}, control_plane, report)


def endpoint_rules(spec: Mapping[str, Any], report: Report) -> None:
    """Check that a spec's controlPlaneEndpoint has a valid host and port.

    The host is a DNS name or an IP address.
    """
    endpoint, path = spec.get("controlPlaneEndpoint"), "spec.controlPlaneEndpoint"
    if endpoint is None:
        return
    host, port = endpoint.get("host"), endpoint.get("port")
    if not host or not _is_host(host):
        report.add(child(path, "host"), host, "the endpoint's host is a DNS name or an IP address", "Correct it.")
    if port is None or not 1 <= port <= 65535:
        report.add(child(path, "port"), port, "the endpoint's port is between 1 and 65535", "Usually it is 6443.")


def _is_host(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return names.is_dns_subdomain(text) and not re.fullmatch(r"[0-9.]+", text)
    return True


def _network(network: Mapping[str, Any], control_plane: Mapping[str, Any] | None, report: Report) -> None:
    config = ((control_plane or {}).get("spec") or {}).get("kubeadmConfigSpec") or {}
    cluster_config = config.get("clusterConfiguration") or {}
    manager = (cluster_config.get("controllerManager") or {}).get("extraArgs") or []
    domain = network.get("serviceDomain")
    if domain and not names.is_dns_subdomain(domain):
        where = "spec.clusterNetwork.serviceDomain"
        report.add(where, domain, "this is not a DNS domain", 'Write one like "cluster.local".')
    found: dict[str, list[kubeadm_rules.Network]] = {}
    for field in ("services", "pods"):
        blocks = (network.get(field) or {}).get("cidrBlocks") or []
        path = f"spec.clusterNetwork.{field}.cidrBlocks"
        found[field] = kubeadm_rules.subnets(blocks, path, field == "services", manager, report) if blocks else []
        if len(blocks) > 1:
            _dual_stack(cluster_config, control_plane, path, report)
    for pods in found["pods"]:
        for services in found["services"]:
            if pods.version == services.version and pods.overlaps(services):
                rule = f"the pod network {pods} and the service network {services} overlap"
                report.add(
                    "spec.clusterNetwork.pods.cidrBlocks",
                    str(pods),
                    rule,
                    "Use networks that have no address in common.",
                )


def _dual_stack(config: Mapping[str, Any], control_plane: Mapping[str, Any] | None, path: str, report: Report) -> None:
    text = ((control_plane or {}).get("spec") or {}).get("version") or ""
    try:
        version = kubernetes_versions.parse(text)
    except ValueError:
        return
    if not kubernetes_facts.gate_on(str(version), "IPv6DualStack", config.get("featureGates")):
        fix = "Set clusterConfiguration.featureGates.IPv6DualStack, give one block, or use Kubernetes 1.21."
        report.add(path, None, f"Kubernetes {version} accepts two blocks only with a feature gate", fix)


def validate_infrastructure_cluster(infrastructure: Mapping[str, Any], report: Report) -> None:
    """Check the contract's fields of an infrastructure cluster.

    They are the endpoint and the failure domains; the other fields are its provider's.
    """
    metadata_rules(infrastructure["metadata"], "metadata", report)
    if kinds.is_flagged(infrastructure, kinds.ANNOTATION_MANAGED_BY):
        managed = infrastructure["metadata"]["annotations"][kinds.ANNOTATION_MANAGED_BY]
        where = child("metadata.annotations", kinds.ANNOTATION_MANAGED_BY)
        rule = "infrastructure that is managed externally is not supported: its provider's role would make it, change it and delete it"
        fix = (
            "Take the annotation off if the provider's role is to do so. If not, use an InventoryCluster with spec.controlPlaneEndpoint, "
            "for which nothing is made or deleted, or a role of your own that does nothing (docs/provider_contract.md)."
        )
        report.add(where, managed, rule, fix)
    endpoint_rules(infrastructure["spec"], report)
    seen: set[str] = set()
    own = infrastructure.get("kind") in kinds.OWN_INFRASTRUCTURE
    declared = infrastructure["spec"].get("failureDomains") or []
    domains = declared if own else failure_domains.of_contract(declared)
    for index, domain in enumerate(domains):
        path, name = item("spec.failureDomains", index), domain.get("name")
        if not name or not names.is_label_value(name):
            report.add(child(path, "name"), name, "a failure domain needs a name that is a label value", "Name it.")
        elif name in seen:
            report.add(child(path, "name"), name, "two failure domains have this name", "Rename one.")
        seen.add(name or "")
    if domains and not any(domain.get("controlPlane") for domain in domains):
        rule = "no failure domain may hold control plane machines"
        report.add("spec.failureDomains", None, rule, "Set controlPlane: true for at least one.")
    if infrastructure.get("kind") == kinds.INVENTORY_CLUSTER:
        inventory.validate_inventory_cluster(infrastructure, report)


def validate_template(template: Mapping[str, Any], report: Report) -> None:
    """Check that a machine template has spec.template.spec.

    The contract needs nothing else; the fields in it are its provider's.
    """
    metadata_rules(template["metadata"], "metadata", report)
    if not isinstance(template["spec"]["template"].get("spec"), dict):
        report.add("spec.template.spec", None, "the template describes no machine", "Add spec.template.spec.")
    elif template.get("kind") == kinds.INVENTORY_MACHINE_TEMPLATE:
        inventory.validate_inventory_template(template, report)


def validate_secret(secret: dict[str, Any], report: Report) -> None:
    """Check a Secret and fold its stringData into data, in place.

    The values become base64, as an API server does it.
    """
    data = dict(secret.get("data") or {})
    for key, value in data.items():
        path = child("data", key)
        try:
            base64.b64decode("".join(value.split()), validate=True)
        except (binascii.Error, ValueError):
            report.add(path, None, "the value is not base64", "Encode it, or put the text under stringData.")
    for key, value in (secret.pop("stringData", None) or {}).items():
        data[key] = base64.b64encode(value.encode()).decode()
    for key in data:
        if not _SECRET_KEY.fullmatch(key):
            report.add(
                child("data", key),
                None,
                "this is not a valid key of a Secret",
                "Use letters, digits, '-', '_' and '.'.",
            )
    secret["data"] = {key: "".join(value.split()) for key, value in data.items()}
