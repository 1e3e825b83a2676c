# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Check of every host of a cluster's pool, shown as a table.

It asks what keeps a machine from being made of each host, and changes nothing.
"""

from __future__ import annotations

import typing as t

from ..plugin_utils.decision import terms
from ..plugin_utils.decision.creation import existing_hosts
from ..plugin_utils.decision.decide import decide
from ..plugin_utils.decision.outcome import Context
from ..plugin_utils.decision.plan.steps import machines_ahead
from ..plugin_utils.decision.snapshot.typed_snapshot import read_snapshot
from ..plugin_utils.objects.bootstrap_data import bind_port, cgroup_driver, image_facts
from ..plugin_utils.objects.validate.control_plane import managed_etcd
from ..plugin_utils.providers.host_table import hosts_text
from ..plugin_utils.reconcile.foreseeing import ForeseeingAction
from ..plugin_utils.records.cluster_objects import ClusterObjects, Object
from ..plugin_utils.records.manifest_arguments import MANIFESTS_SPEC


class ActionModule(ForeseeingAction):
    """Action plugin of the module kubeadm.control_plane.inventory_pool_check; see its documentation."""

    ARGUMENTS: t.ClassVar[dict[str, t.Any]] = {
        **MANIFESTS_SPEC,
        "show": {"type": "bool", "default": True},
        "must_fit": {"type": "bool", "default": True},
    }

    def execute(self, arguments: dict[str, t.Any]) -> dict[str, t.Any]:
        """Check the hosts, show them, and fail where machines lack a host.

        Only a machine that is to be made now counts, and with ``must_fit``.
        """
        objects, snapshot = self.foresee(arguments, every=True)
        failed, verdict = _verdict(snapshot)
        if arguments["show"]:
            self.display.display("\n" + hosts_text(objects.title, snapshot, verdict))
        found = snapshot.get("hosts") or []
        said = " ".join(" ".join(filter(None, (f"{each['message']}.", each.get("fix")))) for each in verdict)
        return {
            "changed": False,
            **({"failed": True} if failed and (arguments["must_fit"] or not found) else {}),
            "hosts": [
                {
                    "name": each["name"],
                    "failure_domain": each["failureDomain"],
                    "machine": each["machine"],
                    "missing": each["missing"],
                }
                for each in found
            ],
            "fit": [each["name"] for each in found if not each["missing"] and not each["machine"]],
            "wanted": _wanted(objects),
            "msg": f"{objects.title}: {said}",
        }


def _wanted(objects: ClusterObjects) -> Object:
    """Return what the manifest asks of a host's programs, images and ports.

    "" or 0 where it says nothing.
    """
    spec = (objects.control_plane or {}).get("spec") or {}
    configuration = spec.get("kubeadmConfigSpec") or {}
    kind = "join" if objects.initialized else "init"
    return {
        "kubernetes_version": str(spec.get("version") or ""),
        "images": {**image_facts(configuration, kind), "externalEtcd": not managed_etcd(objects.control_plane or {})},
        "cgroup_driver": cgroup_driver(configuration, kind),
        "bind_port": bind_port(objects.cluster, configuration, kind),
        "endpoint_port": int((objects.wanted_endpoint() or {}).get("port") or 0),
    }


def _verdict(snapshot: Object) -> tuple[bool, list[Object]]:
    """Return whether the check fails, and its messages.

    It fails where a machine that is to be made now can't be. Each message has ``message`` and ``fix``.
    """
    obstacles = snapshot.get("obstacles") or []
    if obstacles:
        return True, obstacles
    if "pool" not in snapshot:
        kind = str((snapshot.get("machineTemplate") or {}).get("kind") or "no machine template")
        return False, [{"message": f"its machines are not made of existing hosts ({kind}): there is no host to check"}]
    ahead = machines_ahead({key: value for key, value in snapshot.items() if key not in ("hosts", "pool")})
    troubles, said = existing_hosts.hosts_checked(Context(read_snapshot(snapshot)), None) or ([], "")
    # What each host lacks is in the table already.
    short = [
        {"message": each.message.partition(". ")[0], "fix": each.fix.replace(f" {existing_hosts.CHECK_HOSTS}", "")}
        for each in troubles
    ]
    if ahead:
        return bool(troubles), short or [{"message": f"{said}. What is to be made now can be made"}]
    decision = decide(snapshot)
    if decision["action"] == terms.BLOCKED and not snapshot.get("machines"):
        # Not even the first machine can be made, and not for the hosts.
        return True, decision["blockedOn"]
    spare = short[0]["message"] if short else said
    return False, [{"message": f"no machine is to be made now. For the next one: {spare}"}]
