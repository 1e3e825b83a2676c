# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Planner of a rotation of certificate authorities and service account keys.

Source: docs/reference/kubeadm.md, "Authorities".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ....module_utils.common import settings
from ...kubeadm.certificate_files import AUTHORITIES, CA, CONTROLLER_MANAGER, ETCD, SERVICE_ACCOUNT
from ...objects.actions import FieldError
from ...objects.advice import replace
from ..ended_authorities import require_valid
from ..planner_types import ClusterFacts, GroupPlan, RefusedAction, require_reachable
from .stages import DROP, ISSUE, TRUST, concerns

PATH = "spec.rotateCertificateAuthorities"
# Consent to the outage of a control plane of one node, on which nothing answers while its components restart, or of two etcd members,
# of which neither is a quorum without the other.
OUTAGE = "acceptOutage"
_FIELDS = ("authorities", "tokensTimeoutSeconds", "restartWorkloads", OUTAGE)
# Whose pods are restarted that have a token of the old key: nobody's, kube-proxy's and CoreDNS's, or everybody's.
NONE, ADDONS, ALL = "None", "Addons", "All"
WORKLOADS = (NONE, ADDONS, ALL)


def validate(spec: Mapping[str, Any], path: str) -> list[FieldError]:
    """Return the errors in the field ``rotateCertificateAuthorities``, whatever the cluster."""
    known = ", ".join(_FIELDS)
    found = [
        FieldError(
            f"{path}.{name}", None, f"there is no such field (there are: {known})", "Remove it, or correct its name."
        )
        for name in sorted(set(spec) - set(_FIELDS))
    ]
    authorities = spec.get("authorities")
    if authorities is not None:
        found += _authority_errors(authorities, f"{path}.authorities")
    seconds = spec.get("tokensTimeoutSeconds")
    if seconds is not None and (not isinstance(seconds, int) or isinstance(seconds, bool) or seconds < 1):
        rule = "must be a whole number of seconds, at least 1"
        fix = f"Leave it out for {settings.ROTATION_TOKENS_SECONDS}: bound tokens take about an hour to be replaced."
        found.append(FieldError(f"{path}.tokensTimeoutSeconds", seconds, rule, fix))
    whose = spec.get("restartWorkloads")
    if whose is not None and whose not in WORKLOADS:
        rule = f"must be one of {', '.join(WORKLOADS)}"
        found.append(FieldError(f"{path}.restartWorkloads", whose, rule, f"Leave it out for {ADDONS}."))
    if not isinstance(spec.get(OUTAGE, False), bool):
        fix = "Leave it out for false, or give true for a control plane of one or two nodes."
        found.append(FieldError(f"{path}.{OUTAGE}", spec[OUTAGE], "must be true or false", fix))
    return found


def _authority_errors(authorities: Any, path: str) -> list[FieldError]:
    known = ", ".join(AUTHORITIES)
    if not isinstance(authorities, list) or not authorities:
        return [
            FieldError(
                path, authorities, "must be a list of at least one", f"Leave it out for all, or name some of: {known}."
            )
        ]
    wrong = [each for each in authorities if each not in AUTHORITIES]
    if wrong:
        return [FieldError(path, wrong[0], "is none of the authorities", f"Known are: {known}.")]
    if len(set(authorities)) < len(authorities):
        return [FieldError(path, authorities, "names one twice", "Name each once.")]
    return []


def chosen(spec: Mapping[str, Any], external_etcd: bool) -> tuple[str, ...]:
    """Return the authorities to rotate: the named ones, or all.

    All are the cluster's own: etcd's is not, where etcd is external.

    Raises:
        RefusedAction: etcd's authority of an external etcd.
    """
    named = spec.get("authorities")
    if external_etcd and named and ETCD in named:
        raise RefusedAction(
            f"{PATH}.authorities",
            ETCD,
            "etcd is external: its certificate authority is its owner's",
            "Leave etcd out; rotate it with the tools that made that etcd, then give the new Secrets.",
        )
    return tuple(
        each for each in AUTHORITIES if each in (named or AUTHORITIES) and not (each == ETCD and external_etcd)
    )


def _require_taking_part(facts: ClusterFacts, authorities: tuple[str, ...]) -> None:
    needed = [each for each in facts.nodes if concerns(each.control_plane, authorities)]
    # A kubelet that is away keeps the old authority alive: its stage would never end.
    away = [each for each in needed if not each.ready]
    if away:
        rule = "every Node that has anything of these authorities takes part in their rotation, and these are not Ready"
        fix = "Bring them back."
        machines = [each.machine for each in away if each.machine and each.control_plane]
        if machines:
            fix += f" Where a machine is gone for good, have it replaced {replace(*machines)}."
        # Of one with a Machine, too: in the middle of a rotation reconcile takes out control plane machines alone (_amid_rotation).
        workers = [each for each in away if not each.control_plane]
        if workers:
            fix += f" Where a worker is gone for good: kubectl delete node {' '.join(each.name for each in workers)}."
            machines = [each.machine for each in workers if each.machine]
            if machines:
                fix += f" Once the rotation is over, have its machine replaced {replace(*machines)}."
        names = ", ".join(each.name for each in away)
        raise RefusedAction(PATH, names, rule, f"{fix} Then begin again.")
    require_reachable(facts, {each.name for each in needed})


def plan(spec: Mapping[str, Any], facts: ClusterFacts) -> tuple[GroupPlan, ...]:
    """Return the TaskGroups of a rotation.

    Each stage is run on every node, published in the cluster's objects, and read back before the next starts.

    Raises:
        RefusedAction: there is no control plane Node, an authority has ended, no API answers, a Node that takes part is
            not Ready or can't be reached, or there is one control plane Node alone, or two etcd members that restart,
            and no consent to the outage.
    """
    authorities = chosen(spec, facts.external_etcd)
    if not facts.control_plane_nodes:
        raise RefusedAction(PATH, None, "the cluster has no control plane Node", "Look at: kubectl get nodes.")
    # Before the API: it answers no one where its own has ended.
    require_valid(PATH, facts, authorities)
    if not facts.api_answers:
        raise RefusedAction(
            PATH,
            None,
            "no API server answers, and a rotation without an interruption needs all of them",
            "Bring the control plane back first; certificates that have expired, other than an authority's, are renewed with renewCertificates.",
        )
    _require_taking_part(facts, authorities)
    control_plane = tuple(each.name for each in facts.control_plane_nodes)
    rule = ""
    if len(control_plane) == 1:
        rule = (
            f"{control_plane[0]} is the only control plane Node: with no other to answer, the API and etcd are away each time that "
            "their components restart, several times in a rotation and for up to some minutes"
        )
    elif len(control_plane) == 2 and ETCD in authorities:
        rule = (
            f"{control_plane[0]} and {control_plane[1]} are the only control plane Nodes: of two etcd members neither is a quorum without "
            "the other, so the API is away each time that one restarts, several times in a rotation"
        )
    if rule and not spec.get(OUTAGE):
        fix = f"Give {OUTAGE}: true if that may be, or scale the control plane to 3 first."
        raise RefusedAction(f"{PATH}.{OUTAGE}", None, rule, fix)
    workers = tuple(each.name for each in facts.workers) if CA in authorities else ()
    head = control_plane[:1]
    named = {"authorities": list(authorities)}
    healthy: dict[str, Any] = {"waitHealthy": {}}

    def stage(name: str, command: str) -> tuple[GroupPlan, ...]:
        lower = name.lower()
        groups = [GroupPlan(f"{lower}-control-plane", control_plane, ({command: named}, healthy))]
        if workers:
            groups.append(GroupPlan(f"{lower}-workers", workers, ({command: named}, healthy)))
        groups.append(GroupPlan(f"{lower}-publish", head, ({"publishAuthorities": {**named, "stage": name}},)))
        groups.append(
            GroupPlan(f"{lower}-prove", (*control_plane, *workers), ({"proveAuthorities": {**named, "stage": name}},))
        )
        return tuple(groups)

    tokens: tuple[GroupPlan, ...] = ()
    if SERVICE_ACCOUNT in authorities:
        bound = {"timeoutSeconds": spec.get("tokensTimeoutSeconds") or settings.ROTATION_TOKENS_SECONDS}
        whose = {"workloads": spec.get("restartWorkloads") or ADDONS}
        manager: dict[str, Any] = {"restartComponent": {"component": CONTROLLER_MANAGER}}
        # Its controllers are service accounts, too, and hold their tokens in memory (--use-service-account-credentials).
        managers = GroupPlan("restart-controller-managers", control_plane, (manager, healthy))
        waits = ({"restartWorkloads": whose}, {"waitServiceAccountTokens": bound})
        tokens = (
            GroupPlan("renew-tokens", head, ({"renewServiceAccountTokens": {}},)),
            managers,
            GroupPlan("replace-tokens", head, waits),
        )
    # Those that were taken before are another cluster's, by the authorities in them (backup_and_restore.md).
    snapshot: tuple[dict[str, Any], ...] = () if facts.external_etcd else ({"takeEtcdSnapshot": {}},)
    return (
        GroupPlan("prepare", head, (healthy, {"createCertificateAuthorities": named})),
        *stage(TRUST, "trustNewAuthorities"),
        *stage(ISSUE, "issueFromNewAuthorities"),
        *tokens,
        *stage(DROP, "dropOldAuthorities"),
        GroupPlan("finish", head, (*snapshot, {"forgetOldAuthorities": named})),
    )
