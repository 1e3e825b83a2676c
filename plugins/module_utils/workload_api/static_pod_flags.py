# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Flags of the control plane's static pods, and their drift.

A flag has drifted that neither kubeadm nor the spec accounts for: it was changed by hand. For information only: drift
never makes a machine outdated. Names are reported, values never.
"""

from __future__ import annotations

import re
import typing as t

Object = dict[str, t.Any]

_FLAG = re.compile(r"--([A-Za-z0-9][A-Za-z0-9_.-]*)(?:=(.*))?\Z", re.DOTALL)
_PKI = "/etc/kubernetes/pki"
# A flag that kubeadm sets itself to something that depends on the machine, the version or the cluster: its value is not judged.
ANY = None
_KUBECONFIGS = {"kubeconfig": ANY, "authentication-kubeconfig": ANY, "authorization-kubeconfig": ANY}
# What kubeadm 1.16 to 1.36 writes into each manifest (cmd/kubeadm/app/phases/controlplane/manifests.go and
# cmd/kubeadm/app/phases/etcd/local.go of kubernetes/kubernetes). "{pki}" stands for the certificates' folder.
# Flags that only some versions write are known for all of them.
DEFAULTS: t.Mapping[str, t.Mapping[str, t.Optional[str]]] = {
    "kube-apiserver": {
        **dict.fromkeys(
            (
                *(
                    "advertise-address",
                    "service-cluster-ip-range",
                    "secure-port",
                    "insecure-port",
                    "etcd-servers",
                    "etcd-cafile",
                ),
                *("etcd-certfile", "etcd-keyfile", "feature-gates", "service-account-issuer", "authentication-config"),
                *("cloud-provider", "cloud-config", "egress-selector-config-file"),
            ),
            ANY,
        ),
        "enable-admission-plugins": "NodeRestriction",
        "authorization-mode": "Node,RBAC",
        "allow-privileged": "true",
        "enable-bootstrap-token-auth": "true",
        "kubelet-preferred-address-types": "InternalIP,ExternalIP,Hostname",
        "service-account-key-file": "{pki}/sa.pub",
        "service-account-signing-key-file": "{pki}/sa.key",
        "client-ca-file": "{pki}/ca.crt",
        "tls-cert-file": "{pki}/apiserver.crt",
        "tls-private-key-file": "{pki}/apiserver.key",
        "kubelet-client-certificate": "{pki}/apiserver-kubelet-client.crt",
        "kubelet-client-key": "{pki}/apiserver-kubelet-client.key",
        "proxy-client-cert-file": "{pki}/front-proxy-client.crt",
        "proxy-client-key-file": "{pki}/front-proxy-client.key",
        "requestheader-client-ca-file": "{pki}/front-proxy-ca.crt",
        "requestheader-username-headers": "X-Remote-User",
        "requestheader-group-headers": "X-Remote-Group",
        "requestheader-extra-headers-prefix": "X-Remote-Extra-",
        "requestheader-allowed-names": "front-proxy-client",
    },
    "kube-controller-manager": {
        **_KUBECONFIGS,
        **dict.fromkeys(
            (
                *(
                    "cluster-cidr",
                    "cluster-name",
                    "service-cluster-ip-range",
                    "node-cidr-mask-size",
                    "node-cidr-mask-size-ipv4",
                ),
                *(
                    "node-cidr-mask-size-ipv6",
                    "allocate-node-cidrs",
                    "feature-gates",
                    "port",
                    "cloud-provider",
                    "cloud-config",
                ),
                *("cluster-signing-duration", "experimental-cluster-signing-duration", "leader-elect", "bind-address"),
            ),
            ANY,
        ),
        "controllers": "*,bootstrapsigner,tokencleaner",
        "use-service-account-credentials": "true",
        "client-ca-file": "{pki}/ca.crt",
        "root-ca-file": "{pki}/ca.crt",
        "requestheader-client-ca-file": "{pki}/front-proxy-ca.crt",
        "service-account-private-key-file": "{pki}/sa.key",
        "cluster-signing-cert-file": "{pki}/ca.crt",
        # Without the CA's key on the machine kubeadm writes an empty value.
        "cluster-signing-key-file": ANY,
    },
    "kube-scheduler": {**_KUBECONFIGS, **dict.fromkeys(("bind-address", "leader-elect", "port", "feature-gates"), ANY)},
    "etcd": {
        **dict.fromkeys(
            (
                *(
                    "name",
                    "data-dir",
                    "listen-client-urls",
                    "advertise-client-urls",
                    "listen-peer-urls",
                    "listen-metrics-urls",
                ),
                *(
                    "initial-advertise-peer-urls",
                    "initial-cluster",
                    "initial-cluster-state",
                    "snapshot-count",
                    "feature-gates",
                ),
                *("experimental-initial-corrupt-check", "experimental-watch-progress-notify-interval"),
                *("watch-progress-notify-interval", "initial-corrupt-check"),
            ),
            ANY,
        ),
        "client-cert-auth": "true",
        "peer-client-cert-auth": "true",
        "cert-file": "{pki}/etcd/server.crt",
        "key-file": "{pki}/etcd/server.key",
        "trusted-ca-file": "{pki}/etcd/ca.crt",
        "peer-cert-file": "{pki}/etcd/peer.crt",
        "peer-key-file": "{pki}/etcd/peer.key",
        "peer-trusted-ca-file": "{pki}/etcd/ca.crt",
    },
}
# kubeadm merges these two lists itself: the spec's value comes in another order or with its own additions.
_MERGED = frozenset({"authorization-mode", "feature-gates"})
_SECTIONS = {
    "kube-apiserver": ("apiServer",),
    "kube-controller-manager": ("controllerManager",),
    "kube-scheduler": ("scheduler",),
    "etcd": ("etcd", "local"),
}


def flags(item: t.Mapping[str, t.Any]) -> Object:
    """Return the flags of a static pod's component.

    The form is ``{node, component, flags: {name: value}}``; a repeated flag's values are joined.
    """
    component = str((((item.get("metadata") or {}).get("labels")) or {}).get("component") or "")
    spec = item.get("spec") or {}
    containers = [each for each in spec.get("containers") or [] if isinstance(each, dict)]
    own = next((each for each in containers if each.get("name") == component), containers[0] if containers else {})
    found: dict[str, str] = {}
    for word in [*(own.get("command") or []), *(own.get("args") or [])]:
        match = _FLAG.match(str(word))
        if match:
            value = "true" if match.group(2) is None else match.group(2)
            found[match.group(1)] = f"{found[match.group(1)]},{value}" if match.group(1) in found else value
    return {"node": str(spec.get("nodeName") or ""), "component": component, "flags": found}


def read(raw: t.Any) -> list[Object]:
    """Return the static pod flags of an observation (``objects.staticPodFlags``).

    A node sent them: entries of an unexpected form are left out.
    """
    found = []
    for each in raw if isinstance(raw, list) else []:
        if isinstance(each, dict) and isinstance(each.get("flags"), dict) and each.get("component") in DEFAULTS:
            pairs = {str(name)[:200]: str(value) for name, value in each["flags"].items() if isinstance(value, str)}
            found.append({"node": str(each.get("node") or ""), "component": str(each["component"]), "flags": pairs})
    return found


def drift(pods: t.Sequence[t.Mapping[str, t.Any]], configuration: t.Mapping[str, t.Any]) -> list[Object]:
    """Return the drift of static pod flags from kubeadm and the spec.

    The spec is this clusterConfiguration (hub form).

    Returns ``[{node, component, flag, kind}]``: ``kind`` is ``added`` (nothing accounts for the flag), ``changed`` (another value
    than the spec's or kubeadm's) or ``missing`` (the spec has it and the component does not).
    """
    found: list[Object] = []
    pki = str(configuration.get("certificatesDir") or _PKI).rstrip("/")
    for pod in pods:
        component = str(pod["component"])
        wanted = _extra_arguments(configuration, component)
        defaults = DEFAULTS[component]
        for name in sorted({*pod["flags"], *wanted}):
            kind = _judged(name, pod["flags"], wanted, defaults, pki)
            if kind:
                found.append({"node": str(pod["node"]), "component": component, "flag": name, "kind": kind})
    return found


def _judged(
    name: str,
    own: t.Mapping[str, str],
    wanted: t.Mapping[str, str],
    defaults: t.Mapping[str, t.Optional[str]],
    pki: str,
) -> str:
    if name in wanted:
        if name not in own:
            return "missing"
        return "" if name in _MERGED or own[name] == wanted[name] else "changed"
    if name not in defaults:
        return "added"
    default = defaults[name]
    if default is None or own[name] == default.format(pki=pki):
        return ""
    return "changed"


def _extra_arguments(configuration: t.Mapping[str, t.Any], component: str) -> dict[str, str]:
    section: t.Any = configuration
    for key in _SECTIONS[component]:
        section = section.get(key) if isinstance(section, dict) else None
    found: dict[str, str] = {}
    for each in (section or {}).get("extraArgs") or []:
        name, value = str(each.get("name") or ""), str(each.get("value") or "")
        found[name] = f"{found[name]},{value}" if name in found else value
    return found
