# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Selection of the machine to delete.

Source: docs/reference/cluster_api.md, "Selection of a machine".
"""

from __future__ import annotations

import ipaddress
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Optional

from ....module_utils.common.values import condition_in
from ...objects import kinds
from ...objects.bootstrap_data import bind_port
from .. import terms
from ..conditions.machine import health_conditions
from ..snapshot.typed_snapshot import MachineView, View

Object = dict[str, Any]
_OWN = ("InternalIP", "InternalDNS", "Hostname")


def behind_endpoint(view: View) -> Optional[MachineView]:
    """Return the machine whose own address is the endpoint.

    None where there is none. A load balancer and a virtual address are in no machine's list of addresses; another port than the API server's is a load
    balancer on the host.
    """
    endpoint = (view.cluster.get("spec") or {}).get("controlPlaneEndpoint") or {}
    port = bind_port(view.cluster, view.spec.get("kubeadmConfigSpec") or {}, "init")
    if not endpoint.get("host") or endpoint.get("port") != port:
        return None
    host = _plain(endpoint["host"])
    for machine in view.live:
        listed = ((machine.infrastructure or {}).get("status") or {}).get("addresses") or ()
        if any(each.get("type") in _OWN and _plain(each.get("address")) == host for each in listed):
            return machine
    return None


def _plain(address: Any) -> str:
    text = str(address or "").rstrip(".").lower()
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        return text


def select(view: View, machines: Mapping[str, list[Object]], outdated: Collection[str]) -> MachineView:
    """Select the machine to delete.

    From the first level that has candidates, then by failure domain, then the oldest.

    `machines` are the computed machine conditions, `outdated` the names of machines that are not up to date. Only
    machines that are not being deleted are candidates; there must be one. The machine that the endpoint leads to is one only
    where it is marked, or the only one.
    """
    return _oldest(_in_domain(view, _level(view, machines, outdated)))


def marked(machine: MachineView) -> bool:
    """Return whether a machine is marked as the next to go."""
    return kinds.is_flagged(machine.machine, kinds.ANNOTATION_DELETE_MACHINE)


def _level(view: View, machines: Mapping[str, list[Object]], outdated: Collection[str]) -> list[MachineView]:
    endpoint = behind_endpoint(view)
    live = [machine for machine in view.live if machine is not endpoint or marked(machine)] or view.live
    old = [machine for machine in live if machine.name in outdated]

    def failing(machine: MachineView) -> bool:
        # Only False is a reason to prefer a machine; Unknown and missing are none
        # (docs/reference/cluster_api.md, "Selection of a machine").
        return any(
            condition_in(machines[machine.name], kind).get("status") == terms.FALSE for kind in health_conditions(view)
        )

    levels = (
        [machine for machine in old if marked(machine)],
        [machine for machine in live if marked(machine)],
        [machine for machine in old if failing(machine)],
        old,
        live,
    )
    return next(level for level in levels if level)


def _in_domain(view: View, candidates: Sequence[MachineView]) -> list[MachineView]:
    # Where none is known, all are: the oldest goes.
    misplaced = [machine for machine in candidates if machine.failure_domain not in view.failure_domains]
    if misplaced:
        domain = _oldest(misplaced).failure_domain
    else:
        overall = [machine.failure_domain for machine in view.live]
        here = [machine.failure_domain for machine in candidates]
        # Upstream leaves a tie to chance; the same snapshot must give the same decision, so the first by name wins.
        domain = min(set(here), key=lambda each: (-here.count(each), -overall.count(each), each))
    return [machine for machine in candidates if machine.failure_domain == domain]


def _oldest(machines: Sequence[MachineView]) -> MachineView:
    return min(machines, key=lambda machine: machine.order)
