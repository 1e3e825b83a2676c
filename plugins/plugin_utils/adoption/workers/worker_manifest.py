# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""MachineDeployments of hand-made workers: documents, contradictions, differences. Pure."""

from __future__ import annotations

import typing as t

from ....module_utils.common import kubernetes_facts
from ....module_utils.common.kubernetes_versions import read_version
from ....module_utils.common.values import clip, shortened
from ...objects import kinds
from ...objects.manifest.reader import ClusterManifest
from ..host_problems import Problem
from ..manifest import contradiction, document, kubelet_arguments
from .worker_evidence import WorkerHost, version_of

Object = dict[str, t.Any]
_SHOWN = 10
REPLICAS = "spec.replicas"
# What Kubernetes itself puts on a Node while it is not ready, cordoned or new.
_PASSING_TAINTS = ("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/")
_ROLE = "node-role.kubernetes.io/"


def worker_documents(
    name: str, hosts: t.Sequence[WorkerHost], cluster: str, namespace: str, template: t.Mapping[str, t.Any]
) -> list[Object]:
    """Return the documents of a MachineDeployment as its workers run (Cluster API v1beta2).

    Its version is the newest of theirs, and its KubeadmConfigTemplate has what all of them have.

    Args:
        name: the MachineDeployment's.
        hosts: its workers, at least one.
        cluster: the Cluster's name.
        namespace: where the objects are.
        template: the spec of the InventoryMachineTemplate: the group of hosts that further workers are made of.
    """
    version = max((found for found in (read_version(version_of(each)) for each in hosts) if found), default=None)
    registration = _registration(hosts, str(version))
    joined = {"joinConfiguration": {"nodeRegistration": registration}} if registration else {}
    machine = {
        "clusterName": cluster,
        "version": str(version),
        "bootstrap": {
            "configRef": {"apiGroup": kinds.GROUP_BOOTSTRAP, "kind": kinds.KUBEADM_CONFIG_TEMPLATE, "name": name}
        },
        "infrastructureRef": {
            "apiGroup": kinds.GROUP_INFRASTRUCTURE,
            "kind": kinds.INVENTORY_MACHINE_TEMPLATE,
            "name": name,
        },
    }
    deployment = {"clusterName": cluster, "replicas": len(hosts), "template": {"spec": machine}}
    config, infrastructure = {"template": {"spec": joined}}, {"template": {"spec": dict(template)}}
    return [
        document(kinds.API_CLUSTER, kinds.MACHINE_DEPLOYMENT, name, namespace, deployment),
        document(kinds.API_BOOTSTRAP, kinds.KUBEADM_CONFIG_TEMPLATE, name, namespace, config),
        document(kinds.API_INFRASTRUCTURE, kinds.INVENTORY_MACHINE_TEMPLATE, name, namespace, infrastructure),
    ]


def _registration(hosts: t.Sequence[WorkerHost], version: str) -> Object:
    """Return the nodeRegistration that all workers share."""
    sockets = {_socket(each) for each in hosts}
    found: Object = {}
    if len(sockets) == 1 and not sockets & {"", _plain(kubernetes_facts.default_cri_socket(version))}:
        found["criSocket"] = f"unix://{sockets.pop()}"
    taints = _shared([_taints(each) for each in hosts])
    if taints:
        found["taints"] = taints
    arguments = _shared([kubelet_arguments(each) for each in hosts])
    if arguments:
        found["kubeletExtraArgs"] = [{"name": name, "value": value} for name, value in arguments]
    return found


def _shared(own: t.Sequence[list[t.Any]]) -> list[t.Any]:
    return [each for each in own[0] if all(each in one for one in own)]


def _plain(socket: t.Any) -> str:
    return str(socket or "").removeprefix("unix://")


def _socket(host: WorkerHost) -> str:
    annotations = (host.node or {}).get("annotations") or {}
    return _plain(annotations.get(kubernetes_facts.ANNOTATION_CRI_SOCKET))


def _taints(host: WorkerHost) -> list[Object]:
    found = (host.node or {}).get("taints") or []
    return [
        {key: each[key] for key in ("key", "value", "effect") if each.get(key)}
        for each in found
        if not str(each.get("key")).startswith(_PASSING_TAINTS)
    ]


def deployment_of(manifest: ClusterManifest, name: str) -> t.Optional[Object]:
    """Return a manifest's MachineDeployment of that name, or None."""
    return next((each for each in manifest.machine_deployments if each["metadata"]["name"] == name), None)


def contradictions(
    manifest: ClusterManifest, name: str, hosts: t.Sequence[WorkerHost], replicas: t.Optional[int], others: int
) -> list[Problem]:
    """Return problems where a manifest contradicts a MachineDeployment's workers.

    Args:
        manifest: what is wanted; it has the MachineDeployment.
        name: the MachineDeployment's.
        hosts: the workers that get a Machine.
        replicas: its number of replicas, None where the manifest leaves it out.
        others: the number of its machines beside them.
    """
    deployment = t.cast(Object, deployment_of(manifest, name))
    title = f"{kinds.MACHINE_DEPLOYMENT} {name}"
    found = []
    if replicas is not None and replicas != len(hosts) + others:
        beside = f", and {others} machines that it has already" if others else ""
        names = clip(shortened(sorted(each.name for each in hosts), _SHOWN), 1000)
        text = f"the manifest says {replicas}, and {len(hosts)} run on the hosts ({names}){beside}"
        found.append(contradiction(f"{title} {REPLICAS}", text))
    machine = deployment["spec"]["template"]["spec"]
    wanted = read_version(str(machine.get("version") or ""))
    for host in hosts:
        own = read_version(version_of(host))
        if own is not None and wanted is not None and wanted < own:
            text = f"the manifest says {wanted}, and {host.name} runs {own}, which is newer"
            found.append(contradiction(f"{title} spec.template.spec.version", text))
    return found


def other_domains(manifest: ClusterManifest, name: str, domains: t.Mapping[str, str]) -> list[Problem]:
    """Return problems with hosts that are not in a MachineDeployment's failure domain.

    `domains` are theirs by the inventory, of those that have one.
    """
    deployment = t.cast(Object, deployment_of(manifest, name))
    wanted = str(deployment["spec"]["template"]["spec"].get("failureDomain") or "")
    path = f"{kinds.MACHINE_DEPLOYMENT} {name} spec.template.spec.failureDomain"
    return [
        contradiction(path, f"the manifest says {wanted}, and {host} is in {domain}")
        for host, domain in sorted(domains.items())
        if wanted and domain and domain != wanted
    ]


def template_of(manifest: ClusterManifest, deployment: Object, path: tuple[str, ...]) -> Object:
    """Return the spec of a template that a MachineDeployment names.

    {} where the manifest lacks it. `path` leads to the reference in ``spec.template.spec``.
    """
    reference = deployment["spec"]["template"]["spec"]
    for key in path:
        reference = reference.get(key) or {}
    for each in (*manifest.worker_templates, manifest.machine_template):
        if (each["kind"], each["metadata"]["name"]) == (reference.get("kind"), reference.get("name")):
            spec: Object = (each["spec"].get("template") or {}).get("spec") or {}
            return spec
    return {}


def differences(manifest: ClusterManifest, host: WorkerHost) -> list[str]:
    """Return notes on what differs from a new worker of its MachineDeployment.

    A version is replaced by a rollout, which the plan shows. As in Cluster API the contents of a KubeadmConfigTemplate replace no machine.
    """
    deployment = t.cast(Object, deployment_of(manifest, host.deployment))
    wanted = str(deployment["spec"]["template"]["spec"].get("version") or "")
    found = []
    if read_version(wanted) != read_version(version_of(host)):
        found.append(
            f"{host.name}: its kubelet is {version_of(host)}, and MachineDeployment {host.deployment} asks for {wanted}: the plan replaces it"
        )
    spec = template_of(manifest, deployment, ("bootstrap", "configRef"))
    registration = (spec.get("joinConfiguration") or {}).get("nodeRegistration") or {}
    words = [*_arguments(host, registration), *_of_the_node(host, registration, wanted)]
    if words:
        found.append(f"{host.name}: {'; '.join(words)}. New workers differ in that; it stays as it is")
    return found


def _arguments(host: WorkerHost, registration: t.Mapping[str, t.Any]) -> list[str]:
    own = dict(kubelet_arguments(host))
    given = {str(each["name"]): str(each.get("value") or "") for each in registration.get("kubeletExtraArgs") or []}
    # Values may be secret: names only.
    return [
        f"its kubelet's --{clip(name, 100)} is not the KubeadmConfigTemplate's"
        for name in sorted({*own, *given})
        if own.get(name) != given.get(name)
    ]


def _of_the_node(host: WorkerHost, registration: t.Mapping[str, t.Any], version: str) -> list[str]:
    found = []
    socket = registration.get("criSocket") or kubernetes_facts.default_cri_socket(version)
    if _socket(host) and _socket(host) != _plain(socket):
        found.append(f"its container runtime is {clip(_socket(host), 100)}")
    given = [
        {key: each[key] for key in ("key", "value", "effect") if each.get(key)}
        for each in registration.get("taints") or []
    ]
    odd = sorted({str(each["key"]) for each in [*given, *_taints(host)] if (each in given) != (each in _taints(host))})
    if odd:
        found.append(f"its taints differ ({clip(', '.join(odd), 300)})")
    labels = _labels_by_hand(host)
    if labels:
        found.append(f"its Node has labels that its kubelet did not set ({clip(shortened(labels, _SHOWN), 600)})")
    return found


def _labels_by_hand(host: WorkerHost) -> list[str]:
    """Return the names of the labels that a Node got by hand."""
    asked = dict(kubelet_arguments(host)).get("node-labels", "")
    own = {each.partition("=")[0] for each in asked.split(",")}
    found = []
    for name in (host.node or {}).get("labels") or {}:
        domain = str(name).rpartition("/")[0]
        kubernetes = domain.endswith(("kubernetes.io", "k8s.io")) and not str(name).startswith(_ROLE)
        if name not in own and not kubernetes:
            found.append(str(name))
    return sorted(found)
