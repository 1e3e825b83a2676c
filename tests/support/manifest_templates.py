# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whole manifests as clusterctl's templates are, in each API version of Cluster API, over infrastructure of several makers."""

from __future__ import annotations

import copy
import typing as t
from dataclasses import dataclass, field

Object = dict[str, t.Any]
VERSIONS = ("v1alpha3", "v1alpha4", "v1beta1", "v1beta2")
HUB = VERSIONS[3:]
# Which of a manifest's documents is the KubeadmControlPlane.
CONTROL_PLANE = 1
KUBERNETES = "v1.31.4"
ROLE = "acme.machines.machine_acme"


@dataclass(frozen=True)
class Infrastructure:
    """Infrastructure of one maker: its kinds' prefix, their apiVersion, and what their specs hold."""

    prefix: str
    api: str
    cluster: Object = field(default_factory=dict)
    machine: Object = field(default_factory=dict)

    @property
    def group(self) -> str:
        return self.api.partition("/")[0]

    @property
    def providers(self) -> dict[str, str]:
        """The roles that are registered for it."""
        return {f"{self.prefix}{kind}": ROLE for kind in ("Cluster", "MachineTemplate")}


GROUP = "infrastructure.cluster.x-k8s.io"
ENDPOINT = {"host": "192.0.2.10", "port": 6443}
OWN = Infrastructure("Inventory", f"{GROUP}/v1beta1", {"controlPlaneEndpoint": ENDPOINT}, {"group": "kubeadm_pool"})
# As a cloud's: the provider makes the endpoint, and its own words are its own.
CLOUD = Infrastructure(
    "Acme",
    f"{GROUP}/v1beta1",
    {"region": "north", "network": {"subnets": [{"zone": "a"}, {"zone": "b"}]}},
    {"flavor": "m1.large", "image": {"filter": {"name": "node-image"}}, "rootVolume": {"sizeGiB": 40}},
)


def written(value: t.Any, version: str, name: str = "") -> t.Any:
    """A value in the form of a version: flags are a map before v1beta2, and a list there; VERSION in a text stands for the version."""
    if isinstance(value, dict):
        found = {key: written(each, version, key) for key, each in value.items()}
        if version in HUB and name.endswith(("extraArgs", "kubeletExtraArgs")):
            return [{"name": key, "value": each} for key, each in found.items()]
        return found
    if isinstance(value, list):
        return [written(each, version) for each in value]
    return value.replace("VERSION", version) if isinstance(value, str) else value


def reference(version: str, api: str, kind: str, name: str) -> Object:
    """A reference to an object, as a version has it."""
    if version in HUB:
        return {"apiGroup": api.partition("/")[0], "kind": kind, "name": name}
    return {"apiVersion": api, "kind": kind, "name": name}


def template_path(version: str) -> str:
    """Where a KubeadmControlPlane of that version names its machine template."""
    if version == "v1alpha3":
        return "infrastructureTemplate"
    return "machineTemplate.spec.infrastructureRef" if version in HUB else "machineTemplate.infrastructureRef"


def put(obj: Object, path: str, value: t.Any) -> None:
    """Set the field at a path; what is missing on the way is made."""
    *way, last = path.split(".")
    for step in way:
        obj = obj.setdefault(step, {})
    obj[last] = copy.deepcopy(value)


def control_plane_spec(version: str, infrastructure: Infrastructure) -> Object:
    """What a provider's template says of a control plane."""
    registration = {
        "name": "{{ ds.meta_data.local_hostname }}",
        "kubeletExtraArgs": {"cloud-provider": "external"},
    }
    external = {"extraArgs": {"cloud-provider": "external"}}
    spec: Object = {
        "replicas": 3,
        "version": KUBERNETES,
        "kubeadmConfigSpec": {
            "clusterConfiguration": {"controllerManager": external, "apiServer": {"certSANs": ["api.example.com"]}},
            "initConfiguration": {"nodeRegistration": copy.deepcopy(registration)},
            "joinConfiguration": {"nodeRegistration": copy.deepcopy(registration)},
            "preKubeadmCommands": ["hostnamectl set-hostname '{{ ds.meta_data.local_hostname }}'"],
            "files": [
                {"path": "/etc/audit.yaml", "owner": "root:root", "permissions": "0600", "content": "rules: []\n"}
            ],
            "users": [{"name": "ops", "sudo": "ALL=(ALL) NOPASSWD:ALL", "sshAuthorizedKeys": ["ssh-ed25519 AAAA ops"]}],
        },
    }
    made = t.cast("Object", written(spec, version))
    kind = f"{infrastructure.prefix}MachineTemplate"
    put(made, template_path(version), reference(version, infrastructure.api, kind, "prod-control-plane"))
    return made


def manifest(version: str, infrastructure: Infrastructure = OWN) -> list[Object]:
    """The four documents of a control plane; the workers of a whole file are shapes of the table."""
    control_plane = f"controlplane.cluster.x-k8s.io/{version}"
    spec = {
        "clusterNetwork": {"pods": {"cidrBlocks": ["192.168.0.0/16"]}, "serviceDomain": "cluster.local"},
        "infrastructureRef": reference(version, infrastructure.api, f"{infrastructure.prefix}Cluster", "prod"),
        "controlPlaneRef": reference(version, control_plane, "KubeadmControlPlane", "prod-control-plane"),
    }
    return [
        _object(f"cluster.x-k8s.io/{version}", "Cluster", "prod", spec),
        _object(
            control_plane, "KubeadmControlPlane", "prod-control-plane", control_plane_spec(version, infrastructure)
        ),
        _object(
            infrastructure.api,
            f"{infrastructure.prefix}MachineTemplate",
            "prod-control-plane",
            {"template": {"spec": copy.deepcopy(infrastructure.machine)}},
        ),
        _object(infrastructure.api, f"{infrastructure.prefix}Cluster", "prod", copy.deepcopy(infrastructure.cluster)),
    ]


def _object(api: str, kind: str, name: str, spec: Object) -> Object:
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name, "namespace": "default"}, "spec": spec}
