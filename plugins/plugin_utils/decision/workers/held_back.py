# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reasons to make no worker now: version, templates, endpoint.

Source: docs/reference/cluster_api.md, "MachineDeployments".
"""

from __future__ import annotations

from typing import Any, Optional

from ....module_utils.common import kubernetes_facts
from ....module_utils.common.kubernetes_versions import Version, read_version
from ....module_utils.common.values import annotations_of, clip
from ...documents.names import typed_name
from ...objects import advice, kinds
from ..checks.trouble import Trouble
from ..outcome import CERTIFICATES_NOT_AVAILABLE, PUT_BACK
from ..snapshot.typed_snapshot import MachineView, View
from .worker_view import DeploymentView

Object = dict[str, Any]
CHECK = "WorkersMayJoin"
IS_STABLE, KUBELET_SKEW, KUBEADM_SKEW = "ControlPlaneIsStable", "KubernetesVersionSkew", "KubeadmVersionSkew"
# What one machine's provider said may have its way out at the end.
_LONGEST, _LONGEST_OF_ONE = 600, 1200
NOT_MADE, NOT_REMOVED = "WorkerNotMade", "WorkerNotRemoved"
NEWER = "WorkersNewerThanControlPlane"


def title(deployment: DeploymentView) -> str:
    """Return a deployment's name for messages."""
    return f"MachineDeployment {clip(deployment.name, 80)}"


def held_back(view: View, deployment: DeploymentView) -> list[Trouble]:
    """Return why no machine of a deployment is made, or [].

    A deletion is never held back by them.
    """
    return [*_obstacles(deployment), *never_joins(view, deployment)]


def never_joins(view: View, deployment: DeploymentView) -> list[Trouble]:
    """Return why no machine could join whatever is removed before, or [].

    A provider's obstacles are none: a host that is given back may be the one that is missing.
    """
    skipped = {each.strip() for each in annotations_of(deployment.document).get(_SKIP, "").split(",")}
    found = [*_number(deployment), *_templates(deployment), *_authority(view, deployment)]
    found += [*_endpoint(view), *_newer(view, deployment)]
    if not found and "All" not in skipped:
        found += _not_stable(view, deployment) if IS_STABLE not in skipped else []
        found += _skew(view, deployment, skipped)
    return found


_SKIP = kinds.ANNOTATION_SKIP_PREFLIGHT_CHECKS


def _number(deployment: DeploymentView) -> list[Trouble]:
    """Return the trouble where spec.replicas is missing.

    Whoever applies to an API leaves it out for an autoscaler, and only the next reconcile sets it: no webhook does.
    """
    if "replicas" in deployment.spec:
        return []
    text = f"{title(deployment)} has no spec.replicas, so that it is unknown how many workers it is to have: none is made or replaced"
    namespace = typed_name(str(deployment.document["metadata"].get("namespace")))
    scale = f"kubectl scale machinedeployment {typed_name(deployment.name)} -n {namespace} --replicas=NUMBER"
    fix = (
        f"Set it: {scale}. For a cluster without a manifest reconcile sets it to the number of workers that there are."
    )
    return [Trouble(CHECK, "WorkerReplicasUnknown", text, fix, False)]


def _templates(deployment: DeploymentView) -> list[Trouble]:
    held, machine = deployment.held_set, deployment.next_template.get("spec") or {}
    if held is not None:
        if held.name not in deployment.without_templates:
            return []
        text = (
            f"{title(deployment)} has spec.paused, so that new workers are made as its newest MachineSet {clip(held.name, 80)} has it, and a template that "
            "this names does not exist"
        )
        fix = f"Put it back, or end spec.paused ({advice.edit(kinds.MACHINE_DEPLOYMENT, deployment.document['metadata'])})."
        return [Trouble(CHECK, "WorkerTemplateNotFound", text, fix, False)]
    named = (
        (deployment.has_config, (machine.get("bootstrap") or {}).get("configRef") or {}),
        (deployment.has_template, machine.get("infrastructureRef") or {}),
    )
    return [
        Trouble(
            CHECK,
            "WorkerTemplateNotFound",
            f"{title(deployment)} names the {clip(each.get('kind'), 80)} {clip(each.get('name'), 80)}, which does not exist",
            "Add it to the manifest, or correct the reference.",
            False,
        )
        for there, each in named
        if not there
    ]


def _obstacles(deployment: DeploymentView) -> list[Trouble]:
    return [_obstacle(deployment, each) for each in deployment.obstacles if not each.get("machine")]


def not_made(deployment: DeploymentView, machine: MachineView) -> Optional[Trouble]:
    """Return why this run could not make a machine, or None."""
    return _of_machine(deployment, machine, removal=False)


def not_removed(deployment: DeploymentView, machine: MachineView) -> Optional[Trouble]:
    """Return why this run could not remove a machine, or None."""
    return _of_machine(deployment, machine, removal=True)


def _of_machine(deployment: DeploymentView, machine: MachineView, removal: bool) -> Optional[Trouble]:
    own = [each for each in deployment.obstacles if each.get("machine") == machine.name]
    told = (each for each in own if (each["reason"] == NOT_REMOVED) == removal)
    return next((_obstacle(deployment, each) for each in told), None)


def _obstacle(deployment: DeploymentView, each: Object) -> Trouble:
    text = f"{title(deployment)}: {clip(each['message'], _LONGEST_OF_ONE if each.get('machine') else _LONGEST)}"
    return Trouble(CHECK, each["reason"], text, clip(each["fix"], _LONGEST), False)


def _authority(view: View, deployment: DeploymentView) -> list[Trouble]:
    if ((view.raw.get("certificates") or {}).get(kinds.PURPOSE_CA) or {}).get("present"):
        return []
    text = f"{title(deployment)}: Secret {kinds.secret_name(view.name, kinds.PURPOSE_CA)} is missing, by which a worker knows its cluster's API"
    return [Trouble(CHECK, CERTIFICATES_NOT_AVAILABLE, text, PUT_BACK, False)]


def _endpoint(view: View) -> list[Trouble]:
    if view.endpoint_answers is not False:
        return []
    text = f"workers join through {view.endpoint}, which does not lead to this cluster's API"
    return [Trouble(CHECK, "EndpointNotReachable", text, "Bring the endpoint back.", True)]


def lowest(view: View) -> Optional[Version]:
    """Return the lowest version of the control plane, None if unknown."""
    told = [view.version, *(machine.version for machine in view.machines if machine.version)]
    known = [version for version in map(read_version, told) if version is not None]
    return min(known) if known else None


def _version(deployment: DeploymentView) -> str:
    return str((deployment.next_template.get("spec") or {}).get("version") or "")


def _newer(view: View, deployment: DeploymentView) -> list[Trouble]:
    wanted, limit = read_version(_version(deployment)), lowest(view)
    if wanted is None:
        text = f"{title(deployment)}: spec.template.spec.version {clip(_version(deployment), 60)!r} is not a Kubernetes version"
        return [Trouble(CHECK, "WorkerVersionInvalid", text, "Give a version such as v1.30.2.", False)]
    if limit is None or not limit < wanted:
        return []
    text = f"{title(deployment)}: {wanted} is wanted and the control plane is at {limit}: workers are never newer"
    # Where the control plane only has not come so far, it will.
    goal = read_version(view.version)
    comes = goal is not None and not goal < wanted
    other = f"this deployment's to {limit}" if deployment.held_set is None else "end its spec.paused"
    fix = f"Set the KubeadmControlPlane's spec.version to {wanted} first, or {other}."
    return [Trouble(CHECK, NEWER, text, "" if comes else fix, False, postpones=comes)]


def _not_stable(view: View, deployment: DeploymentView) -> list[Trouble]:
    behind = sorted(each.name for each in view.machines if each.version and each.version != view.version)
    if not behind:
        return []
    text = f"{title(deployment)}: the control plane is not at {clip(view.version, 60)} yet ({', '.join(behind)}): workers come after it"
    return [Trouble(CHECK, "ControlPlaneIsNotStable", text, "", False, postpones=True)]


def _skew(view: View, deployment: DeploymentView, skipped: set[str]) -> list[Trouble]:
    wanted, lead = read_version(_version(deployment)), read_version(view.version)
    if wanted is None or lead is None:
        return []
    fix = f"Set spec.template.spec.version of {title(deployment)} to a {lead.major}.{lead.minor} version."
    if deployment.held_set is not None:
        fix = (
            f"End spec.paused of {title(deployment)}: until then new workers are made as its newest MachineSet has it."
        )
    limit = kubernetes_facts.kubelet_skew(lead)
    if lead.minors_after(wanted) > limit and KUBELET_SKEW not in skipped:
        text = f"{title(deployment)}: with API servers of {lead} a kubelet may be at most {limit} minor versions older, {wanted} is wanted"
        return [Trouble(CHECK, KUBELET_SKEW, text, fix, False)]
    if not wanted.same_minor(lead) and KUBEADM_SKEW not in skipped:
        text = f"{title(deployment)}: kubeadm of {wanted} joins no control plane of {lead}: both have one minor version"
        return [Trouble(CHECK, KUBEADM_SKEW, text, fix, False)]
    return []
