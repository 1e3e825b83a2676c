# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Version skew between a new machine and the existing ones.

It covers what upstream does not check.
Source: docs/reference/cluster_api.md, "Preflight checks", "Admission rules".
"""

from __future__ import annotations

from typing import Any

from ....module_utils.common import kubernetes_facts
from ....module_utils.common.kubernetes_versions import Version, read_version
from ....module_utils.common.values import clip
from ...kubeadm import etcd_releases
from ...objects import advice, kinds
from ..checks.trouble import Trouble
from ..snapshot.typed_snapshot import View

VERSION_SKEW = "VersionSkew"


def version_troubles(view: View) -> list[Trouble]:
    """Return the reasons to refuse a new machine of the desired version.

    They are a downgrade, a skipped minor version, an etcd too old for the one that the machine brings, and workers out
    of step.
    """
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
    return found + _etcd(view) + _workers(view, wanted)


def _machines(view: View, wanted: Version, own: list[tuple[Version, str]]) -> list[Trouble]:
    (oldest, first), (newest, last) = own[0], own[-1]
    if wanted < newest:
        same = wanted.same_minor(newest)
        allowed = kinds.ANNOTATION_ALLOW_PATCH_DOWNGRADE
        if same and kinds.is_flagged(view.control_plane, allowed):
            return []
        text = f"machine {last} runs {newest} and {wanted} is wanted: Kubernetes can't go back, etcd may already hold what {wanted} can't read"
        fix = f"Set spec.version to {newest} or newer."
        if same:
            fix += f" If only the patch level is lower and you know that it is safe, {advice.annotate(kinds.KUBEADM_CONTROL_PLANE, allowed)}."
        return [Trouble(VERSION_SKEW, "VersionDowngrade", text, fix, False)]
    if not wanted.follows(oldest):
        text = f"machine {first} runs {oldest} and {wanted} is wanted: API servers may differ by one minor version only"
        fix = f"Set spec.version to a {oldest.major}.{oldest.minor + 1} version first, reconcile, then continue."
        return [Trouble(VERSION_SKEW, "VersionSkew", text, fix, False)]
    return []


def _etcd(view: View) -> list[Trouble]:
    """Return the refusal because of a member with an old etcd.

    Too old for the etcd that a new machine brings.

    A member that reports no version counts as the release that its machine was made with; one without a machine is a
    stray, whose own check fails.
    """
    if not view.managed_etcd:
        return []
    running = {}
    for machine in view.machines:
        if machine.member is None:
            continue
        status = (view.etcd.get("statuses") or {}).get(machine.member.id) or {}
        made = (machine.config or {}).get("spec") or {}
        release = etcd_releases.release_of(status.get("version"))
        release = release or etcd_releases.brought_by(machine.version, _etcd_tag(made))
        if release is not None:
            running[machine.name] = release
    refused = etcd_releases.refusal(view.version, _etcd_tag(view.spec.get("kubeadmConfigSpec") or {}), running)
    return [Trouble(VERSION_SKEW, "EtcdTooOld", *refused, False)] if refused is not None else []


def brought_etcd(view: View) -> etcd_releases.Release | None:
    """Return the oldest etcd that a new machine may bring.

    None where that is unknown.
    """
    return etcd_releases.brought_by(view.version, _etcd_tag(view.spec.get("kubeadmConfigSpec") or {}))


def _etcd_tag(config: dict[str, Any]) -> str:
    local = ((config.get("clusterConfiguration") or {}).get("etcd") or {}).get("local") or {}
    return str(local.get("imageTag") or "")


def _workers(view: View, wanted: Version) -> list[Trouble]:
    limit = kubernetes_facts.kubelet_skew(wanted)
    found = []
    for text, count in sorted((view.workload.get("workerVersions") or {}).items()):
        version = read_version(text)
        if version is None:
            continue
        who = f"{count} worker Node{'' if count == 1 else 's'} with kubelet {version}"
        if version.minors_after(wanted) > 0:
            said = f"{who}: a kubelet must not be newer than the API servers, {wanted} is wanted"
            found.append(Trouble(VERSION_SKEW, "VersionSkew", said, f"Set spec.version to {version} or newer.", False))
        elif wanted.minors_after(version) > limit:
            said = f"{who}: with API servers of {wanted} a kubelet may be at most {limit} minor versions older"
            found.append(Trouble(VERSION_SKEW, "VersionSkew", said, "Upgrade these workers first.", False))
    return found
