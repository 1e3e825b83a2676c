# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The part of the stand-in for machines whose configuration changes: what a machine runs with, and what it rolls back."""

from __future__ import annotations

import json
from typing import Any, Optional

Object = dict[str, Any]
KUBELET = "/api/v1/namespaces/kube-system/configmaps/kubelet-config-1.20"
BAD_FLAG = "no-such-flag"
BAD_PODS = 0


class Configurations:
    """What the machines run with: ``configurations`` by name, each the API server's flags and the kubelet's configuration.

    ``known_flags`` in the state makes the bad flag a good one; ``lacks`` names a machine without a file that is needed.
    """

    state: Object
    here: Optional[Object]

    def node_configuration(self, arguments: Object) -> Object:
        """A work runs until it is asked for the second time; what does not work is rolled back, and tried anew when it is asked for again."""
        assert self.here is not None
        name = self.here["name"]
        own = self.state.setdefault("configurations", {}).setdefault(name, {"flags": {}, "kubelet": "", "steps": {}})
        wanted = self._wanted(arguments)
        changes = [] if own.get(wanted[0]) == wanted[1] else [f"{wanted[0]} change"]
        if arguments.get("only_compare"):
            self.state.setdefault("compared", []).append(name)
            if self.state.get("lacks") == name:
                return {
                    "failed": True,
                    "msg": "The new configuration needs what this machine does not have: /etc/audit",
                }
            return {"changed": False, "state": "Absent", "stage": "", "message": "", "folder": "", "changes": changes}
        step = own["steps"].get(arguments["step"])
        answer: Object = {"stage": "kube-apiserver", "message": "", "folder": "/kept", "changes": changes}
        if step is None or step["told"]:
            if not changes:
                return {**answer, "changed": False, "state": "Succeeded"}
            busy = [each for each, other in self.state["configurations"].items() if other.get("busy")]
            if busy:
                self.state["violations"].append(f"{name} was changed while {busy} was")
            own["steps"][arguments["step"]] = {"told": False}
            own["busy"] = True
            self.state.setdefault("changed", []).append([name, wanted[0]])
            return {**answer, "changed": True, "state": "Running"}
        own["busy"] = False
        step["told"] = True
        if self._works(wanted):
            own[wanted[0]] = wanted[1]
            return {**answer, "changed": False, "state": "Succeeded"}
        return {**answer, "changed": False, "state": "RolledBack", "message": "It says: Error: it does not work."}

    def _wanted(self, arguments: Object) -> tuple[str, Any]:
        if arguments["work"] == "control_plane":
            return "flags", json.loads(arguments["configuration"]).get("apiServer", {}).get("extraArgs") or {}
        return "kubelet", self.state["objects"][KUBELET]["data"]["kubelet"]

    def _works(self, wanted: tuple[str, Any]) -> bool:
        if wanted[0] == "flags":
            return BAD_FLAG not in wanted[1] or bool(self.state.get("known_flags"))
        # As in stand_in_machine.py: few calls need it, and each would import it.
        import yaml

        return bool(yaml.safe_load(wanted[1]).get("maxPods") != BAD_PODS)
