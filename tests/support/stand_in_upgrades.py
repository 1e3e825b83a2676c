# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The part of the stand-in for machines that is upgraded in place, and whose certificates end and are renewed."""

from __future__ import annotations

import re
from typing import Any, Optional

from stand_in_programs import Programs

Object = dict[str, Any]
CONFIG = "/api/v1/namespaces/kube-system/configmaps/kubeadm-config"
LATER = "2037-01-01T00:00:00Z"


def pod(node: str, component: str, version: str) -> Object:
    """A component's pod on a Node."""
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    status["containerStatuses"] = [{"name": component, "state": {"running": {}}, "started": True}]
    return {
        "metadata": {"name": f"{component}-{node}", "labels": {"component": component, "tier": "control-plane"}},
        "spec": {"nodeName": node, "containers": [{"name": component, "image": f"k8s.gcr.io/{component}:{version}"}]},
        "status": status,
    }


class Upgrades(Programs):
    """What kubeadm does to the world, the programs that a machine has, and when its certificates end.

    What a run did in which order is in the state's ``steps``, and who was behind the endpoint whenever an API server stopped in
    its ``stops``: ``[the machine that stopped, those behind the endpoint]``. The state's ``ends`` are when the machines' certificates end, and its
    ``silent`` those whose API server answers nobody before it was restarted with certificates that are good.
    """

    state: Object
    here: Optional[Object]
    balancers: Object

    def node_command(self, arguments: Object) -> Object:
        """A program of kubeadm's has its effect once it has ended."""
        answer = super().node_command(arguments)
        if answer["state"] == "Ended" and arguments["name"] not in self.state.setdefault("had", []):
            self.state["had"].append(arguments["name"])
            known = self.state["commands"][self._name][arguments["name"]]["argv"]
            self._effect([str(word) for word in known])
        return answer

    def _effect(self, words: list[str]) -> None:
        node = self.state["nodes"].get(self._name) or {}
        config = self.state["objects"].get(CONFIG) or {"data": {"ClusterConfiguration": ""}}
        if words[:2] == ["kubeadm", "upgrade"] and words[2] in ("apply", "node") and not node.get("worker"):
            self._api_server_stops()
        if words[:3] == ["kubeadm", "upgrade", "apply"]:
            text = config["data"]["ClusterConfiguration"]
            found = re.sub(r"kubernetesVersion: \S+", f"kubernetesVersion: {words[3]}", text)
            config["data"]["ClusterConfiguration"] = found
            node["api"] = words[3]
        elif words[:3] == ["kubeadm", "upgrade", "node"] and not node.get("worker"):
            found = re.search(r"kubernetesVersion: (\S+)", config["data"]["ClusterConfiguration"])
            node["api"] = found.group(1) if found else ""
        elif words[:3] == ["kubeadm", "certs", "renew"]:
            self.state.setdefault("ends", {})[self._name] = LATER

    @property
    def _name(self) -> str:
        assert self.here is not None
        return str(self.here["name"])

    def serves(self, name: str) -> bool:
        """Whether a machine has an API server that answers."""
        return name in self.state["nodes"] and name not in self.state.get("silent", [])

    def _step(self, *words: str) -> None:
        self.state.setdefault("steps", []).append([self._name, *words])

    def _api_server_stops(self) -> None:
        behind = sorted(each["name"] for balancer in self.balancers.values() for each in balancer["servers"])
        self.state.setdefault("stops", []).append([self._name, behind])

    def preflight(self, _arguments: Object) -> Object:
        """All is well."""
        return {"changed": False, "checks": [], "fit": True, "msg": "fit"}

    def kubeadm_backups(self, _arguments: Object) -> Object:
        """None is left."""
        return {"changed": False, "deleted": [], "msg": "nothing is to be deleted"}

    def host_endpoint(self, _arguments: Object) -> Object:
        """No kube-vip is there."""
        return {"changed": False}

    def kubernetes_binaries(self, arguments: Object) -> Object:
        """A program has the version that was asked for last; "lacks" names a machine without the files."""
        if self.state.get("lacks") == self._name:
            return {"failed": True, "msg": f"{arguments['path']}/kubeadm can't be read"}
        names = arguments["names"]
        self._step(*names, arguments["version"])
        if "kubelet" in names:
            self.state["nodes"][self._name]["version"] = arguments["version"]
        return {
            "changed": True,
            "msg": f"{', '.join(names)} {arguments['version']}",
            "versions": {},
            "restarted": False,
        }

    def static_pod(self, arguments: Object) -> Object:
        """A component is restarted once for each name of a request."""
        done = self.state.setdefault("restarts", [])
        key = [self._name, arguments["component"], arguments["once"]]
        if key not in done:
            done.append(key)
            self._step("restart", arguments["component"])
            if arguments["component"] in ("etcd", "kube-apiserver"):
                self._api_server_stops()
            silent = arguments["component"] == "kube-apiserver" and self._name in self.state.get("silent", [])
            if silent and self.state["ends"][self._name] == LATER:
                self.state["silent"].remove(self._name)
        return {"changed": True, "msg": f"{arguments['component']} was restarted"}

    def kubeadm_certificates(self, arguments: Object) -> Object:
        """When they end. No node here has a rotation's link."""
        if arguments.get("state", "read") not in ("read", "unlinked"):
            self._step(arguments["state"], "kubelet.conf")
        end = self.state.get("ends", {}).get(self._name, "2027-01-01T00:00:00Z")
        ends = dict.fromkeys(("apiserver", "etcd-peer", "kubelet.conf"), end)
        file = "/run/kubeadm/renew.yaml"
        return {"changed": False, "certificates": ends, "configuration_file": file, "msg": "done"}
