# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""snapshot -> decision: the one next step of a control plane, with its reasons. Pure and deterministic (kcp-behaviour.md §1.1)."""

from __future__ import annotations

from typing import Any, Optional

from ansible_collections.kubeadm.control_plane.plugins.module_utils.decision import names
from ansible_collections.kubeadm.control_plane.plugins.module_utils.decision.conditions import (
    cluster_conditions,
    control_plane_conditions,
    initialized,
)
from ansible_collections.kubeadm.control_plane.plugins.module_utils.decision.deletion import decide_deletion
from ansible_collections.kubeadm.control_plane.plugins.module_utils.decision.growth import (
    foreign_control_plane,
    go_on,
    initialize,
    join,
)
from ansible_collections.kubeadm.control_plane.plugins.module_utils.decision.outcome import (
    Context,
    Outcome,
    block,
    held,
    reason,
)
from ansible_collections.kubeadm.control_plane.plugins.module_utils.decision.removal import (
    proven_uninitialized,
    remove_deleting,
    remove_failed_first,
    remove_joiner,
    remove_unstarted,
)
from ansible_collections.kubeadm.control_plane.plugins.module_utils.decision.snapshot import (
    MachineView,
    View,
    read_snapshot,
)
from ansible_collections.kubeadm.control_plane.plugins.module_utils.decision.status import (
    cluster_status,
    control_plane_status,
    machine_status,
)
from ansible_collections.kubeadm.control_plane.plugins.module_utils.decision.trouble import find_troubles, unreachable

Object = dict[str, Any]


def decide(snapshot: Object) -> Object:
    """The decision for a snapshot (docs/reference/snapshot.md, decision.md).

    The snapshot must have passed check_snapshot; it is not changed. The same snapshot always gives the same decision.
    """
    view = read_snapshot(snapshot)
    context = Context(view)
    outcome = _choose(context)
    facts = context.facts(outcome)
    control_plane = control_plane_conditions(view, facts)
    status = control_plane_status(view, facts, control_plane)
    return {
        "decisionVersion": names.DECISION_VERSION,
        "action": outcome.action,
        "target": outcome.target,
        "reasons": outcome.reasons,
        "blockedOn": outcome.blocked_on,
        "preflight": outcome.preflight,
        "quorum": outcome.quorum,
        "prepare": outcome.prepare,
        "conditions": {
            "controlPlane": control_plane,
            "machines": context.machines,
            "cluster": cluster_conditions(view, control_plane),
        },
        "status": {
            "controlPlane": status,
            "cluster": cluster_status(view, status),
            "machines": {
                machine.name: machine_status(machine, context.machines[machine.name]) for machine in view.machines
            },
        },
    }


def _choose(context: Context) -> Outcome:
    view = context.view
    if view.paused:
        return Outcome(names.NONE, [reason("Paused", f"paused: {', '.join(view.paused)}")])
    if view.deleting:
        return decide_deletion(context)
    if not view.control_plane:
        text = f"the Cluster {view.name} has no KubeadmControlPlane in the store"
        return block(
            "ControlPlaneNotFound", text, "Add it to the manifest, or correct the Cluster's spec.controlPlaneRef."
        )
    return foreign_control_plane(view) or _infrastructure(context) or _certificates(context) or _machines(context)


def _infrastructure(context: Context) -> Optional[Outcome]:
    view = context.view
    if view.raw.get("infrastructureCluster") is None:
        text = f"the Cluster {view.name} has no infrastructure cluster in the store"
        return block(
            "InfrastructureClusterNotFound",
            text,
            "Add it to the manifest, or correct the Cluster's spec.infrastructureRef.",
        )
    if not view.infrastructure_ready:
        return Outcome(
            names.CREATE_INFRASTRUCTURE,
            [reason("InfrastructureNotReady", "the cluster's infrastructure is not provisioned")],
        )
    if not view.endpoint:
        return Outcome(
            names.CREATE_INFRASTRUCTURE, [reason("WaitingForEndpoint", "the control plane has no endpoint yet")]
        )
    return None


def _certificates(context: Context) -> Optional[Outcome]:
    view = context.view
    untouched = (
        not view.latched and view.initialized is not True and not any(machine.bootstrap for machine in view.machines)
    )
    if untouched and context.missing:
        if not view.managed_etcd and "etcd" in context.missing:
            text = (
                f"Secret {view.name}-etcd is missing: the certificate authority of an external etcd can't be generated"
            )
            return block(
                "CertificatesNotAvailable",
                text,
                "Add the external etcd's CA certificate to the manifest as this Secret.",
            )
        text = f"certificate authorities and keys are missing: {', '.join(context.missing)}"
        return Outcome(names.CREATE_CERTIFICATES, [reason("CertificatesNotAvailable", text)])
    if untouched and context.certificate_troubles():
        return held(context.certificate_troubles())
    kubeconfig = context.certificates.get("kubeconfig") or {}
    if (
        not kubeconfig.get("present")
        and "ca" not in context.missing
        and (context.certificates.get("ca") or {}).get("hasKey")
    ):
        return Outcome(
            names.CREATE_CERTIFICATES, [reason("KubeconfigNotAvailable", f"Secret {view.name}-kubeconfig is missing")]
        )
    return None


def _machines(context: Context) -> Outcome:
    view = context.view
    running = [
        machine for machine in view.live if machine.bootstrap == names.RUNNING and not machine.infrastructure_gone
    ]
    if running:
        return go_on(context, running[0])
    unstarted = [
        machine for machine in view.machines if machine.deleting and not machine.bootstrap and machine.node is None
    ]
    if unstarted:
        return remove_deleting(context, unstarted[0])
    if not initialized(view):
        return _forming(context)
    if not view.reachable:
        return held([unreachable(view)])
    if view.initialized is False:
        return _config_missing(view)
    return _living(context)


def _forming(context: Context) -> Outcome:
    """No control plane yet, as far as is known."""
    view = context.view
    if not view.machines:
        return initialize(context, None)
    if any(machine.joined for machine in view.machines):
        return _config_missing(view) if view.reachable and view.initialized is False else held([unreachable(view)])
    going = [machine for machine in view.machines if machine.deleting]
    if going:
        return remove_deleting(context, going[0])
    failed = _failed(view)
    if failed:
        return remove_failed_first(context, failed[0])
    return _unstarted(context, view.live[0]) or initialize(context, view.live[0])


def _config_missing(view: View) -> Outcome:
    text = "a machine carries a control plane, but ConfigMap kube-system/kubeadm-config does not exist in the workload cluster"
    return block(
        "KubeadmConfigNotFound",
        text,
        "Put it back: on a control plane machine run kubeadm init phase upload-config all.",
    )


def _failed(view: View) -> list[MachineView]:
    return [
        machine
        for machine in view.live
        if machine.bootstrap == names.FAILED or (machine.bootstrap == names.RUNNING and machine.infrastructure_gone)
    ]


def _unstarted(context: Context, machine: MachineView) -> Optional[Outcome]:
    """Remove a machine that was never started and would not be made like this now; None where it is to be gone on with."""
    view = context.view
    if context.outdated[machine.name]:
        return remove_unstarted(
            machine, "is not up to date: " + "; ".join(each.message for each in context.outdated[machine.name])
        )
    if machine.is_join and not initialized(view) and proven_uninitialized(view):
        return remove_unstarted(machine, "was made to join a control plane that does not exist")
    if len(view.live) > view.replicas and initialized(view):
        return remove_unstarted(machine, f"only {view.replicas} replicas are wanted")
    return None


def _living(context: Context) -> Outcome:
    """A control plane that was initialized and answers: removals, joins begun, rollout, scaling, in this order."""
    view = context.view
    going = sorted(
        (machine for machine in view.machines if machine.deleting),
        key=lambda each: (each.machine["metadata"]["deletionTimestamp"], each.name),
    )
    if going:
        return remove_deleting(context, going[0])
    failed = _failed(view)
    if failed:
        said = failed[0].bootstrap_message or failed[0].infrastructure_gone or "no reason recorded"
        return remove_joiner(context, failed[0], "BootstrapFailed", f"its bootstrap failed ({said})")
    begun = [machine for machine in view.live if not machine.bootstrap]
    if begun:
        return _unstarted(context, begun[0]) or join(context, begun[0])
    troubles = [*context.certificate_troubles(), *find_troubles(view, context.machines)]
    unsupported = _unsupported(context)
    if unsupported:
        return held(troubles, unsupported)
    if len(view.live) < view.replicas:
        return join(context, None)
    return _settled(context, troubles)


def _unsupported(context: Context) -> list[Object]:
    view, found = context.view, []
    old = [machine.name for machine in view.live if context.outdated[machine.name]]
    if old:
        details = "; ".join(f"{name}: {', '.join(each.message for each in context.outdated[name])}" for name in old)
        found.append(
            {
                "reason": "RolloutNotSupported",
                "message": f"{len(old)} machine{'s are' if len(old) > 1 else ' is'} not up to date, and this release does not roll out yet ({details})",
                "fix": "Put the spec back, or make a new cluster with it. This release creates, resumes and deletes control planes.",
            }
        )
    if len(view.live) > view.replicas:
        found.append(
            {
                "reason": "ScaleDownNotSupported",
                "message": f"{len(view.live)} machines exist and {view.replicas} are wanted: this release creates, resumes and deletes, "
                "but does not scale down yet",
                "fix": f"Set spec.replicas to {len(view.live)}.",
            }
        )
    return found


def _settled(context: Context, troubles: list[Any]) -> Outcome:
    view = context.view
    serious = [each for each in troubles if each.gates or each.waits]
    if serious:
        return held(serious)
    reasons = [reason("UpToDate", f"{len(view.live)} of {view.replicas} replicas, all up to date")]
    reasons += [reason(each.reason, each.message) for each in troubles]
    if not (context.certificates.get("kubeconfig") or {}).get("present"):
        text = f"Secret {view.name}-kubeconfig is missing, and the CA's key to make it is not here: supply it"
        reasons.append(reason("KubeconfigNotAvailable", text))
    return Outcome(names.NONE, reasons)
