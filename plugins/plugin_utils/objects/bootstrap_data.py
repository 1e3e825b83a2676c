# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bootstrap data that makes one machine a control plane node.

It is kubeadm's configuration and everything beside it, as one plain document.

Sources: docs/reference/cluster_api.md, "Creating a machine" (split into init and join, defaults, join material),
"Certificates"; docs/reference/kubeadm.md, "Conversion".
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any, Optional

from ...module_utils.common import kubernetes_facts, settings
from ...module_utils.common.violations import ManifestError, Violation
from ..kubeadm.configuration import render, yaml_documents
from .instance_data.machine_configuration import OWNER, MachineConfiguration, file_entry
from .validate.control_plane import writable_cluster
from .validate.kubeadm_config_spec import COMPONENT_CONFIGS

# purpose (ca, etcd, proxy, sa, apiserver-etcd-client) -> {"crt": PEM, "key": PEM or None}
Certificates = Mapping[str, Mapping[str, Optional[str]]]

INIT_CONFIG_PATH = "/run/kubeadm/kubeadm.yaml"
JOIN_CONFIG_PATH = "/run/kubeadm/kubeadm-join-config.yaml"

_PKI_FILES: Mapping[str, tuple[str, str]] = {
    "ca": ("ca.crt", "ca.key"),
    "etcd": ("etcd/ca.crt", "etcd/ca.key"),
    "proxy": ("front-proxy-ca.crt", "front-proxy-ca.key"),
    "sa": ("sa.pub", "sa.key"),
}
_PUBLIC_MODE, _PRIVATE_MODE = "0640", "0600"


def init_data(
    cluster: Mapping[str, Any],
    control_plane: Mapping[str, Any],
    configuration: MachineConfiguration,
    machine: Mapping[str, Any],
    endpoint: Mapping[str, Any],
    certificates: Certificates,
    advertise_address: str | None = None,
) -> dict[str, Any]:
    """Return the bootstrap document of the first machine (`kubeadm init`).

    In: hub objects, the machine's own configuration (machine_configuration.py), endpoint {host, port}, PEM material by purpose, the
    machine's own address. Out: {kind, kubeadmVersion, config (YAML text), kubeadmArgs, files, users, preKubeadmCommands,
    postKubeadmCommands}, and etcdDataDir, certificatesDir and a join's caCertPath where they are set; files are {path, content (base64), owner,
    permissions, append}. The document holds private keys: it is a secret as a whole. Raises ManifestError.
    """
    name, version = str(machine["metadata"]["name"]), _version(machine, control_plane)
    spec = copy.deepcopy(configuration.spec)
    init = spec.get("initConfiguration") or {}
    _node_registration(init, name)
    _local_endpoint(init.setdefault("localAPIEndpoint", {}), cluster, advertise_address)
    if not init.get("bootstrapTokens"):
        init["bootstrapTokens"] = [{"ttlSeconds": settings.BOOTSTRAP_TOKEN_SECONDS}]
    cluster_configuration = cluster_defaults(writable_cluster(spec, version), cluster, version, endpoint)
    rendered = render.init_documents(
        init,
        cluster_configuration,
        version,
        component_configs=component_documents(spec),
    )
    return _data("init", INIT_CONFIG_PATH, rendered, configuration, name, version, certificates)


def join_data(
    cluster: Mapping[str, Any],
    control_plane: Mapping[str, Any],
    configuration: MachineConfiguration,
    machine: Mapping[str, Any],
    endpoint: Mapping[str, Any],
    certificates: Certificates,
    token: str,
    ca_cert_hashes: Sequence[str],
    advertise_address: str | None = None,
) -> dict[str, Any]:
    """Return the bootstrap document of a joining machine (`kubeadm join --control-plane`).

    See init_data.

    `token` is a bootstrap token made for this join, `ca_cert_hashes` the pins of the cluster's CA ("sha256:..."). What the user's
    joinConfiguration.discovery sets wins over both.
    """
    name, version = str(machine["metadata"]["name"]), _version(machine, control_plane)
    join = copy.deepcopy(configuration.spec.get("joinConfiguration") or {})
    _node_registration(join, name)
    _local_endpoint(join.setdefault("controlPlane", {}).setdefault("localAPIEndpoint", {}), cluster, advertise_address)
    _discovery(join, token, ca_cert_hashes, endpoint)
    rendered = render.join_documents(join, version)
    return _data("join", JOIN_CONFIG_PATH, rendered, configuration, name, version, certificates)


def worker_data(
    cluster: Mapping[str, Any],
    configuration: MachineConfiguration,
    machine: Mapping[str, Any],
    endpoint: Mapping[str, Any],
    token: str,
    ca_cert_hashes: Sequence[str],
) -> dict[str, Any]:
    """Return the bootstrap document of a worker (`kubeadm join`).

    See join_data. No key of the cluster goes to a worker, and no static pod's image is looked for there.
    """
    name = str(machine["metadata"]["name"])
    join = copy.deepcopy(configuration.spec.get("joinConfiguration") or {})
    join.pop("controlPlane", None)
    _node_registration(join, name)
    _discovery(join, token, ca_cert_hashes, endpoint)
    version = str(machine["spec"]["version"])
    rendered = render.join_documents(join, version)
    data = _data("join", JOIN_CONFIG_PATH, rendered, configuration, name, version, {})
    return {key: value for key, value in data.items() if key not in ("images", "etcdDataDir", "certificatesDir")}


def config_spec(control_plane: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """Return the KubeadmConfigSpec to keep with a new machine.

    `kind` "init" drops joinConfiguration, "join" drops initConfiguration and has joinConfiguration.controlPlane (even
    empty) as the mark of a control plane machine (docs/reference/cluster_api.md, "Creating a machine").
    """
    spec = copy.deepcopy(dict(control_plane["spec"].get("kubeadmConfigSpec") or {}))
    if kind == "init":
        spec.pop("joinConfiguration", None)
    else:
        spec.pop("initConfiguration", None)
        spec.setdefault("joinConfiguration", {}).setdefault("controlPlane", {})
    return spec


def cluster_defaults(
    configuration: Mapping[str, Any], cluster: Mapping[str, Any], version: str, endpoint: Mapping[str, Any]
) -> dict[str, Any]:
    """Return clusterConfiguration with the defaults that Cluster API fills in.

    clusterName, controlPlaneEndpoint, kubernetesVersion, networking from Cluster.spec.clusterNetwork, and the feature gate
    ControlPlaneKubeletLocalMode for 1.31 <= version < 1.36 unless the user says false
    (docs/reference/cluster_api.md, "Creating a machine").
    """
    result = dict(configuration)
    result["clusterName"] = result.get("clusterName") or cluster["metadata"]["name"]
    result["controlPlaneEndpoint"] = result.get("controlPlaneEndpoint") or host_port(endpoint)
    result["kubernetesVersion"] = version
    network = cluster["spec"].get("clusterNetwork") or {}
    networking = dict(result.get("networking") or {})
    for name, value in (
        ("serviceSubnet", ",".join((network.get("services") or {}).get("cidrBlocks") or [])),
        ("podSubnet", ",".join((network.get("pods") or {}).get("cidrBlocks") or [])),
        ("dnsDomain", network.get("serviceDomain")),
    ):
        if value and not networking.get(name):
            networking[name] = value
    if networking:
        result["networking"] = networking
    gates = kubernetes_facts.cluster_api_gates(version)
    if gates:
        result["featureGates"] = {**gates, **(result.get("featureGates") or {})}
    return result


def bind_port(cluster: Mapping[str, Any], configuration: Mapping[str, Any], kind: str) -> int:
    """Return the API server's port on a machine of this KubeadmConfigSpec.

    ``kind`` is init or join. It is localAPIEndpoint.bindPort, or else the Cluster's clusterNetwork.apiServerPort, or else kubeadm's default.
    """
    part = configuration.get("initConfiguration" if kind == "init" else "joinConfiguration") or {}
    local = (part if kind == "init" else part.get("controlPlane") or {}).get("localAPIEndpoint") or {}
    return int(local.get("bindPort") or _api_server_port(cluster) or kubernetes_facts.DEFAULT_BIND_PORT)


def health_check_seconds(spec: Mapping[str, Any]) -> int:
    """Return the seconds that kubeadm waits for the control plane's components.

    They come from a KubeadmConfigSpec; init and join have the same by rule.
    """
    for part in ("joinConfiguration", "initConfiguration"):
        seconds = ((spec.get(part) or {}).get("timeouts") or {}).get(render.HEALTH_CHECK + "Seconds")
        if isinstance(seconds, int):
            return seconds
    return kubernetes_facts.HEALTH_CHECK_SECONDS


def component_documents(spec: Mapping[str, Any]) -> tuple[dict[str, Any], ...]:
    """Return a KubeadmConfigSpec's KubeletConfiguration and KubeProxyConfiguration as documents.

    They are an extension of this collection.
    """
    found: list[dict[str, Any]] = []
    for field, (api_version, kind) in COMPONENT_CONFIGS.items():
        if spec.get(field) is not None:
            rest = {key: value for key, value in spec[field].items() if key not in ("apiVersion", "kind")}
            found.append({"apiVersion": api_version, "kind": kind, **rest})
    return tuple(found)


def host_port(endpoint: Mapping[str, Any]) -> str:
    """Return an endpoint as host:port, an IPv6 address in brackets."""
    host = str(endpoint["host"])
    return f"[{host}]:{endpoint['port']}" if ":" in host else f"{host}:{endpoint['port']}"


def _version(machine: Mapping[str, Any], control_plane: Mapping[str, Any]) -> str:
    return str((machine.get("spec") or {}).get("version") or control_plane["spec"]["version"])


def _node_registration(configuration: dict[str, Any], machine: str) -> None:
    registration = configuration.setdefault("nodeRegistration", {})
    registration["name"] = registration.get("name") or machine


def _local_endpoint(local: dict[str, Any], cluster: Mapping[str, Any], address: str | None) -> None:
    if address and not local.get("advertiseAddress"):
        local["advertiseAddress"] = address
    port = _api_server_port(cluster)
    if port and not local.get("bindPort"):
        local["bindPort"] = port


def _api_server_port(cluster: Mapping[str, Any]) -> Any:
    return ((cluster.get("spec") or {}).get("clusterNetwork") or {}).get("apiServerPort")


def _discovery(join: dict[str, Any], token: str, hashes: Sequence[str], endpoint: Mapping[str, Any]) -> None:
    discovery = join.setdefault("discovery", {})
    if discovery.get("file"):
        return
    bootstrap = discovery.setdefault("bootstrapToken", {})
    bootstrap["token"] = bootstrap.get("token") or token
    bootstrap["apiServerEndpoint"] = bootstrap.get("apiServerEndpoint") or host_port(endpoint)
    if not bootstrap.get("caCertHashes") and not bootstrap.get("unsafeSkipCAVerification"):
        bootstrap["caCertHashes"] = list(hashes)


def _data(
    kind: str,
    path: str,
    rendered: render.Rendered,
    configuration: MachineConfiguration,
    machine: str,
    version: str,
    certificates: Certificates,
) -> dict[str, Any]:
    spec = configuration.spec
    arguments = [kind, "--config", path, *rendered.flags]
    if spec.get("verbosity") is not None:
        arguments.append(f"--v={spec['verbosity']}")
    files = [*configuration.files, *certificate_files(spec, certificates)]
    seen = {path}
    for file in files:
        if file["path"] in seen:
            rule = "this file is written by the bootstrap itself"
            fix = "Remove it from files; certificates are given as Secrets of the cluster."
            raise ManifestError([Violation(f"KubeadmConfig {machine}", "spec.files", file["path"], rule, fix)])
        seen.add(file["path"])
    cluster = spec.get("clusterConfiguration") or {}
    join = (spec.get("joinConfiguration") or {}) if kind == "join" else {}
    folder = ((cluster.get("etcd") or {}).get("local") or {}).get("dataDir")
    return {
        "kind": kind,
        "kubeadmVersion": version,
        "config": yaml_documents.documents_text(rendered.documents),
        "kubeadmArgs": arguments,
        "files": files,
        "users": configuration.users,
        "images": image_facts(spec, kind),
        **({"etcdDataDir": folder} if folder else {}),
        **({"certificatesDir": cluster["certificatesDir"]} if cluster.get("certificatesDir") else {}),
        **({"caCertPath": join["caCertPath"]} if join.get("caCertPath") else {}),
        "preKubeadmCommands": list(spec.get("preKubeadmCommands") or []),
        "postKubeadmCommands": list(spec.get("postKubeadmCommands") or []),
    }


def image_facts(spec: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """Return a KubeadmConfigSpec's settings of the static pods' images.

    The keys: {repository, etcdRepository, etcdTag, dnsRepository, dnsTag, externalEtcd, pull, criSocket}.

    Texts are "" where it says nothing; `kind` is init or join.
    """
    configuration = spec.get("clusterConfiguration") or {}
    etcd = configuration.get("etcd") or {}
    local = etcd.get("local") or {}
    dns = configuration.get("dns") or {}
    registration = (spec.get(f"{kind}Configuration") or {}).get("nodeRegistration") or {}
    return {
        "repository": str(configuration.get("imageRepository") or ""),
        "etcdRepository": str(local.get("imageRepository") or ""),
        "etcdTag": str(local.get("imageTag") or ""),
        "dnsRepository": str(dns.get("imageRepository") or ""),
        "dnsTag": str(dns.get("imageTag") or ""),
        "externalEtcd": etcd.get("external") is not None,
        "pull": registration.get("imagePullPolicy") != "Never",
        "criSocket": str(registration.get("criSocket") or ""),
    }


def cgroup_driver(spec: Mapping[str, Any], kind: str) -> str:
    """Return the kubelet's cgroup driver by a KubeadmConfigSpec.

    "" where it says nothing; `kind` is init or join. An argument of the kubelet wins over its configuration.
    """
    registration = (spec.get(f"{kind}Configuration") or {}).get("nodeRegistration") or {}
    arguments = registration.get("kubeletExtraArgs") or []
    named = {each["name"]: each.get("value") for each in arguments}
    configured = (spec.get("kubeletConfiguration") or {}).get("cgroupDriver")
    return str(named.get("cgroup-driver") or configured or "")


def certificate_files(spec: Mapping[str, Any], certificates: Certificates) -> list[dict[str, Any]]:
    """Return key material as kubeadm's files under certificatesDir.

    Certificates have mode 0640, keys 0600, owner root:root.

    A CA without key gives its certificate only. With external etcd the CA and the client certificate go where etcd.external says.
    """
    configuration = spec.get("clusterConfiguration") or {}
    directory = kubernetes_facts.certificates_dir(configuration)
    external = (configuration.get("etcd") or {}).get("external")
    places: dict[str, tuple[str, str]] = {
        purpose: (f"{directory}/{crt}", f"{directory}/{key}") for purpose, (crt, key) in _PKI_FILES.items()
    }
    if external is not None:
        places["etcd"] = (external.get("caFile") or "", "")
        places["apiserver-etcd-client"] = (external.get("certFile") or "", external.get("keyFile") or "")
    result = []
    for purpose, (crt_path, key_path) in places.items():
        material = certificates.get(purpose) or {}
        for path, pem, mode in (
            (crt_path, material.get("crt"), _PUBLIC_MODE),
            (key_path, material.get("key"), _PRIVATE_MODE),
        ):
            if path and pem:
                result.append(file_entry(path, pem.encode(), OWNER, mode))
    return result
