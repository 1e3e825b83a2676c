# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Additional facts of a machine for adopting an existing control plane.

They complete the observation (collect.py). The control plane was made by hand.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import typing as t
from dataclasses import dataclass

from ..common import sealed
from ..common.guard import NodeError, read_text
from ..common.https import Unreachable
from ..common.kubernetes_facts import DEFAULT_CERTIFICATES_DIR
from ..node.host import claim as host_claim
from ..node.host import external_etcd, host_facts
from ..node.host import fitness as host_fitness
from ..node.host.host_facts import HostPlaces
from ..workload_api.api import ADMIN_KUBECONFIG, MANIFESTS_DIRECTORY, ApiClient, ApiError, own_server, read_access

Object = dict[str, t.Any]
# docs/reference/kubeadm.md, "Files and ports".
KUBELET_FLAGS = "/var/lib/kubelet/kubeadm-flags.env"
_KUBELET_ARGUMENTS = re.compile(r"^KUBELET_KUBEADM_ARGS=(.*)$", re.MULTILINE)
_CERTIFICATES_DIR = re.compile(r"^certificatesDir:\s*[\"']?([^\s\"'#]+)", re.MULTILINE)
_GROUP = "cluster.x-k8s.io"
_DEFINITIONS, _MANAGED_BY = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "app.kubernetes.io/managed-by"
# Purpose of a cluster's Secret -> files below certificatesDir.
_FILES = {
    "ca": ("ca.crt", "ca.key"),
    "etcd": ("etcd/ca.crt", "etcd/ca.key"),
    "proxy": ("front-proxy-ca.crt", "front-proxy-ca.key"),
    "sa": ("sa.pub", "sa.key"),
}


@dataclass(frozen=True)
class Places:
    """Paths and programs of a control plane machine; tests use others."""

    manifests: str = MANIFESTS_DIRECTORY
    kubeconfig: str = ADMIN_KUBECONFIG
    kubectl: str = "kubectl"
    kubelet_flags: str = KUBELET_FLAGS
    pki: str = DEFAULT_CERTIFICATES_DIR


def read(configuration: str, key: str, timeout: float, places: t.Optional[Places] = None) -> Object:
    """Return the facts of this machine that an adoption needs.

    Args:
        configuration: kubeadm's ClusterConfiguration as the cluster keeps it; it has the folder of the certificates.
        key: from ``sealed.new_key``; private keys are sealed with it.
        timeout: seconds for each request.

    Returns:
        ``certificatesDir``, ``public`` (PEM by purpose: ca, etcd, proxy, sa, apiserver-etcd-client), ``sealed`` (the private
        keys by purpose, as JSON, sealed), ``withKey`` (the purposes that have one), ``kubeletArguments`` ([[name, value]]) and
        ``clusterAPI`` (``{served, machines: [{name, namespace, node, controlPlane}], message}``).
    """
    where = places or Places()
    found = _CERTIFICATES_DIR.search(configuration)
    directory = found.group(1).rstrip("/") if found else where.pki
    public, private = _material(directory, read_text(f"{where.manifests}/kube-apiserver.yaml"))
    return {
        "certificatesDir": directory,
        "public": public,
        "sealed": sealed.seal(key, json.dumps(private).encode()),
        "withKey": sorted(private),
        "kubeletArguments": kubelet_arguments(read_text(where.kubelet_flags)),
        "clusterAPI": _cluster_api(where, timeout),
    }


def fitness(
    observation: t.Mapping[str, t.Any], now: t.Optional[float], places: t.Optional[HostPlaces] = None
) -> Object:
    """Return this host's ownership claim and failed preflight checks.

    The checks are those for a machine of the provider machine_inventory.

    Args:
        observation: what collect.py found here.
        now: the controller's time in seconds since the epoch, None where the clocks are not to be compared.

    Returns:
        ``claim`` (as node/host/claim.py documents it, None where the host has none), ``missing``
        ([{check, message, fix}]) and ``otherEtcd`` (which etcd is there that kubeadm did not make, "" without one).
    """
    where = places or HostPlaces()
    missing = []
    claim = None
    try:
        claim = host_claim.read_claim(where)
    except NodeError as error:
        missing.append({"check": "Claim", "message": error.what, "fix": error.fix})
    carried = host_facts.ca_cert_hash(where)
    version = host_facts.version_of([where.kubelet, "--version"])
    wanted = host_fitness.Wanted(version, address=_own_address(observation), now=now, ca_cert_hash=carried)
    missing += [each.document() for each in host_fitness.lacks(wanted, where)]
    return {
        "claim": claim.document() if claim is not None else None,
        "missing": missing,
        "otherEtcd": host_facts.other_etcd(where)[0],
    }


def worker(
    observation: t.Mapping[str, t.Any],
    now: t.Optional[float],
    places: t.Optional[Places] = None,
    host_places: t.Optional[HostPlaces] = None,
) -> Object:
    """Return the facts of a worker, or of an empty host.

    Args:
        observation: what collect.py found here.
        now: the controller's time in seconds since the epoch, None where the clocks are not to be compared.

    Returns:
        ``caCertHash`` (kubeadm's hash of the cluster's CA, "" where kubeadm joined this host to none), ``kubeletArguments`` ([[name, value]]), and
        ``claim``, ``missing`` and ``otherEtcd`` as :func:`fitness` has them, without the address: only the cluster's API knows that of a worker.
    """
    found = fitness(observation, now, host_places)
    return {
        **found,
        "caCertHash": host_facts.ca_cert_hash(host_places or HostPlaces()),
        "kubeletArguments": kubelet_arguments(read_text((places or Places()).kubelet_flags)),
        "missing": [each for each in found["missing"] if each["check"] != "Address"],
    }


def _own_address(observation: t.Mapping[str, t.Any]) -> str:
    """Return the internal address of this host's Node, "" where unknown."""
    identity = (observation.get("machine") or {}).get("machineID")
    for node in (observation.get("objects") or {}).get("nodes") or []:
        status = node.get("status") or {}
        if identity and (status.get("nodeInfo") or {}).get("machineID") == identity:
            found = [each.get("address") for each in status.get("addresses") or [] if each.get("type") == "InternalIP"]
            return str(found[0]) if found else ""
    return ""


def _material(directory: str, manifest: str) -> tuple[dict[str, str], dict[str, str]]:
    public: dict[str, str] = {}
    private: dict[str, str] = {}
    elsewhere = external_etcd.of_api_server(manifest)
    for purpose, (certificate, key) in _FILES.items():
        if purpose == "etcd" and elsewhere is not None:
            # Whatever lies there, an external etcd's authority is the one that kube-apiserver trusts.
            continue
        texts = read_text(os.path.join(directory, certificate)), read_text(os.path.join(directory, key))
        _put(public, private, purpose, *texts)
    if elsewhere is not None:
        ca, certificate, own_key = (
            each.text if each is not None else "" for each in (elsewhere.ca, elsewhere.certificate, elsewhere.key)
        )
        _put(public, private, "etcd", ca, "")
        _put(public, private, "apiserver-etcd-client", certificate, own_key)
    return public, private


def _put(public: dict[str, str], private: dict[str, str], purpose: str, certificate: str, key: str) -> None:
    if certificate:
        public[purpose] = f"{certificate}\n"
    if key:
        private[purpose] = f"{key}\n"


def kubelet_arguments(text: str) -> list[list[str]]:
    """Return kubeadm's arguments of the kubelet, [] where unreadable (kubeadm-flags.env)."""
    found = _KUBELET_ARGUMENTS.search(text)
    if found is None:
        return []
    try:
        # The file is a systemd environment file: one quoted text of words.
        words = shlex.split(" ".join(shlex.split(found.group(1))))
    except ValueError:
        return []
    arguments = []
    for word in words:
        name, equals, value = word.partition("=")
        if name.startswith("--"):
            arguments.append([name[2:], value if equals else "true"])
    return arguments


def _cluster_api(where: Places, timeout: float) -> Object:
    """Return whether this cluster serves Cluster API, and its Machines."""
    try:
        access = read_access(where.kubeconfig, where.kubectl)
        with ApiClient(access, own_server(where.manifests) or access.server, timeout) as client:
            group = client.get(f"/apis/{_GROUP}")
            if group is None:
                return {"served": False, "machines": [], "message": ""}
            version = str((group.get("preferredVersion") or {}).get("version") or "")
            kinds = (client.get(f"/apis/{_GROUP}/{version}") or {}).get("resources") or []
            # Other kinds of the group may be there without this one.
            there = any(each.get("name") == "machines" for each in kinds)
            machines = [_machine(item) for item in client.list(f"/apis/{_GROUP}/{version}/machines")] if there else []
            found = {"definition": _managing(client.get(f"{_DEFINITIONS}/machines.{_GROUP}") or {})} if machines else {}
        return {"served": True, "machines": machines, "message": "", **found}
    except (Unreachable, ApiError, NodeError, ValueError) as error:
        return {"served": None, "machines": [], "message": str(error)}


def _managing(definition: t.Mapping[str, t.Any]) -> Object:
    """Return what of a definition says who manages it."""
    manager = str(((definition.get("metadata") or {}).get("labels") or {}).get(_MANAGED_BY) or "")
    strategy = str(((definition.get("spec") or {}).get("conversion") or {}).get("strategy") or "None")
    return {"metadata": {"labels": {_MANAGED_BY: manager}}, "spec": {"conversion": {"strategy": strategy}}}


def _machine(item: t.Mapping[str, t.Any]) -> Object:
    metadata = item.get("metadata") or {}
    return {
        "name": str(metadata.get("name") or ""),
        "namespace": str(metadata.get("namespace") or ""),
        "node": str(((item.get("status") or {}).get("nodeRef") or {}).get("name") or ""),
        "controlPlane": f"{_GROUP}/control-plane" in (metadata.get("labels") or {}),
    }
