# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Manifest of a hand-made control plane, from its hosts' answers. Pure."""

from __future__ import annotations

import typing as t

from ...module_utils.common import kubernetes_facts
from ..objects import kinds
from ..objects.equivalence import ABSENT, canonical, cluster_values
from ..objects.manifest.reader import ClusterManifest
from .evidence import Host
from .host_problems import AnyHost, Problem

Object = dict[str, t.Any]
DEFAULT_PORT = 6443
_DEFAULT_AUTHORIZATION = {"name": "authorization-mode", "value": "Node,RBAC"}
# Where a manifest says what kubeadm calls so.
_FIELDS = {
    "networking.podSubnet": "spec.clusterNetwork.pods.cidrBlocks",
    "networking.serviceSubnet": "spec.clusterNetwork.services.cidrBlocks",
    "networking.dnsDomain": "spec.clusterNetwork.serviceDomain",
    "controlPlaneEndpoint": "spec.controlPlaneEndpoint",
}
# What kubeadm itself puts into kubeadm-flags.env (app/phases/kubelet/flags.go), by version one or the other.
_KUBEADMS_OWN = frozenset(
    {
        *("network-plugin", "container-runtime", "container-runtime-endpoint", "pod-infra-container-image"),
        *("cgroup-driver", "hostname-override", "register-with-taints", "resolv-conf"),
    }
)


def host_and_port(text: str) -> tuple[str, int]:
    """Return host and port of kubeadm's controlPlaneEndpoint.

    The port may be left out; an IPv6 address has brackets.
    """
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or len(port) > 5 or (":" in host and not host.endswith("]")):
        host, port = text, str(DEFAULT_PORT)
    return host.strip("[]"), int(port)


def version_of(hub: t.Mapping[str, t.Any]) -> str:
    """Return the Kubernetes version that kubeadm keeps, with its "v"."""
    text = str(hub["clusterConfiguration"]["kubernetesVersion"])
    return text if text.startswith("v") else f"v{text}"


def endpoint_of(hub: t.Mapping[str, t.Any]) -> Object:
    """Return the control plane endpoint as ``{host, port}``."""
    host, port = host_and_port(str(hub["clusterConfiguration"]["controlPlaneEndpoint"]))
    return {"host": host, "port": port}


def network_of(hub: t.Mapping[str, t.Any]) -> Object:
    """Return the Cluster's clusterNetwork."""
    networking = hub["clusterConfiguration"].get("networking") or {}
    found: Object = {}
    for field, name in (("services", "serviceSubnet"), ("pods", "podSubnet")):
        blocks = [each for each in str(networking.get(name) or "").split(",") if each]
        if blocks:
            found[field] = {"cidrBlocks": blocks}
    if networking.get("dnsDomain"):
        found["serviceDomain"] = networking["dnsDomain"]
    return found


def cluster_configuration(hub: t.Mapping[str, t.Any], cluster: str) -> Object:
    """Return the clusterConfiguration for the manifest.

    What other fields of the manifest state and kubeadm's own defaults are left out.
    """
    configuration = dict(hub["clusterConfiguration"])
    for key in ("kubernetesVersion", "controlPlaneEndpoint", "networking"):
        configuration.pop(key, None)
    if configuration.get("clusterName") == cluster:
        del configuration["clusterName"]
    if configuration.get("imageRepository") in kubernetes_facts.DEFAULT_REGISTRIES:
        del configuration["imageRepository"]
    server = dict(configuration.get("apiServer") or {})
    # kubeadm writes this one of its own defaults into what it keeps, as if somebody had asked for it.
    server["extraArgs"] = [each for each in server.get("extraArgs") or [] if each != _DEFAULT_AUTHORIZATION]
    found = canonical({**configuration, "apiServer": server})
    return {} if found is ABSENT else dict(found)


def config_spec(hub: t.Mapping[str, t.Any], hosts: t.Sequence[Host], cluster: str) -> tuple[Object, list[str]]:
    """Return the KubeadmConfigSpec for a further machine, and notes.

    The notes are sentences on what of the hosts it does not hold.
    """
    registration, notes = _registration(hosts, version_of(hub))
    timeouts = canonical((hub.get("initConfiguration") or {}).get("timeouts"), "timeouts")
    own = {"nodeRegistration": registration, "timeouts": {} if timeouts is ABSENT else timeouts}
    machine = {key: value for key, value in own.items() if value}
    spec = {
        "clusterConfiguration": cluster_configuration(hub, cluster),
        "initConfiguration": machine,
        "joinConfiguration": dict(machine),
    }
    # Cluster API has no empty structures.
    return {key: value for key, value in spec.items() if value}, notes


def _registration(hosts: t.Sequence[Host], version: str) -> tuple[Object, list[str]]:
    found: Object = {}
    notes = []
    sockets = {
        str((_node(host).get("annotations") or {}).get(kubernetes_facts.ANNOTATION_CRI_SOCKET) or "") for host in hosts
    }
    if len(sockets) == 1 and sockets != {""} and sockets != {kubernetes_facts.default_cri_socket(version)}:
        found["criSocket"] = sockets.pop()
    elif len(sockets) > 1:
        notes.append(
            f"the hosts have different container runtimes ({', '.join(sorted(sockets))}); nodeRegistration.criSocket is left out"
        )
    tainted = [host.name for host in hosts if _has_role_taint(host)]
    if not tainted:
        found["taints"] = []
    elif len(tainted) < len(hosts):
        notes.append(f"only {', '.join(tainted)} have the control plane's taint; new machines have it")
    arguments, more = _kubelet_arguments(hosts)
    if arguments:
        found["kubeletExtraArgs"] = arguments
    return found, notes + more


def _node(host: Host) -> Object:
    return host.node or {}


def _has_role_taint(host: Host) -> bool:
    keys = (kubernetes_facts.LABEL_CONTROL_PLANE, kubernetes_facts.LABEL_MASTER)
    return any(each.get("key") in keys for each in _node(host).get("taints") or [])


def kubelet_arguments(host: AnyHost) -> list[tuple[str, str]]:
    """Return the kubelet's arguments that kubeadm was given, name and value."""
    found = [(str(name), str(value)) for name, value in host.adoption.get("kubeletArguments") or []]
    return [pair for pair in found if pair[0] not in _KUBEADMS_OWN]


def _kubelet_arguments(hosts: t.Sequence[Host]) -> tuple[list[Object], list[str]]:
    own = {host.name: kubelet_arguments(host) for host in hosts}
    shared = [pair for pair in own[hosts[0].name] if all(pair in each for each in own.values())]
    notes = []
    for name in sorted({pair[0] for each in own.values() for pair in each if pair not in shared}):
        where = sorted(host for host, each in own.items() if any(pair[0] == name for pair in each))
        notes.append(
            f"the kubelet of {', '.join(where)} has --{name}, not the same on every host; new machines don't have it"
        )
    return [{"name": name, "value": value} for name, value in shared], notes


def documents_of(
    hub: t.Mapping[str, t.Any],
    hosts: t.Sequence[Host],
    cluster: str,
    namespace: str,
    replicas: int,
    template: t.Mapping[str, t.Any],
) -> tuple[list[Object], list[str]]:
    """Return the manifest's documents (Cluster API v1beta2), and notes.

    ``template`` is the spec of the InventoryMachineTemplate: the group of hosts that further machines are made of.
    """
    spec, notes = config_spec(hub, hosts, cluster)
    name = f"{cluster}-control-plane"
    network = network_of(hub)
    ports = {host_and_port(each)[1] for each in _api_addresses(hosts)}
    if len(ports) == 1 and ports != {DEFAULT_PORT}:
        network["apiServerPort"] = ports.pop()
    reference = {"apiGroup": kinds.GROUP_INFRASTRUCTURE, "kind": kinds.INVENTORY_CLUSTER, "name": cluster}
    return [
        document(
            kinds.API_CLUSTER,
            kinds.CLUSTER,
            cluster,
            namespace,
            {
                "clusterNetwork": network,
                "controlPlaneRef": {
                    "apiGroup": kinds.GROUP_CONTROL_PLANE,
                    "kind": kinds.KUBEADM_CONTROL_PLANE,
                    "name": name,
                },
                "infrastructureRef": reference,
            },
        ),
        document(
            kinds.API_CONTROL_PLANE,
            kinds.KUBEADM_CONTROL_PLANE,
            name,
            namespace,
            {
                "replicas": replicas,
                "version": version_of(hub),
                "machineTemplate": {
                    "spec": {
                        "infrastructureRef": {
                            "apiGroup": kinds.GROUP_INFRASTRUCTURE,
                            "kind": kinds.INVENTORY_MACHINE_TEMPLATE,
                            "name": name,
                        }
                    }
                },
                "kubeadmConfigSpec": spec,
            },
        ),
        document(
            kinds.API_INFRASTRUCTURE,
            kinds.INVENTORY_MACHINE_TEMPLATE,
            name,
            namespace,
            {"template": {"spec": dict(template)}},
        ),
        document(
            kinds.API_INFRASTRUCTURE,
            kinds.INVENTORY_CLUSTER,
            cluster,
            namespace,
            {"controlPlaneEndpoint": endpoint_of(hub)},
        ),
    ], notes


def _api_addresses(hosts: t.Sequence[Host]) -> list[str]:
    return [str(each) for host in hosts for each in [host.workload.get("apiServer")] if each]


def document(api_version: str, kind: str, name: str, namespace: str, spec: Object) -> Object:
    """Return a document of a manifest."""
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": namespace}, "spec": spec}


def even_replicas(hub: t.Mapping[str, t.Any], machines: int, replicas: int) -> list[Problem]:
    """Refuse an even number of replicas with stacked etcd.

    Each machine has a member of etcd then, and no manifest may ask for that number.

    Source: docs/reference/cluster_api.md, "Admission rules".
    """
    if not _stacked(hub) or replicas % 2:
        return []
    text = f"{machines} machines have a member of etcd each, and the manifest can't ask for {replicas} replicas: an even number survives no more failures"
    fix = (
        "Say which odd number is wanted: -e control_plane_adopt_replicas=N. The plan then shows the machine that is to come or go, and nothing "
        "is done before you run reconcile."
    )
    return [Problem("EvenReplicas", "", text, fix)]


def _stacked(hub: t.Mapping[str, t.Any]) -> bool:
    return not ((hub.get("clusterConfiguration") or {}).get("etcd") or {}).get("external")


def contradictions(manifest: ClusterManifest, hub: t.Mapping[str, t.Any], machines: int) -> list[Problem]:
    """Return problems where a user's manifest contradicts what runs.

    Nothing of it is taken over then.
    """
    name = str(manifest.cluster["metadata"]["name"])
    runs = {
        "spec": {"clusterNetwork": network_of(hub), "controlPlaneEndpoint": endpoint_of(hub)},
        "metadata": {"name": name},
    }
    given = {**manifest.cluster, "spec": {**manifest.cluster["spec"]}}
    own = given["spec"].get("controlPlaneEndpoint") or manifest.infrastructure_cluster["spec"].get(
        "controlPlaneEndpoint"
    )
    given["spec"]["controlPlaneEndpoint"] = own or {}
    found = []
    control_plane = manifest.control_plane["spec"]
    # An even number can't be written where etcd is stacked: any odd one agrees with it.
    counted = control_plane.get("replicas") if _stacked(hub) and machines % 2 == 0 else machines
    for path, wanted, found_there in (
        ("KubeadmControlPlane spec.version", control_plane.get("version"), version_of(hub)),
        ("KubeadmControlPlane spec.replicas", control_plane.get("replicas"), counted),
        *_networks(cluster_values(given), cluster_values(runs)),
    ):
        if wanted != found_there:
            found.append(
                contradiction(path, f"the manifest says {wanted or 'nothing'}, and {found_there or 'nothing'} runs")
            )
    configuration = dict((control_plane.get("kubeadmConfigSpec") or {}).get("clusterConfiguration") or {})
    wanted = cluster_configuration({"clusterConfiguration": configuration}, name)
    for path in _differences(wanted, cluster_configuration(hub, name)):
        # Values may be secret: paths only.
        where = f"KubeadmControlPlane spec.kubeadmConfigSpec.clusterConfiguration.{path}"
        found.append(contradiction(where, "the manifest and kubeadm-config differ"))
    return found


def _networks(
    given: t.Mapping[tuple[str, ...], t.Any], runs: t.Mapping[tuple[str, ...], t.Any]
) -> list[tuple[str, t.Any, t.Any]]:
    return [
        (f"Cluster {_FIELDS.get('.'.join(keys), '.'.join(keys))}", given[keys], runs[keys])
        for keys in sorted(runs)
        if keys != ("clusterName",)
    ]


def contradiction(path: str, text: str) -> Problem:
    """Return the problem of a manifest that contradicts what runs."""
    fix = "Write there what runs, adopt, and change it afterwards; or take the manifest away and let one be written."
    return Problem("ManifestContradicts", "", f"{path}: {text}", fix)


def _differences(wanted: t.Any, own: t.Any, path: str = "") -> list[str]:
    if isinstance(wanted, dict) and isinstance(own, dict):
        return [
            each
            for key in sorted({*wanted, *own})
            if wanted.get(key) != own.get(key)
            for each in _differences(wanted.get(key), own.get(key), f"{path}.{key}" if path else str(key))
        ]
    return [path]
