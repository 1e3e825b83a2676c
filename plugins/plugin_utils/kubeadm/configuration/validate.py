# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Validation of kubeadm's configuration by kubeadm's own offline rules.

It is done on the hub form, before any host is touched.

Source: docs/reference/kubeadm.md, "Validation".
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from typing import Any, Union
from urllib.parse import urlsplit

from ....module_utils.common import kubernetes_facts
from ....module_utils.common.kubernetes_versions import Version
from ....module_utils.common.violations import Report, child, item
from ...documents.names import is_dns_subdomain

Network = Union[ipaddress.IPv4Network, ipaddress.IPv6Network]

_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
_TOKEN = re.compile(r"[a-z0-9]{6}\.[a-z0-9]{16}")
_HASH = re.compile(r"sha256:[0-9a-f]{64}")
_GROUP = re.compile(r"system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]")
_USAGES = ("signing", "authentication")
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_LARGEST_SERVICE_BITS = 20
_LARGEST_NODE_MASK_DIFFERENCE = 16
_NODE_MASK = {4: ("node-cidr-mask-size-ipv4", 24), 6: ("node-cidr-mask-size-ipv6", 64)}


def validate(spec: Mapping[str, Any], path: str, version: Version | None, report: Report) -> None:
    """Check the three kubeadm parts of a hub KubeadmConfigSpec at `path`.

    `version` is None when it is not known.
    """
    cluster = spec.get("clusterConfiguration") or {}
    _cluster(cluster, child(path, "clusterConfiguration"), version, report)
    init, where = spec.get("initConfiguration") or {}, child(path, "initConfiguration")
    _node(init.get("nodeRegistration") or {}, child(where, "nodeRegistration"), version, report)
    endpoint(init.get("localAPIEndpoint") or {}, child(where, "localAPIEndpoint"), report)
    _patches(init, where, report)
    for index, token in enumerate(init.get("bootstrapTokens") or []):
        _bootstrap_token(token, item(child(where, "bootstrapTokens"), index), report)
    join, where = spec.get("joinConfiguration") or {}, child(path, "joinConfiguration")
    _node(join.get("nodeRegistration") or {}, child(where, "nodeRegistration"), version, report)
    local = (join.get("controlPlane") or {}).get("localAPIEndpoint") or {}
    endpoint(local, child(where, "controlPlane", "localAPIEndpoint"), report)
    _patches(join, where, report)
    absolute(join.get("caCertPath"), child(where, "caCertPath"), report)
    _discovery(join.get("discovery") or {}, child(where, "discovery"), report)


def _cluster(cluster: Mapping[str, Any], path: str, version: Version | None, report: Report) -> None:
    _etcd(cluster.get("etcd") or {}, child(path, "etcd"), report)
    absolute(cluster.get("certificatesDir"), child(path, "certificatesDir"), report)
    _alternative_names((cluster.get("apiServer") or {}).get("certSANs"), child(path, "apiServer", "certSANs"), report)
    for name in ("apiServer", "controllerManager", "scheduler"):
        component, where = cluster.get(name) or {}, child(path, name)
        arguments(component.get("extraArgs"), child(where, "extraArgs"), version, report)
        for index, volume in enumerate(component.get("extraVolumes") or []):
            _volume(volume, item(child(where, "extraVolumes"), index), report)
        _environment(component.get("extraEnvs"), child(where, "extraEnvs"), report)
    _tag((cluster.get("dns") or {}).get("imageTag"), child(path, "dns", "imageTag"), report)
    for gate in sorted(cluster.get("featureGates") or {}):
        if version is not None and kubernetes_facts.feature_gate_refused(version, gate):
            rule = f"kubeadm of Kubernetes {version} has no feature gate of this name and would refuse to run"
            known = ", ".join(kubernetes_facts.feature_gates(version)) or "none"
            fix = f"Remove it (it knows: {known}). Gates of other components go into their extraArgs."
            report.add(child(child(path, "featureGates"), gate), None, rule, fix)
    endpoint = cluster.get("controlPlaneEndpoint")
    if endpoint and not _host_port(endpoint):
        rule = "this is not host or host:port"
        report.add(
            child(path, "controlPlaneEndpoint"),
            endpoint,
            rule,
            "Leave it out to take the Cluster's, or write host:port.",
        )
    networking, where = cluster.get("networking") or {}, child(path, "networking")
    manager = (cluster.get("controllerManager") or {}).get("extraArgs") or []
    for field in ("serviceSubnet", "podSubnet"):
        written = networking.get(field)
        if written:
            subnets(written.split(","), child(where, field), field == "serviceSubnet", manager, report)
    domain = networking.get("dnsDomain")
    if domain and not is_dns_subdomain(domain):
        report.add(child(where, "dnsDomain"), domain, "this is not a DNS domain", 'Write one like "cluster.local".')
    algorithm = cluster.get("encryptionAlgorithm")
    if algorithm and version is not None and kubernetes_facts.encryption_algorithm_refused(version, algorithm):
        rule = f"kubeadm of Kubernetes {version} has no encryption algorithm of this name"
        fix = f"Use one of {', '.join(kubernetes_facts.encryption_algorithms(version))}."
        report.add(child(path, "encryptionAlgorithm"), algorithm, rule, fix)
    for field, name in kubernetes_facts.unknown_names(version, cluster) if version is not None else ():
        text = f"{name} is not known here, and Kubernetes {version} is newer than what is: whether its kubeadm has it shows on the machine"
        report.warn(child(path, *field.split(".", 1)), text)


def _etcd(etcd: Mapping[str, Any], path: str, report: Report) -> None:
    local, external = etcd.get("local"), etcd.get("external")
    if local is not None and external is not None:
        report.add(path, None, "etcd is either local or external, never both", "Remove etcd.local or etcd.external.")
    if local:
        where = child(path, "local")
        absolute(local.get("dataDir"), child(where, "dataDir"), report)
        _tag(local.get("imageTag"), child(where, "imageTag"), report)
        arguments(local.get("extraArgs"), child(where, "extraArgs"), None, report)
        _environment(local.get("extraEnvs"), child(where, "extraEnvs"), report)
        for name in ("serverCertSANs", "peerCertSANs"):
            _alternative_names(local.get(name), child(where, name), report)
    if external is not None:
        _external_etcd(external, child(path, "external"), report)


def _external_etcd(external: Mapping[str, Any], path: str, report: Report) -> None:
    ca, cert, key = (external.get(name) for name in ("caFile", "certFile", "keyFile"))
    for name in ("caFile", "certFile", "keyFile"):
        absolute(external.get(name), child(path, name), report)
    if bool(cert) != bool(key):
        report.add(path, None, "certFile and keyFile belong together", "Give both or none.")
    if cert and key and not ca:
        report.add(
            child(path, "caFile"),
            None,
            "certFile and keyFile need caFile",
            "Name the CA that signed etcd's certificates.",
        )
    if not external.get("endpoints"):
        report.add(child(path, "endpoints"), None, "an external etcd needs endpoints", "List its client URLs.")
    scheme = ("https",) if ca or cert or key else ("http", "https")
    for index, endpoint in enumerate(external.get("endpoints") or []):
        if not _is_url(endpoint, scheme):
            rule = f"an etcd endpoint is a URL with {' or '.join(scheme)}"
            report.add(item(child(path, "endpoints"), index), endpoint, rule, 'Write it like "https://10.0.0.5:2379".')


def node_options(node: Mapping[str, Any], path: str, report: Report) -> None:
    """Check criSocket, ignorePreflightErrors and imagePullPolicy, wherever they are."""
    socket = node.get("criSocket")
    if socket and not (socket.startswith("/") or re.match(r"unix:///[^/]", socket)):
        fix = 'Write it like "unix:///run/containerd/containerd.sock".'
        report.add(child(path, "criSocket"), socket, "a CRI socket is an absolute path or a unix:// URL", fix)
    ignored = [name.lower() for name in node.get("ignorePreflightErrors") or []]
    if "all" in ignored:
        where = item(child(path, "ignorePreflightErrors"), ignored.index("all"))
        report.add(
            where, "all", "kubeadm does not accept 'all' in its configuration", "Name exactly the checks that may fail."
        )
    policy = node.get("imagePullPolicy")
    if policy and policy not in ("Always", "IfNotPresent", "Never"):
        fix = "Use Always, IfNotPresent or Never."
        report.add(child(path, "imagePullPolicy"), policy, "this is not an image pull policy", fix)


def _node(node: Mapping[str, Any], path: str, version: Version | None, report: Report) -> None:
    node_options(node, path, report)
    arguments(node.get("kubeletExtraArgs"), child(path, "kubeletExtraArgs"), version, report)
    for index, taint in enumerate(node.get("taints") or []):
        where = item(child(path, "taints"), index)
        if not taint.get("key"):
            report.add(child(where, "key"), None, "a taint needs a key", "Give it one.")
        if taint.get("effect") not in _EFFECTS:
            fix = f"Use one of {', '.join(_EFFECTS)}."
            report.add(child(where, "effect"), taint.get("effect"), "this is not a taint effect", fix)


def arguments(written: Any, path: str, version: Version | None, report: Report) -> None:
    """Check names of extra arguments and values of `cloud-provider`.

    Values that the components refuse to start with are violations.
    """
    for index, argument in enumerate(written or []):
        where, name = item(path, index), argument.get("name")
        if not name:
            report.add(child(where, "name"), None, "an argument needs a name", "Give the flag's name without dashes.")
            continue
        if name.startswith("-") or "=" in name or " " in name:
            report.add(
                where, name, "an argument's name is the flag without dashes and value", f"Write {name.strip('-')!r}."
            )
        if argument.get("value") is None:
            report.add(
                child(where, "value"), None, f"the argument {name!r} has no value", 'Give it one ("" is a value).'
            )
        elif (
            name == "cloud-provider"
            and version is not None
            and argument["value"] not in kubernetes_facts.cloud_providers(version)
        ):
            rule = f"Kubernetes {version} has no cloud provider of this name: the component would exit at once"
            known = ", ".join(map(repr, kubernetes_facts.cloud_providers(version)))
            report.add(where, argument["value"], rule, f"Remove it, or use one of {known}.")


def _environment(written: Any, path: str, report: Report) -> None:
    for index, variable in enumerate(written or []):
        if not variable.get("name"):
            report.add(child(item(path, index), "name"), None, "an environment variable needs a name", "Give it one.")


def _volume(volume: Mapping[str, Any], path: str, report: Report) -> None:
    if not volume.get("name"):
        report.add(child(path, "name"), None, "a volume needs a name", "Give it one.")
    for name in ("hostPath", "mountPath"):
        if not volume.get(name):
            report.add(child(path, name), None, f"a volume needs {name}", "Write an absolute path.")
        absolute(volume.get(name), child(path, name), report)


def _bootstrap_token(token: Mapping[str, Any], path: str, report: Report) -> None:
    _token(token.get("token"), child(path, "token"), report)
    usages = token.get("usages")
    for index, usage in enumerate(usages or []):
        if usage not in _USAGES:
            where = item(child(path, "usages"), index)
            report.add(where, usage, "this is not a usage of bootstrap tokens", "Use signing or authentication.")
    if token.get("groups") and usages and "authentication" not in usages:
        report.add(
            child(path, "groups"), None, "groups need the usage authentication", "Add it to usages, or remove groups."
        )
    for index, group in enumerate(token.get("groups") or []):
        if not _GROUP.fullmatch(group):
            where = item(child(path, "groups"), index)
            report.add(where, group, "a token's group begins with system:bootstrappers:", "Correct the group's name.")
    if token.get("expires"):
        # Its default for ttl is set before the two are compared (seen with 1.20.2; the code is the same in newer ones).
        rule = "kubeadm gives a token without ttl one of 24 hours, and then refuses ttl and expires together"
        report.add(child(path, "expires"), token["expires"], rule, "Write ttl instead.")


def _token(token: Any, path: str, report: Report) -> None:
    if token is not None and not _TOKEN.fullmatch(token):
        fix = "Leave it out (one is made for each join), or write 6 and 16 of a-z and 0-9 around a dot."
        report.add(path, None, "this is not a bootstrap token", fix)


def _discovery(discovery: Mapping[str, Any], path: str, report: Report) -> None:
    token, file = discovery.get("bootstrapToken"), discovery.get("file")
    if token and file:
        report.add(path, None, "discovery is by bootstrapToken or by file, not both", "Remove one, or both.")
    if token:
        where = child(path, "bootstrapToken")
        _token(token.get("token"), child(where, "token"), report)
        for index, pin in enumerate(token.get("caCertHashes") or []):
            if not _HASH.fullmatch(pin.lower()):
                fix = "Leave it out: the hash is taken from the cluster's CA."
                report.add(
                    item(child(where, "caCertHashes"), index), pin, 'a CA hash is "sha256:" and 64 hex digits', fix
                )
        endpoint = token.get("apiServerEndpoint")
        if endpoint and not _host_port(endpoint):
            report.add(
                child(where, "apiServerEndpoint"),
                endpoint,
                "this is not host:port",
                "Leave it out to take the Cluster's.",
            )
    if file is not None:
        source = file.get("kubeConfigPath") or ""
        if not source.startswith(("/", "https://")):
            rule = "discovery.file needs an absolute path or an https URL"
            report.add(child(path, "file", "kubeConfigPath"), source or None, rule, "Supply the kubeconfig with files.")
    _token(discovery.get("tlsBootstrapToken"), child(path, "tlsBootstrapToken"), report)


def subnets(
    blocks: list[str], path: str, service: bool, manager_arguments: list[Mapping[str, Any]], report: Report
) -> list[Network]:
    """Check service or pod CIDR blocks; return those that parse.

    The rules are kubeadm's: they must be valid, one or a dual-stack pair, and of the right sizes.
    """
    found: list[Network] = []
    for block in blocks:
        network = _network(block)
        if network is None:
            fix = 'Write a network address with its mask, like "10.96.0.0/12".'
            report.add(path, block, "this is not a CIDR block", fix)
        else:
            found.append(network)
    if len(blocks) > 2 or (len(found) == 2 and found[0].version == found[1].version):
        fix = "Give one block, or one IPv4 and one IPv6 block."
        report.add(path, ",".join(blocks), "two blocks are a dual-stack pair, more are not possible", fix)
    for network in found:
        (_service_size if service else _pod_size)(network, path, manager_arguments, report)
    return found


def _service_size(network: Network, path: str, _arguments: list[Mapping[str, Any]], report: Report) -> None:
    if network.num_addresses < kubernetes_facts.MINIMUM_SERVICE_ADDRESSES:
        report.add(
            path, str(network), "a service network needs at least 10 addresses", "Use a /28 or larger (IPv6: /124)."
        )
    if network.max_prefixlen - network.prefixlen > _LARGEST_SERVICE_BITS:
        fix = "Use a /12 or smaller (IPv6: /108)."
        report.add(path, str(network), "the service network is too large: the mask may leave at most 20 bits", fix)


def _pod_size(network: Network, path: str, manager_arguments: list[Mapping[str, Any]], report: Report) -> None:
    if network.num_addresses < kubernetes_facts.MINIMUM_POD_ADDRESSES:
        report.add(path, str(network), "a pod network needs at least 14 addresses", "Use a larger network.")
        return
    given = {str(argument.get("name")): str(argument.get("value")) for argument in manager_arguments}
    name, mask = _NODE_MASK[network.version]
    text = given.get(name, given.get("node-cidr-mask-size", ""))
    mask = int(text) if text.isdecimal() and len(text) < 4 else mask
    if given.get("allocate-node-cidrs") == "false":
        return
    if network.prefixlen > mask:
        rule = f"the pod network is smaller than one node's share of it (/{mask})"
        report.add(path, str(network), rule, f"Use a /{mask} or larger, or set {name} of the controller manager.")
    elif mask - network.prefixlen > _LARGEST_NODE_MASK_DIFFERENCE:
        rule = f"the pod network's mask and the node mask /{mask} may differ by at most 16 bits"
        report.add(path, str(network), rule, f"Use a smaller network, or set {name} of the controller manager.")


def _network(text: str) -> Network | None:
    if "/" not in text:
        return None
    try:
        return ipaddress.ip_network(text.strip(), strict=False)
    except ValueError:
        return None


def endpoint(written: Mapping[str, Any], path: str, report: Report) -> None:
    """Check an API endpoint's address and port."""
    address, port = written.get("advertiseAddress"), written.get("bindPort")
    if address and not _is_address(address):
        fix = "Leave it out to take the machine's address, or write an IP address."
        report.add(child(path, "advertiseAddress"), address, "an advertise address is an IP address", fix)
    if port is not None and not 1 <= port <= 65535:
        report.add(child(path, "bindPort"), port, "this is not a port", "Write a number between 1 and 65535.")


def _patches(configuration: Mapping[str, Any], path: str, report: Report) -> None:
    absolute((configuration.get("patches") or {}).get("directory"), child(path, "patches", "directory"), report)


def absolute(value: Any, path: str, report: Report) -> None:
    """Check that the path of a file or folder is absolute."""
    if value and not value.startswith("/"):
        report.add(path, value, "this path is not absolute", "Begin it with '/'.")


def _tag(value: Any, path: str, report: Report) -> None:
    if value and not _TAG.fullmatch(value):
        report.add(path, value, "this is not an image tag", "Use letters, digits, '_', '.' and '-', at most 128.")


def _alternative_names(written: Any, path: str, report: Report) -> None:
    for index, name in enumerate(written or []):
        plain = name[2:] if name.startswith("*.") else name
        if not (_is_address(name) or is_dns_subdomain(plain)):
            rule = "a certificate's name is a DNS name, a wildcard DNS name or an IP address"
            report.add(item(path, index), name, rule, "Correct or remove it (lower case).")


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _is_url(text: str, schemes: tuple[str, ...]) -> bool:
    try:
        parts = urlsplit(text)
        # Read here, as it is only parsed when it is asked for.
        return parts.scheme in schemes and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        return False


def _host_port(text: str) -> bool:
    host, port = _split(text)
    return (is_dns_subdomain(host) or _is_address(host)) and (
        port == "" or (port.isdecimal() and len(port) < 6 and 1 <= int(port) <= 65535)
    )


def _split(text: str) -> tuple[str, str]:
    if text.startswith("["):
        host, _bracket, rest = text[1:].partition("]")
        return host, rest.lstrip(":")
    if text.count(":") > 1:
        return text, ""
    host, _colon, port = text.partition(":")
    return host, port
