# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The hosts that a run is about to make machines of, looked at before its first change: what each of them lacks.

Only existing hosts can be: a machine that a provider makes has what the provider gives it.
"""

from __future__ import annotations

import time
import typing as t

from ansible_collections.kubeadm.control_plane.plugins.module_utils.decision import names
from ansible_collections.kubeadm.control_plane.plugins.module_utils.decision.hosts import IMAGE_CHECK, machines_to_make
from ansible_collections.kubeadm.control_plane.plugins.module_utils.decision.scaling import ROLLING_OUT
from ansible_collections.kubeadm.control_plane.plugins.module_utils.decision.snapshot import read_snapshot
from ansible_collections.kubeadm.control_plane.plugins.module_utils.objects import kinds
from ansible_collections.kubeadm.control_plane.plugins.module_utils.objects.validate import managed_etcd
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils import inventory_pool
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.cluster_objects import ClusterObjects, Object
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.inventory_pool import MACHINE, PoolError
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.machine_connection import Answer, Machine

# Nobody's claim: what is asked is never made.
NOBODY = "nobody"
UNREACHED = "Reachable"


class Ask(t.Protocol):
    """Calls host_claim on a host in check mode, which changes nothing there."""

    def __call__(self, machine: Machine, call: dict[str, t.Any]) -> Answer: ...


def look(
    objects: ClusterObjects,
    ask: Ask,
    snapshot: Object,
    decision: Object,
    groups: t.Mapping[str, t.Sequence[str]],
    hostvars: t.Mapping[str, t.Any],
    permitted: t.Sequence[str] = (),
) -> list[Object]:
    """Return the ``hosts`` of a snapshot, [] where the decision makes no machine of an existing host.

    Hosts are asked in their order until as many as are needed lack nothing. What is wrong with the pool itself the claim says.
    """
    spec = ((objects.machine_template or {}).get("spec") or {}).get("template", {}).get("spec") or {}
    kind = (objects.machine_template or {}).get("kind")
    if kind != kinds.INVENTORY_MACHINE_TEMPLATE or not spec.get("group") or not _makes_a_machine(decision):
        return []
    try:
        pool = inventory_pool.read_pool(spec, groups, hostvars, permitted)
    except PoolError:
        return []
    held = inventory_pool.taken(objects.store, {"metadata": {"uid": None}})
    call = _call(objects, spec, "init" if decision["action"] == names.INITIALIZE else "join")
    needed = machines_to_make(read_snapshot(snapshot))
    found: list[Object] = []
    for host in pool.hosts:
        if host in held:
            continue
        address, wrong = inventory_pool.address_of(spec, hostvars[host])
        lacking = [{"check": "Address", "message": wrong, "fix": ""}] if wrong else []
        found.append({"name": host, "missing": lacking or _missing(ask, host, {**call, "address": address})})
        if sum(1 for each in found if not each["missing"]) >= needed:
            break
    own = _victims_host(objects, decision)
    if own and not any(not each["missing"] for each in found):
        lacking = [each for each in _missing(ask, own, call) if each["check"] == IMAGE_CHECK]
        found.append({"name": own, "missing": lacking})
    return found


def _makes_a_machine(decision: Object) -> bool:
    target = decision.get("target") or {}
    if decision["action"] in (names.INITIALIZE, names.JOIN):
        return not target.get("resume")
    # Without surge a machine goes so that another one can be made, perhaps of its own host.
    return decision["action"] == names.REMOVE and any(each["reason"] == ROLLING_OUT for each in decision["reasons"])


def _victims_host(objects: ClusterObjects, decision: Object) -> str:
    name = (decision.get("target") or {}).get("machine")
    if decision["action"] != names.REMOVE or not name:
        return ""
    return inventory_pool.host_of(objects.store.get(MACHINE, objects.namespace, name) or {})


def _call(objects: ClusterObjects, spec: Object, kind: str) -> dict[str, t.Any]:
    control_plane: Object = objects.control_plane or {}
    wanted = (control_plane.get("spec") or {}).get("kubeadmConfigSpec") or {}
    external = not managed_etcd(control_plane)
    return {
        "state": "present",
        "id": NOBODY,
        "cluster": objects.name,
        "namespace": objects.namespace,
        "machine": NOBODY,
        "kubernetes_version": str((control_plane.get("spec") or {}).get("version") or ""),
        **inventory_pool.asked_of_a_host(wanted, kind, external),
        "ignore_checks": (spec.get("kubeadm") or {}).get("ignorePreflightErrors") or [],
        "endpoint": str((objects.endpoint() or {}).get("host") or ""),
        "controller_time": time.time(),
    }


def _missing(ask: Ask, host: str, call: dict[str, t.Any]) -> list[Object]:
    answer = ask(Machine(f"{NOBODY} (host {host})", None, {"inventoryHost": host}), call)
    if not answer.failed:
        return []
    missing = answer.result.get("missing")
    if isinstance(missing, list) and missing:
        return [{key: str(each.get(key) or "") for key in ("check", "message", "fix")} for each in missing]
    return [{"check": UNREACHED, "message": answer.message, "fix": ""}]
