# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Validation of complete documents, beyond validate.py's rules.

Source: docs/reference/kubeadm.md, "Validation".

validate.py's rules hold for a KubeadmConfigSpec. That is filled in when a machine is made (discovery, names); a
document is what kubeadm will read, so what kubeadm requires must be there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from ....module_utils.common import kubernetes_facts, kubernetes_versions
from ....module_utils.common.violations import Report, child, item
from ...documents.names import is_dns_subdomain
from . import validate

_CERTIFICATE_KEY = re.compile(r"[0-9a-fA-F]{64}")
_UNMOUNT_FLAGS = ("MNT_FORCE", "MNT_DETACH", "MNT_EXPIRE", "UMOUNT_NOFOLLOW")


def check(hub: Mapping[str, Any], version: kubernetes_versions.Version, complete: bool, report: Report) -> None:
    """Check the parts of `hub` for kubeadm of `version`.

    With `complete` a required part or field that is missing is a violation, too.
    """
    validate.validate(hub, "", version, report)
    for key in ("initConfiguration", "joinConfiguration"):
        part = hub.get(key) or {}
        _node(part.get("nodeRegistration") or {}, child(key, "nodeRegistration"), report)
        _certificate_key(part, key, report)
    _cluster(hub.get("clusterConfiguration") or {}, "clusterConfiguration", version, report)
    _status(hub.get("clusterStatus") or {}, report)
    if "joinConfiguration" in hub:
        _join(hub["joinConfiguration"], "joinConfiguration", complete, report)
    _reset(hub.get("resetConfiguration") or {}, "resetConfiguration", report)
    _upgrade(hub.get("upgradeConfiguration") or {}, "upgradeConfiguration", report)


def _node(node: Mapping[str, Any], path: str, report: Report) -> None:
    name = node.get("name")
    if name and not is_dns_subdomain(name):
        rule = "a node's name is an RFC 1123 name"
        fix = "Use lower case letters, digits, '-' and '.', or leave it out to take the host's name."
        report.add(child(path, "name"), name, rule, fix)


def _certificate_key(part: Mapping[str, Any], path: str, report: Report) -> None:
    for owner, where in ((part, path), (part.get("controlPlane") or {}, child(path, "controlPlane"))):
        key = owner.get("certificateKey")
        if key and not _CERTIFICATE_KEY.fullmatch(key):
            rule = "a certificate key is 32 bytes as 64 hex digits"
            report.add(child(where, "certificateKey"), None, rule, "Make one with `kubeadm certs certificate-key`.")


def _cluster(cluster: Mapping[str, Any], path: str, version: kubernetes_versions.Version, report: Report) -> None:
    networking, gates = cluster.get("networking") or {}, cluster.get("featureGates") or {}
    dual_stack = kubernetes_facts.gate_on(str(version), "IPv6DualStack", gates)
    for name in ("serviceSubnet", "podSubnet"):
        if "," in (networking.get(name) or "") and not dual_stack:
            rule = f"two networks need the feature gate IPv6DualStack with Kubernetes {version}"
            fix = "Set clusterConfiguration.featureGates.IPv6DualStack: true, or give one network."
            report.add(child(path, "networking", name), networking[name], rule, fix)
    _kubernetes_version(cluster.get("kubernetesVersion"), child(path, "kubernetesVersion"), version, report)
    external = (cluster.get("etcd") or {}).get("external") or {}
    for index, endpoint in enumerate(external.get("httpEndpoints") or []):
        parts = urlsplit(endpoint)
        if parts.scheme not in ("http", "https") or not parts.netloc:
            where = item(child(path, "etcd", "external", "httpEndpoints"), index)
            report.add(where, endpoint, "an etcd endpoint is a URL", 'Write it like "https://10.0.0.5:2382".')


def _kubernetes_version(written: Any, path: str, kubeadm: kubernetes_versions.Version, report: Report) -> None:
    try:
        wanted = kubernetes_versions.parse(written or str(kubeadm))
    except ValueError:
        # "stable-1" and the like are channels, which kubeadm asks the internet for.
        return
    if not kubeadm.follows(wanted):
        rule = f"kubeadm of Kubernetes {kubeadm} sets up control planes from v{kubeadm.major}.{kubeadm.minor - 1}.0 on"
        report.add(path, written, rule, f"Write {kubeadm}, or convert for the version that the machines run.")
    elif wanted.minors_after(kubeadm) > 0:
        rule = f"kubeadm of Kubernetes {kubeadm} does not know a newer minor"
        report.add(path, written, rule, f"Write {kubeadm}, or convert for the version that the machines run.")


def _status(status: Mapping[str, Any], report: Report) -> None:
    for name, endpoint in (status.get("apiEndpoints") or {}).items():
        validate.endpoint(endpoint, child("clusterStatus", "apiEndpoints", name), report)


def _join(join: Mapping[str, Any], path: str, complete: bool, report: Report) -> None:
    certificate = join.get("caCertPath")
    if certificate and not certificate.endswith(".crt"):
        fix = "Name the file of the cluster's CA."
        report.add(child(path, "caCertPath"), certificate, "this is not the path of a .crt file", fix)
    discovery, where = join.get("discovery") or {}, child(path, "discovery")
    token, file = discovery.get("bootstrapToken"), discovery.get("file")
    if complete and token is None and file is None:
        rule = "a join needs discovery.bootstrapToken or discovery.file"
        report.add(where, None, rule, "Give one of them.")
    if token is None:
        return
    where = child(where, "bootstrapToken")
    endpoint = token.get("apiServerEndpoint")
    if endpoint and not re.search(r":[0-9]+$", endpoint):
        rule = "this endpoint has no port"
        report.add(child(where, "apiServerEndpoint"), endpoint, rule, "Write host:port.")
    if not complete:
        return
    for name, example in (("token", "a bootstrap token"), ("apiServerEndpoint", "host:port of the API server")):
        if not token.get(name):
            report.add(child(where, name), None, f"discovery by token needs {name}", f"Give {example}.")
    if not token.get("caCertHashes") and not token.get("unsafeSkipCAVerification"):
        rule = "discovery by token needs caCertHashes, or unsafeSkipCAVerification: true"
        report.add(child(where, "caCertHashes"), None, rule, "Pin the cluster's CA with its hash.")


def _reset(reset: Mapping[str, Any], path: str, report: Report) -> None:
    for index, flag in enumerate(reset.get("unmountFlags") or []):
        if flag not in _UNMOUNT_FLAGS:
            where = item(child(path, "unmountFlags"), index)
            report.add(where, flag, "this is not a flag of umount2", f"Use {', '.join(_UNMOUNT_FLAGS)}.")
    validate.absolute(reset.get("certificatesDir"), child(path, "certificatesDir"), report)
    validate.node_options(reset, path, report)


def _upgrade(upgrade: Mapping[str, Any], path: str, report: Report) -> None:
    for name in ("apply", "diff", "node", "plan"):
        part, where = upgrade.get(name) or {}, child(path, name)
        validate.node_options(part, where, report)
        validate.absolute((part.get("patches") or {}).get("directory"), child(where, "patches", "directory"), report)
        target = part.get("kubernetesVersion")
        if target and not _is_version(target):
            fix = 'Write it like "v1.31.2".'
            report.add(child(where, "kubernetesVersion"), target, "this is not a Kubernetes version", fix)
        if (part.get("contextLines") or 0) < 0:
            rule = "a number of lines is not negative"
            report.add(child(where, "contextLines"), part["contextLines"], rule, "Use 0 or more.")


def _is_version(text: str) -> bool:
    try:
        kubernetes_versions.parse(text)
    except ValueError:
        return False
    return True
