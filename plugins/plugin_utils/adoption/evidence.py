# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Evidence from the hosts of a hand-made control plane; problems with adoption."""

from __future__ import annotations

import typing as t
from collections import defaultdict
from dataclasses import dataclass, field

from ...module_utils.common import sealed
from ...module_utils.common.bounded_yaml import read_json
from ...module_utils.common.kubernetes_versions import read_version
from ...module_utils.common.values import clip, shortened
from ...module_utils.common.violations import ManifestError
from ..kubeadm.configuration import any_form
from ..objects import advice
from ..observe import additional_facts
from ..observe.parse import parse
from ..pki import certificates
from ..pki.certificates import PkiError
from .host_problems import (
    OUT_OF_CLUSTER_API,
    Problem,
    annotated,
    machine_id,
    machines_of_cluster_api,
    node_of,
    same_machine,
)

Object = dict[str, t.Any]
SPARE = "NotAControlPlane"
AUTHORITIES = ("ca", "etcd", "proxy")
_SHOWN = 10


@dataclass
class Host:
    """Answer of one host; ``keys`` are private keys by purpose, and secret."""

    name: str
    workload: Object
    adoption: Object
    keys: t.Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def machine(self) -> Object:
        """Facts of the host itself."""
        found: Object = self.workload["machine"]
        return found

    @property
    def node(self) -> t.Optional[Object]:
        """Control plane Node of this host, by its machine-id, or None."""
        return node_of(self.machine, self.workload["nodes"])

    @property
    def public(self) -> dict[str, str]:
        """Certificates and the service account's public key, PEM by purpose."""
        return {str(key): str(value) for key, value in (self.adoption.get("public") or {}).items()}


def read_host(name: str, result: t.Mapping[str, t.Any], key: str) -> tuple[t.Optional[Host], t.Optional[Problem]]:
    """Return a host from its node_adoption_info result, or a problem.

    The problem is why it is no host of a control plane.
    """
    raw = result.get("observation")
    workload = {**parse(raw, name), **additional_facts.facts(raw), "apiServer": _own_address(raw)}
    if "kube-apiserver" not in (workload["machine"].get("staticPodManifests") or ()):
        text = "it carries no control plane (no static pod of kube-apiserver)"
        fix = "Name the cluster's control plane hosts only; workers are named by control_plane_adopt_workers."
        return None, Problem(SPARE, name, text, fix)
    if not workload["reachable"]:
        text = f"its API server does not answer: {workload['message']}"
        return None, Problem("APIUnreachable", name, text, "Bring the control plane to health first, then adopt it.")
    adoption = result.get("adoption")
    if not workload["initialized"] or not isinstance(adoption, dict):
        text = "its cluster has no ConfigMap kube-system/kubeadm-config: kubeadm did not make it, or it was deleted"
        fix = f"Only what kubeadm made can be adopted. If it did: {advice.RESTORE_KUBEADM_CONFIG}"
        return None, Problem("NotMadeByKubeadm", name, text, fix)
    try:
        keys = read_json(sealed.unseal(key, str(adoption.get("sealed") or "")))
        if not isinstance(keys, dict):
            raise ValueError("they are no mapping")
    except ValueError as error:
        return None, Problem("KeysUnreadable", name, f"its keys did not arrive whole: {error}", "Run again.")
    return Host(name, workload, adoption, {str(each): str(text) for each, text in keys.items()}), None


def _own_address(raw: t.Any) -> str:
    """Return host:port of the API server on the host itself.

    "" where it isn't known.
    """
    server = (raw.get("api") or {}).get("server") if isinstance(raw, dict) else None
    return server[len("https://") :] if isinstance(server, str) and server.startswith("https://") else ""


def configuration(host: Host) -> tuple[Object, list[Problem]]:
    """Return kubeadm's configuration of the cluster in hub form, and problems.

    It is read as this host's API server gives it.
    """
    text = host.workload["kubeadmConfig"]["clusterConfiguration"] or ""
    try:
        return any_form.read(text, "ConfigMap kube-system/kubeadm-config").hub, []
    except ManifestError as error:
        fix = "Correct it: kubectl -n kube-system edit configmap kubeadm-config."
        return {}, [Problem("NotMadeByKubeadm", host.name, f"its ClusterConfiguration can't be read: {error}", fix)]


def problems(hosts: t.Sequence[Host], hub: t.Mapping[str, t.Any], now: str) -> list[Problem]:
    """Return all problems with adopting these hosts as one control plane.

    Nothing is cut short.
    """
    found = [*same_machine(hosts), *_unregistered(hosts), *_other_clusters(hosts)]
    if found:
        # Whatever else were compared would be compared between hosts that don't belong together.
        return found
    return [
        *_nodes(hosts),
        *_versions(hosts, hub),
        *_managed(hosts),
        *_endpoint(hub),
        *_certificates(hosts, now),
    ]


def _unregistered(hosts: t.Sequence[Host]) -> list[Problem]:
    found = []
    for host in hosts:
        if host.node is None:
            known = ", ".join(sorted(str(each["name"]) for each in host.workload["nodes"])) or "none"
            hostname = host.machine.get("hostname")
            text = (
                f"it answers as another machine: its machine-id {machine_id(host) or '(none)'} (hostname {hostname}) is that of no control plane "
                f"Node of the cluster whose API server runs on it ({known})"
            )
            fix = "Look whether the name leads to the right machine, and whether its kubelet is registered."
            found.append(Problem("WrongHost", host.name, text, fix))
    return found


def _other_clusters(hosts: t.Sequence[Host]) -> list[Problem]:
    def differing(what: t.Callable[[Host], str]) -> str:
        groups: dict[str, list[str]] = defaultdict(list)
        for host in hosts:
            value = what(host)
            if value:
                groups[value].append(host.name)
        if len(groups) < 2:
            return ""
        return "; ".join(f"{', '.join(sorted(names))}: {value}" for value, names in sorted(groups.items()))

    fix = "Give the hosts of one cluster; adopt the other one under a name of its own."
    found = []
    for name, what in (
        ("the cluster's CA", lambda host: _fingerprint(host.public.get("ca", ""))),
        ("etcd's cluster ID", lambda host: str((host.workload.get("etcd") or {}).get("clusterID") or "")),
        ("the service account's key", lambda host: _digest(host.public.get("sa", ""))),
    ):
        said = differing(what)
        if said:
            found.append(
                Problem("MixedClusters", "", f"the hosts are of different clusters: {name} differs ({said})", fix)
            )
            break
    return found


def _fingerprint(pem: str) -> str:
    try:
        return certificates.certificate_info(pem).fingerprint[:16] if pem else ""
    except PkiError:
        return "unreadable"


def _digest(text: str) -> str:
    # Of a public key.
    words = "".join(line for line in text.split("\n") if not line.startswith("-----"))
    return words[-16:]


def _nodes(hosts: t.Sequence[Host]) -> list[Problem]:
    """Check that every control plane Node is one of the hosts.

    A machine that is not managed would block every step.
    """
    known = {host.node["name"] for host in hosts if host.node is not None}
    rest = sorted({str(each["name"]) for host in hosts for each in host.workload["nodes"]} - known)
    if not rest:
        return []
    text = f"control plane Node {', '.join(rest)} belongs to none of the hosts ({', '.join(sorted(host.name for host in hosts))})"
    fix = "Add its host to the group. If that machine is gone for good, delete its Node (kubectl delete node) and its etcd member first."
    return [Problem("UnknownNode", "", text, fix)]


def workers_left_alone(hosts: t.Sequence[Host], managed: t.Container[str]) -> list[str]:
    """Return what becomes of workers that are not adopted, [] without such.

    Those in `managed`, by their Nodes' names, have a Machine already, or get one now.
    """
    names = sorted({str(each) for host in hosts for each in host.workload["workerNodes"]})
    left = [each for each in names if each not in managed]
    if not left:
        return []
    text = (
        f"{len(left)} worker Node{'s stay as they are, and have' if len(left) > 1 else ' stays as it is, and has'} no Machine: "
        f"{clip(shortened(left, _SHOWN), 2000)}. No run makes, upgrades or removes any of them"
    )
    return [
        f"{text}; Actions reach hosts of the inventory group <cluster>_workers. control_plane_adopt_workers takes them into a MachineDeployment."
    ]


def _versions(hosts: t.Sequence[Host], hub: t.Mapping[str, t.Any]) -> list[Problem]:
    text = str((hub.get("clusterConfiguration") or {}).get("kubernetesVersion") or "")
    wanted = read_version(text if text.startswith("v") else f"v{text}")
    if wanted is None:
        fix = "Write it there: kubectl -n kube-system edit configmap kubeadm-config."
        said = f"kubeadm-config gives no kubernetesVersion that is one ({text or 'none'})"
        return [Problem("VersionSkew", "", said, fix)]
    found = []
    for host in hosts:
        node = host.node or {}
        image = ((host.workload["pods"].get(node.get("name")) or {}).get("kube-apiserver") or {}).get("image") or ""
        for what, own in (
            ("kubelet", str(node.get("kubeletVersion") or "")),
            ("kube-apiserver", image.rpartition(":")[2]),
        ):
            version = read_version(own.replace("_", "+"))
            if version is not None and not version.within_one_minor(wanted):
                said = f"its {what} has version {version}, and kubeadm-config says {wanted}: they are more than one minor version apart"
                fix = "Bring the machines within one minor version of each other with kubeadm upgrade, then adopt."
                found.append(Problem("VersionSkew", host.name, said, fix))
    return found


def _managed(hosts: t.Sequence[Host]) -> list[Problem]:
    """Check that Cluster API does not manage these machines.

    Two controllers must never manage one control plane.
    """
    names = {host.node["name"] for host in hosts if host.node is not None}
    fix = f"Two must never manage one control plane. {OUT_OF_CLUSTER_API}"
    found = annotated(hosts, fix)
    api = hosts[0].adoption.get("clusterAPI") or {}
    if api.get("served") is None:
        text = f"whether Cluster API manages the machines could not be asked: {api.get('message')}"
        found.append(Problem("APIUnreachable", hosts[0].name, text, "Run again when the API server answers."))
    for each in machines_of_cluster_api(hosts[0]):
        if each["node"] in names or (each["controlPlane"] and not each["node"]):
            title = f"{each['namespace']}/{each['name']}"
            text = f"the cluster holds Machine {title} of Cluster API ({each['node'] or 'a control plane machine without a Node'})"
            found.append(Problem("ManagedByClusterAPI", "", text, fix))
    return found


def _endpoint(hub: t.Mapping[str, t.Any]) -> list[Problem]:
    if (hub.get("clusterConfiguration") or {}).get("controlPlaneEndpoint"):
        return []
    text = "kubeadm-config has no controlPlaneEndpoint, without which kubeadm joins no further control plane machine"
    fix = (
        "Put a load balancer or virtual address before the API server, add it as controlPlaneEndpoint (kubectl -n kube-system edit configmap "
        "kubeadm-config). Have the API servers' certificates made again with it, on every control plane host, one after another: move apiserver.crt and "
        "apiserver.key in certificatesDir aside (back where the next command fails), run kubeadm init phase certs apiserver --config FILE with that "
        "configuration, restart kube-apiserver, and wait until it answers. Then adopt."
    )
    return [Problem("NoControlPlaneEndpoint", "", text, fix)]


def _certificates(hosts: t.Sequence[Host], now: str) -> list[Problem]:
    found = []
    for purpose in (*AUTHORITIES, "sa", "apiserver-etcd-client"):
        pair = material(hosts, purpose)
        if pair is None:
            if purpose != "apiserver-etcd-client":
                text = f"no host has the certificate of {purpose} in {hosts[0].adoption.get('certificatesDir')}"
                fix = "kubeadm join needs it. Put it back, then adopt."
                found.append(Problem("CertificatesNotAvailable", "", text, fix))
            continue
        certificate, key = pair
        wrong = (
            certificates.check_ca(certificate, key, now)
            if purpose in AUTHORITIES
            else certificates.check_key_pair(certificate, key, purpose)
        )
        for each in wrong:
            fix = "Correct the files on the hosts, then adopt."
            found.append(Problem("CertificatesNotAvailable", "", f"{purpose}: {each}", fix))
    return found


def material(hosts: t.Sequence[Host], purpose: str) -> t.Optional[tuple[str, t.Optional[str]]]:
    """Return certificate and private key for a purpose. Secret.

    Each is from the first host that has it.
    """
    certificate = next((host.public[purpose] for host in hosts if host.public.get(purpose)), None)
    key = next((host.keys[purpose] for host in hosts if host.keys.get(purpose)), None)
    return (certificate, key) if certificate else None
