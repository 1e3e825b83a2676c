# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules for configuration fields that can't be changed in place.

Each has its reason, and its remedy.

Source: docs/reference/kubeadm.md, "Reconfiguring".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Optional


@dataclass(frozen=True)
class Rule:
    """Reason why a field can't be changed in place, and the remedy."""

    why: str
    fix: str


_NEW_CLUSTER = "Restore the old value; to have the new one, make a new cluster and move the workloads there."
_REPLACE = "Change it in the manifest and run reconcile, which replaces the machines one by one."
_ROTATE = (
    "Run an Action rotateCertificateAuthorities for new authorities and keys; their files stay where kubeadm has them."
)

# Fields of ClusterConfiguration (hub names); what is below them is refused with them.
CLUSTER: Mapping[str, Rule] = {
    "networking.serviceSubnet": Rule(
        "every Service has an address out of it, and the API servers' certificates name its first one", _NEW_CLUSTER
    ),
    "networking.podSubnet": Rule("the Nodes have their shares of it, and all pods their addresses", _NEW_CLUSTER),
    "networking.dnsDomain": Rule(
        "certificates, the issuer of service account tokens, CoreDNS and every running pod's resolver hold it",
        _NEW_CLUSTER,
    ),
    "clusterName": Rule(
        "kubeconfigs and cloud resources are named after it, and kubeadm writes it only once", _NEW_CLUSTER
    ),
    "controlPlaneEndpoint": Rule(
        "all kubeconfigs, every kubelet and cluster-info hold it: they would continue to ask the old one",
        "Let the old name or address lead to the new place as well; a further name goes into apiServer.certSANs.",
    ),
    "certificatesDir": Rule("the certificates would have to move on all machines at the same moment", _NEW_CLUSTER),
    "kubernetesVersion": Rule("it is not configuration, it is what runs", "Run an Action upgrade."),
    "etcd.local.dataDir": Rule("etcd would start without its data", _REPLACE),
    "etcd.local.imageTag": Rule(
        "another etcd release is an upgrade of etcd's data, which can't go back",
        "Upgrade Kubernetes, or " + _REPLACE[0].lower() + _REPLACE[1:],
    ),
    "etcd.external.endpoints": Rule(
        "API servers that ask different etcd clusters see different data",
        "Move etcd's members behind the same addresses one by one.",
    ),
    "etcd.external.httpEndpoints": Rule("they belong to etcd.external.endpoints", _REPLACE),
    "dns": Rule(
        "CoreDNS follows the manifest without any change of machines",
        "Change clusterConfiguration.dns in the manifest and run reconcile: its addons step does it, with the Corefile's migration.",
    ),
    "proxy": Rule(
        "whether kubeadm makes kube-proxy is asked at init and upgrade only",
        "Delete the DaemonSet kube-system/kube-proxy, or run kubeadm init phase addon kube-proxy.",
    ),
    "caCertificateValidityPeriodDays": Rule("it is asked only when the authorities are made", _ROTATE),
}

_PER_MACHINE = Rule(
    "kubeadm sets it to what each machine has",
    "Leave it out; localAPIEndpoint of a new machine's configuration decides it.",
)
_TRUST = Rule(
    "it decides whom the component trusts, or who trusts it: changed at one place only, that breaks on the way", _ROTATE
)
_DATA = Rule("it decides where the cluster's data is", "Leave it as kubeadm sets it.")
_CREDENTIALS = Rule("it is the component's own identity", "Leave it as kubeadm sets it.")
_NETWORK = Rule("the network's ranges are in use by Nodes, Services and pods", _NEW_CLUSTER)


def _all(rule: Rule, *names: str) -> dict[str, Rule]:
    return dict.fromkeys(names, rule)


_KUBECONFIGS = _all(_CREDENTIALS, "kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig")
# extraArgs that would undo what the table above holds, by the field of ClusterConfiguration.
ARGUMENTS: Mapping[str, Mapping[str, Rule]] = {
    "apiServer": {
        **_all(_DATA, "etcd-servers", "etcd-servers-overrides", "etcd-prefix"),
        **_all(
            _TRUST,
            "etcd-cafile",
            "etcd-certfile",
            "etcd-keyfile",
            "client-ca-file",
            "tls-cert-file",
            "tls-private-key-file",
        ),
        **_all(_TRUST, "kubelet-client-certificate", "kubelet-client-key", "kubelet-certificate-authority"),
        **_all(_TRUST, "proxy-client-cert-file", "proxy-client-key-file", "requestheader-client-ca-file"),
        **_all(_TRUST, "service-account-key-file", "service-account-signing-key-file"),
        **_all(_NETWORK, "service-cluster-ip-range"),
        **_all(_PER_MACHINE, "advertise-address", "bind-address", "secure-port"),
    },
    "controllerManager": {
        **_KUBECONFIGS,
        **_all(_NETWORK, "cluster-cidr", "service-cluster-ip-range", "allocate-node-cidrs"),
        **_all(_NETWORK, "node-cidr-mask-size", "node-cidr-mask-size-ipv4", "node-cidr-mask-size-ipv6"),
        **_all(
            _TRUST, "client-ca-file", "root-ca-file", "requestheader-client-ca-file", "service-account-private-key-file"
        ),
        **_all(_TRUST, "cluster-signing-cert-file", "cluster-signing-key-file"),
        "cluster-name": CLUSTER["clusterName"],
    },
    "scheduler": dict(_KUBECONFIGS),
    "etcd.local": {
        **_all(_DATA, "data-dir", "wal-dir", "name", "force-new-cluster", "discovery", "discovery-srv"),
        **_all(
            _DATA, "initial-cluster", "initial-cluster-state", "initial-cluster-token", "initial-advertise-peer-urls"
        ),
        **_all(_PER_MACHINE, "listen-client-urls", "listen-peer-urls", "advertise-client-urls"),
        **_all(_TRUST, "cert-file", "key-file", "trusted-ca-file", "client-cert-auth", "auto-tls"),
        **_all(
            _TRUST, "peer-cert-file", "peer-key-file", "peer-trusted-ca-file", "peer-client-cert-auth", "peer-auto-tls"
        ),
    },
}
ISSUER = "service-account-issuer"
ISSUER_RULE = Rule(
    "running pods hold tokens of the present issuer, which the API servers would refuse",
    "Keep the present issuer as a further value of the argument (Kubernetes 1.22 or newer, kubeadm v1beta4's list of arguments).",
)

_ONE_MACHINE = Rule(
    "it differs from machine to machine, and the ConfigMap is the same for all",
    "Set it in nodeRegistration.kubeletExtraArgs.",
)
_EMPTY_NODE = Rule(
    "the kubelet refuses to start with another policy than the one in its state file, which may only go from a drained machine",
    _REPLACE,
)
_KUBEADM_ASKS = Rule("kubeadm asks every kubelet's health there", "Leave it as it is.")
KUBELET: Mapping[str, Rule] = {
    "apiVersion": Rule("it is the document's own", "Leave it out."),
    "kind": Rule("it is the document's own", "Leave it out."),
    "clusterDomain": CLUSTER["networking.dnsDomain"],
    "staticPodPath": Rule("the kubelet would no longer see the control plane's static pods", "Leave it as it is."),
    "staticPodURL": Rule("the control plane's static pods are files", "Leave it out."),
    "cgroupDriver": Rule(
        "the container runtime has to change at the same moment, and every container to start again", _REPLACE
    ),
    "cgroupRoot": Rule("every container would have to start again", _REPLACE),
    "cpuManagerPolicy": _EMPTY_NODE,
    "memoryManagerPolicy": _EMPTY_NODE,
    "authentication.x509.clientCAFile": _TRUST,
    "podCIDR": _ONE_MACHINE,
    "providerID": _ONE_MACHINE,
    "containerRuntimeEndpoint": _ONE_MACHINE,
    "tlsCertFile": _ONE_MACHINE,
    "tlsPrivateKeyFile": _ONE_MACHINE,
    "port": Rule("the API servers reach all kubelets at one port", _REPLACE),
    "healthzPort": _KUBEADM_ASKS,
    "healthzBindAddress": _KUBEADM_ASKS,
}
KUBE_PROXY: Mapping[str, Rule] = {
    "apiVersion": Rule("it is the document's own", "Leave it out."),
    "kind": Rule("it is the document's own", "Leave it out."),
    "clusterCIDR": CLUSTER["networking.podSubnet"],
    "clientConnection.kubeconfig": Rule("the DaemonSet mounts its kubeconfig there", "Leave it as it is."),
    "hostnameOverride": Rule(
        "it differs from machine to machine, and the ConfigMap is the same for all", "Leave it empty."
    ),
    "mode": Rule(
        "the rules of the old mode stay on every machine beside those of the new one until it boots or they are cleaned",
        "Change it in the ConfigMap kube-system/kube-proxy and restart the machines one by one.",
    ),
}


def refused(
    before: Mapping[str, Any], after: Mapping[str, Any], rules: Mapping[str, Rule]
) -> Iterator[tuple[str, Any, Rule]]:
    """Yield a table's fields that differ between two configurations.

    Each is its path, new value and rule.
    """
    for path, rule in rules.items():
        old, new = value_at(before, path), value_at(after, path)
        if (old or None) != (new or None):
            yield path, new, rule


def refused_cluster(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[tuple[str, Any, Rule]]:
    """Yield the changed fields of a ClusterConfiguration that can't be changed.

    Each is its path, new value and rule; before and after are in the hub form.
    """
    yield from refused(before, after, CLUSTER)
    for kind, other in (("local", "external"), ("external", "local")):
        if value_at(after, f"etcd.{kind}") is not None and value_at(before, f"etcd.{other}") is not None:
            yield (
                f"etcd.{kind}",
                None,
                Rule(f"the cluster's etcd is {other}, and moving its data is a migration", _NEW_CLUSTER),
            )
    for section, rules in ARGUMENTS.items():
        old, new = _arguments(before, section), _arguments(after, section)
        for name in sorted({*old, *new}):
            if old.get(name) == new.get(name):
                continue
            if name in rules:
                yield f"{section}.extraArgs.{name}", None, rules[name]
            elif section == "apiServer" and name == ISSUER:
                domain = value_at(before, "networking.dnsDomain") or "cluster.local"
                present = old.get(name) or [f"https://kubernetes.default.svc.{domain}"]
                if not set(present) <= set(new.get(name) or []):
                    yield f"{section}.extraArgs.{name}", None, ISSUER_RULE


def value_at(document: Any, path: str) -> Any:
    """Return the value at a path of mappings; None without one."""
    for key in path.split("."):
        document = document.get(key) if isinstance(document, Mapping) else None
    return document


def _arguments(configuration: Mapping[str, Any], section: str) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    extra: Optional[Any] = value_at(configuration, f"{section}.extraArgs")
    for each in extra or []:
        found.setdefault(str(each.get("name")), []).append(each.get("value"))
    return found
