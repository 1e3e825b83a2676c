# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""May machines of the wanted version be made beside what is there? What upstream does not check (kcp-behaviour.md §1.7, §1.18)."""

from __future__ import annotations

from typing import Optional

from ansible_collections.kubeadm.control_plane.plugins.module_utils.decision.snapshot import View, annotations_of
from ansible_collections.kubeadm.control_plane.plugins.module_utils.decision.trouble import Trouble
from ansible_collections.kubeadm.control_plane.plugins.module_utils.decision.values import clip
from ansible_collections.kubeadm.control_plane.plugins.module_utils.kubeadm.versions import Version, parse
from ansible_collections.kubeadm.control_plane.plugins.module_utils.objects import kinds

VERSION_SKEW = "VersionSkew"
# How many minor versions a kubelet may be older than an API server, since Kubernetes 1.28 and before (Kubernetes' version skew policy).
_KUBELET_SKEW = (3, 2)
_KUBELET_SKEW_SINCE = 28


def version_troubles(view: View) -> list[Trouble]:
    """What speaks against a new machine of the wanted version: a downgrade, a skipped minor version, workers out of step."""
    wanted = read_version(view.version)
    if wanted is None:
        text = f"spec.version {clip(view.version, 60)!r} is not a Kubernetes version"
        return [Trouble(VERSION_SKEW, "VersionSkew", text, "Give a version such as v1.30.2.", False)]
    own = sorted(
        (version, machine.name)
        for machine in view.live
        for version in [read_version(machine.version)]
        if version is not None
    )
    found = _machines(view, wanted, own) if own else []
    return found + _workers(view, wanted)


def read_version(text: str) -> Optional[Version]:
    """The version, None where the text is none."""
    try:
        return parse(text)
    except ValueError:
        return None


def _machines(view: View, wanted: Version, own: list[tuple[Version, str]]) -> list[Trouble]:
    (oldest, first), (newest, last) = own[0], own[-1]
    if wanted < newest:
        same = (wanted.major, wanted.minor) == (newest.major, newest.minor)
        allowed = kinds.ANNOTATION_ALLOW_PATCH_DOWNGRADE
        if same and annotations_of(view.control_plane).get(allowed) == "true":
            return []
        text = f"machine {last} runs {newest} and {wanted} is wanted: Kubernetes can't go back, etcd may already hold what {wanted} can't read"
        fix = f"Set spec.version to {newest} or newer."
        if same:
            fix += f' If only the patch level is lower and you know that it is safe, say so with the annotation {allowed}: "true" on the KubeadmControlPlane.'
        return [Trouble(VERSION_SKEW, "VersionDowngrade", text, fix, False)]
    if wanted.major != oldest.major or wanted.minor - oldest.minor > 1:
        text = f"machine {first} runs {oldest} and {wanted} is wanted: API servers may differ by one minor version only"
        fix = f"Set spec.version to a {oldest.major}.{oldest.minor + 1} version first, reconcile, then go on."
        return [Trouble(VERSION_SKEW, "VersionSkew", text, fix, False)]
    return []


def _workers(view: View, wanted: Version) -> list[Trouble]:
    limit = _KUBELET_SKEW[0] if wanted.at_least(_KUBELET_SKEW_SINCE) else _KUBELET_SKEW[1]
    found = []
    for text, count in sorted((view.workload.get("workerVersions") or {}).items()):
        version = read_version(text)
        if version is None or version.major != wanted.major:
            continue
        who = f"{count} worker Node{'' if count == 1 else 's'} with kubelet {version}"
        if version.minor > wanted.minor:
            said = f"{who}: a kubelet must not be newer than the API servers, {wanted} is wanted"
            found.append(Trouble(VERSION_SKEW, "VersionSkew", said, f"Set spec.version to {version} or newer.", False))
        elif wanted.minor - version.minor > limit:
            said = f"{who}: with API servers of {wanted} a kubelet may be at most {limit} minor versions older"
            found.append(Trouble(VERSION_SKEW, "VersionSkew", said, "Upgrade these workers first.", False))
    return found
