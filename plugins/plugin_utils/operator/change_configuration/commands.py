# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands for changes of the cluster's configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ....module_utils.common import settings
from .. import command_type
from ..command_type import Command, Parameter
from ..planner_types import NodeFacts
from . import plan

_PHASES: Mapping[str, str] = {
    "kube-apiserver": "control-plane apiserver",
    "kube-controller-manager": "control-plane controller-manager",
    "kube-scheduler": "control-plane scheduler",
    "etcd": "etcd local",
}
_CERTIFICATE_FILES: Mapping[str, str] = {
    "apiserver": "apiserver",
    "etcd-server": "etcd/server",
    "etcd-peer": "etcd/peer",
}


def _changes(parameters: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(f"# {each}" for each in parameters["changes"]) or ("# nothing is said to change",)


def _phases(parameters: Mapping[str, Any]) -> tuple[str, ...]:
    lines = []
    for name in parameters["certificates"]:
        file = f"$certificatesDir/{_CERTIFICATE_FILES[name]}"
        lines += [f"rm {file}.crt {file}.key", f"kubeadm init phase certs {name} --config NEW"]
    lines += [f"kubeadm init phase {_PHASES[each]} --config NEW" for each in parameters["components"]]
    return tuple(lines)


def _check(parameters: Mapping[str, Any], node: NodeFacts) -> tuple[str, ...]:
    lines = tuple(f"{line} --dry-run" for line in _phases(parameters) if line.startswith("kubeadm"))
    return (
        *_changes(parameters),
        *lines,
        f"# refused where {node.name} has manifests changed by hand, or lacks a file that is needed",
    )


def _change(parameters: Mapping[str, Any], node: NodeFacts) -> tuple[str, ...]:
    lines = _phases(parameters)
    return (
        *_changes(parameters),
        *lines,
        f"# wait until each component of {node.name} is healthy; else put all of it back as it was",
    )


def _record(parameters: Mapping[str, Any], node: NodeFacts) -> tuple[str, ...]:
    del node
    return (*_changes(parameters), "kubeadm init phase upload-config kubeadm --config NEW")


def _kubelet_check(parameters: Mapping[str, Any], node: NodeFacts) -> tuple[str, ...]:
    fields = ", ".join(parameters["fields"])
    return (
        "kubeadm upgrade node phase kubelet-config --dry-run",
        f"# refused where the kubelet of {node.name} has a flag that outweighs {fields}",
    )


def _kubelet(parameters: Mapping[str, Any], node: NodeFacts) -> tuple[str, ...]:
    return (
        *_changes(parameters),
        "kubectl -n kube-system edit configmap kubelet-config",
        "kubeadm upgrade node phase kubelet-config",
        f"systemctl restart kubelet # and wait until {node.name} is Ready; else put its configuration back as it was",
    )


def _kube_proxy(parameters: Mapping[str, Any], node: NodeFacts) -> tuple[str, ...]:
    del node
    return (
        *_changes(parameters),
        "kubectl -n kube-system edit configmap kube-proxy",
        "kubectl -n kube-system rollout restart daemonset kube-proxy # and wait; else put the configuration back as it was",
    )


_PATCH = Parameter(command_type.MAPPING, required=True, secret=True)
_WORDS = Parameter(command_type.STRINGS, default=[])
_SECONDS = Parameter(command_type.INTEGER, default=settings.CONFIGURATION_SECONDS, minimum=1)
_MANUAL = Parameter(default=plan.REFUSE, choices=(plan.REFUSE, plan.OVERWRITE))
_CONTROL_PLANE = {
    "patch": _PATCH,
    "changes": _WORDS,
    "components": Parameter(command_type.STRINGS, default=[], choices=tuple(_PHASES)),
    "certificates": Parameter(command_type.STRINGS, default=[], choices=tuple(_CERTIFICATE_FILES)),
    "manualChanges": _MANUAL,
}
_COMPONENT = {"patch": _PATCH, "changes": _WORDS, "timeoutSeconds": _SECONDS}

COMMANDS: tuple[Command, ...] = (
    Command("checkControlPlaneConfiguration", _check, _CONTROL_PLANE),
    Command(
        "changeControlPlaneConfiguration",
        _change,
        {**_CONTROL_PLANE, "timeoutSeconds": _SECONDS},
        # Each of the certificates is etcd's or the API server's, which is restarted with it.
        stops_api_server=lambda parameters: bool(
            parameters["certificates"] or {"etcd", "kube-apiserver"} & set(parameters["components"])
        ),
    ),
    Command(
        "recordClusterConfiguration", _record, {"patch": _PATCH, "changes": _WORDS}, scope=command_type.CONTROL_PLANE
    ),
    Command("checkKubeletConfiguration", _kubelet_check, {"fields": _WORDS, "manualChanges": _MANUAL}),
    Command("changeKubeletConfiguration", _kubelet, {**_COMPONENT, "manualChanges": _MANUAL}),
    Command("changeKubeProxyConfiguration", _kube_proxy, _COMPONENT, scope=command_type.CLUSTER),
)
