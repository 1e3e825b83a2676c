# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Planner of a certificate renewal, also where every certificate has expired.

No API server has to answer for it.

Source: docs/reference/kubeadm.md, "Certificates".

Files come first, on all Nodes: that disturbs no client and takes seconds, so that what expires in the middle of it
finds its successor on the disk. Then what read them is restarted, one component and one Node at a time.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Any

from ....module_utils.common import kubernetes_facts
from ....module_utils.common.values import format_moment, read_moment
from ...objects.actions import FieldError
from .. import command_type
from ..command_type import Parameter
from ..ended_authorities import require_valid
from ..planner_types import EXTRA_NOW, ClusterFacts, GroupPlan, NodeFacts, RefusedAction
from ..upgrade.commands import COMPONENTS
from .commands import ALL, ETCD_CERTIFICATES, KUBELET_CLIENT, USERS

PATH = "spec.renewCertificates"
EXPIRED, NEVER, ALWAYS = "Expired", "Never", "Always"
_SUPER_ADMIN = "super-admin.conf"
_FIELDS: Mapping[str, Parameter] = {
    "names": Parameter(command_type.STRINGS, choices=(ALL, KUBELET_CLIENT, *USERS)),
    # Which workers' kubelets are bootstrapped anew.
    "workers": Parameter(choices=(EXPIRED, NEVER, ALWAYS)),
    # Only on Nodes where one of them ends within as many days, so that a schedule restarts nothing in vain.
    "withinDays": Parameter(command_type.INTEGER, minimum=1),
}
# Later than any certificate's end.
_ENDLESS = "9999-12-31T23:59:59Z"


def validate(spec: Mapping[str, Any], path: str) -> list[FieldError]:
    """Return the errors in ``spec.renewCertificates``, whatever the cluster."""
    found = command_type.given_errors(_FIELDS, spec, path, "a renewal")
    if spec.get("names") == []:
        found.append(FieldError(f"{path}.names", None, "names no certificate", "Leave it out to renew all."))
    return found


def plan(spec: Mapping[str, Any], cluster: ClusterFacts) -> tuple[GroupPlan, ...]:
    """Return the TaskGroups of a renewal of certificates.

    There are none where no certificate ends within the requested days.

    Raises:
        RefusedAction: a certificate that kubeadm doesn't manage here, an authority that has ended, or no control plane
            Node.
    """
    known = cluster.control_plane_nodes
    if not known:
        raise RefusedAction(PATH, None, "the cluster has no control plane Node", "Check its role labels.")
    # One that is lost and is to go needs none: only with an API can it be removed, and without this no API answers.
    nodes = tuple(each for each in known if each.reachable or not each.deleting) or known
    require_valid(PATH, cluster)
    chosen = list(spec.get("names") or [ALL])
    every = ALL in chosen
    names = [ALL] if every else [name for name in chosen if name != KUBELET_CLIENT]
    _require_known(names, cluster)
    until = _until(spec, cluster)
    due = [
        each for each in _expired_first(nodes, cluster) if _due(each, names, KUBELET_CLIENT in chosen, until, cluster)
    ]
    groups = _control_plane(names, every or KUBELET_CLIENT in chosen, tuple(each.name for each in due), cluster)
    which = str(spec.get("workers") or EXPIRED)
    workers = _workers(which, until, cluster) if every or KUBELET_CLIENT in chosen else ()
    if workers:
        steps: tuple[Mapping[str, Any], ...] = ({"bootstrapKubeletAgain": {}}, {"waitHealthy": {}})
        groups.append(GroupPlan("bootstrap-w", workers, steps))
    if due and (every or "admin.conf" in chosen):
        groups.append(GroupPlan("renew-kubeconfig", (due[0].name,), ({"renewKubeconfigSecret": {}},)))
    return tuple(groups)


def _control_plane(
    names: Sequence[str], kubelet: bool, order: tuple[str, ...], cluster: ClusterFacts
) -> list[GroupPlan]:
    """Return the TaskGroups that renew these Nodes' files and restart their readers."""
    if not order:
        return []
    components = _components(names, cluster.external_etcd)
    groups = [GroupPlan("renew-cp", order, _renewal(names, cluster.api_answers, kubelet))]
    # The store keeps when the API server's certificate ends.
    record: tuple[Mapping[str, Any], ...] = ({"recordMachine": {"certificates": True}},)
    if not {ALL, "apiserver"} & set(names):
        record = ()
    if not cluster.api_answers:
        return groups + _offline(components, order, record)
    steps = _one_at_a_time(components)
    if steps:
        groups.append(GroupPlan("restart-cp", order, (*steps, *record)))
    return groups


def _until(spec: Mapping[str, Any], cluster: ClusterFacts) -> str:
    """Return the time up to which a certificate's end makes it due.

    It is RFC 3339; later than any certificate's end where no days are requested.
    """
    days, now = spec.get("withinDays"), str(cluster.extra.get(EXTRA_NOW) or "")
    if not days or not now:
        return _ENDLESS
    try:
        return format_moment(read_moment(now) + datetime.timedelta(days=int(days)))
    except OverflowError:
        return _ENDLESS


def _due(node: NodeFacts, names: Sequence[str], kubelet: bool, until: str, cluster: ClusterFacts) -> bool:
    """Return whether one of these certificates of the Node is due.

    It is due where it ends by ``until``, and where its end is unknown. A kubelet renews its own in time: where it isn't
    named it counts once it has ended.
    """
    if until == _ENDLESS:
        return True
    ends = cluster.ends(node)
    if not ends:
        return True
    wanted = USERS if ALL in names else names
    now = str(cluster.extra[EXTRA_NOW])
    of_kubelet = ends.get(KUBELET_CLIENT, _ENDLESS)
    return any(ends.get(each, _ENDLESS) <= until for each in wanted) or of_kubelet <= (until if kubelet else now)


def _require_known(names: Sequence[str], cluster: ClusterFacts) -> None:
    if cluster.external_etcd:
        foreign = sorted(set(names) & set(ETCD_CERTIFICATES))
        if foreign:
            rule = f"{', '.join(foreign)} belongs to an external etcd, whose certificates kubeadm does not manage"
            raise RefusedAction(f"{PATH}.names", None, rule, "Renew it where that etcd's certificates are made.")
    if (
        _SUPER_ADMIN in names
        and cluster.kubernetes_version
        and not kubernetes_facts.has_super_admin(cluster.kubernetes_version)
    ):
        rule = f"kubeadm of {cluster.kubernetes_version} makes no {_SUPER_ADMIN}"
        raise RefusedAction(f"{PATH}.names", _SUPER_ADMIN, rule, "Take it out of the list.")


def _components(names: Sequence[str], external_etcd: bool) -> tuple[str, ...]:
    used = {component for name in (USERS if ALL in names else names) for component in USERS[name]}
    return tuple(each for each in COMPONENTS if each in used and not (each == "etcd" and external_etcd))


def _renewal(names: Sequence[str], online: bool, kubelet: bool) -> tuple[Mapping[str, Any], ...]:
    steps: list[Mapping[str, Any]] = []
    if names:
        steps.append({"kubeadmRenewCertificates": {"names": list(names), **({} if online else {"offline": True})}})
    if kubelet:
        steps.append({"renewKubeletClientCertificate": {}})
    return tuple(steps)


def _one_at_a_time(components: Sequence[str]) -> tuple[Mapping[str, Any], ...]:
    steps: list[Mapping[str, Any]] = []
    for component in components:
        steps += [{"restartComponent": {"component": component}}, {"waitHealthy": {}}]
    return tuple(steps)


def _offline(
    components: Sequence[str], order: tuple[str, ...], record: tuple[Mapping[str, Any], ...]
) -> list[GroupPlan]:
    """Return the TaskGroups that restart components where no API answers.

    etcd is restarted on every Node first, for no single member makes a quorum; then the rest; then all must be healthy.
    """
    groups = []
    if "etcd" in components:
        groups.append(GroupPlan("restart-etcd", order, ({"restartComponent": _offline_restart("etcd")},)))
    rest = [each for each in components if each != "etcd"]
    if rest:
        steps = tuple({"restartComponent": _offline_restart(each)} for each in rest)
        groups.append(GroupPlan("restart-cp", order, steps))
    groups.append(GroupPlan("verify-cp", order, ({"waitHealthy": {}}, *record)))
    return groups


def _offline_restart(component: str) -> dict[str, Any]:
    return {"component": component, "offline": True}


def _expired_first(nodes: Sequence[NodeFacts], cluster: ClusterFacts) -> list[NodeFacts]:
    """Return the Nodes by name, those with an expired certificate first.

    They are down already, and the others still hold the quorum.
    """
    return sorted(nodes, key=lambda each: not cluster.ended(each))


def _workers(which: str, until: str, cluster: ClusterFacts) -> tuple[str, ...]:
    if which == NEVER:
        return ()
    return tuple(
        each.name
        for each in cluster.workers
        if cluster.ended(each) or (which == ALWAYS and _due(each, (), True, until, cluster))
    )


__all__ = ["plan", "validate"]
