# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kinds of kubeadm's configuration, their hub names and readable API versions.

Source: docs/reference/kubeadm.md, "API versions", "Fields".
"""

from __future__ import annotations

from dataclasses import dataclass

from ....module_utils.common import kubernetes_versions
from . import fields, operations

INIT, JOIN, RESET, UPGRADE = "init", "join", "reset", "upgrade"
COMMANDS = (INIT, JOIN, RESET, UPGRADE)


@dataclass(frozen=True)
class Part:
    """Kind of kubeadm's configuration, a part of the hub.

    It has its key in the hub, its structure, the kubeadm command that reads it from a file, and the API versions that
    have it; `alternative`: the remedy in the others.
    """

    key: str
    struct: fields.Struct
    command: str
    since: int = fields.OLDEST
    until: int = fields.ENDLESS
    alternative: str = ""

    @property
    def kind(self) -> str:
        """Name of the kind in kubeadm."""
        return self.struct.name


# In the order in which kubeadm writes them.
PARTS: tuple[Part, ...] = (
    Part("initConfiguration", fields.INIT_CONFIGURATION, INIT),
    Part("clusterConfiguration", fields.CLUSTER_CONFIGURATION, INIT),
    Part(
        "clusterStatus",
        fields.CLUSTER_STATUS,
        INIT,
        until=2,
        alternative="Remove it: from 1.22 on kubeadm keeps the endpoints in annotations of the static pods.",
    ),
    Part("joinConfiguration", fields.JOIN_CONFIGURATION, JOIN),
    Part("resetConfiguration", operations.RESET_CONFIGURATION, RESET, since=4),
    Part("upgradeConfiguration", operations.UPGRADE_CONFIGURATION, UPGRADE, since=4),
)
BY_KIND: dict[str, Part] = {part.kind: part for part in PARTS}
BY_KEY: dict[str, Part] = {part.key: part for part in PARTS}

# Documents of other components that ride along untouched: kind -> (hub key, API group, the version written where the hub has none).
COMPONENTS: dict[str, tuple[str, str, str]] = {
    "KubeletConfiguration": ("kubeletConfiguration", "kubelet.config.k8s.io", "v1beta1"),
    "KubeProxyConfiguration": ("kubeProxyConfiguration", "kubeproxy.config.k8s.io", "v1alpha1"),
}
COMPONENT_KEYS: dict[str, str] = {key: kind for kind, (key, _group, _version) in COMPONENTS.items()}

# docs/reference/kubeadm.md, "Migrate with": API version -> the last kubeadm that turns it into a newer one.
MIGRATE_WITH: dict[str, str] = {"v1alpha1": "v1.11", "v1alpha2": "v1.12", "v1alpha3": "v1.14"}

# API versions that a kubeadm has behind a flag, until they have a row in versions.APIS.
EXPERIMENTAL = ("v1",)


def api_number(text: str) -> int | None:
    """Return the number of a kubeadm API version, None for unread ones.

    2 from "v1beta2" or "kubeadm.k8s.io/v1beta2".

    None for an API version that is not read here.
    """
    found = kubernetes_versions.api_of(text)
    return found.number if found is not None else None


def why_not_read(api_version: str) -> tuple[str, str]:
    """Return rule and fix for an API version that is not read.

    The version is one of kubeadm's group.
    """
    version = api_version.rpartition("/")[2]
    if version in MIGRATE_WITH:
        rule = f"kubeadm {version} is older than what is read here"
        command = "kubeadm config migrate --old-config old.yaml --new-config new.yaml"
        return rule, f"Migrate it with kubeadm {MIGRATE_WITH[version]}: `{command}`, then on with newer ones."
    if version in EXPERIMENTAL:
        return f"kubeadm {version} is experimental and not read here", f"Write {kubernetes_versions.APIS[-1].name}."
    known = ", ".join(each.api_version for each in kubernetes_versions.APIS)
    return f"there is no kubeadm API version {version!r} here", f"Use one of {known}."
