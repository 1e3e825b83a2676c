# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a raw snapshot says, counted by hand: for checks that must not trust the code under test."""

from __future__ import annotations

from typing import Any

from rules import IN_PROGRESS

Object = dict[str, Any]
COMPONENTS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "etcd")
NO_ETCD: Object = {"members": [], "statuses": {}, "alarms": [], "memberListAgrees": None, "leader": None}


def quorum(voters: int) -> int:
    """The majority of so many voters."""
    return voters // 2 + 1


class World:
    """Members, machines and marks of a snapshot. ``good`` are the IDs of voters that are proven healthy."""

    def __init__(self, snapshot: Object) -> None:
        self.snapshot = snapshot
        self.workload = snapshot["workload"]
        self.spec = snapshot["controlPlane"]["spec"]
        self.external = "external" in self.spec["kubeadmConfigSpec"]["clusterConfiguration"].get("etcd", {})
        self.etcd = NO_ETCD if self.external or not self.workload["etcd"] else self.workload["etcd"]
        self.members = {each["id"]: each for each in self.etcd["members"]}
        self.voters = {key for key, each in self.members.items() if not each["isLearner"]}
        self.good = good(self.etcd)
        self.unfinished = {key for key, each in self.members.items() if each["isLearner"] or not each["name"]}
        self.names = {each["name"]: key for key, each in self.members.items() if each["name"]}
        self.machines = {each["machine"]["metadata"]["name"]: each["machine"] for each in snapshot["machines"]}
        self.entries = {each["machine"]["metadata"]["name"]: each for each in snapshot["machines"]}
        self.states = {
            name: machine["status"].get("bootstrap", {}).get("state", "") for name, machine in self.machines.items()
        }
        self.deleting = {name for name, each in self.machines.items() if "deletionTimestamp" in each["metadata"]}
        self.live = set(self.machines) - self.deleting
        self.joined = {name for name in self.live if self.states[name] == "Succeeded"}
        self.latched = any(
            snapshot[owner]["status"].get("initialization", {}).get("controlPlaneInitialized")
            for owner in ("cluster", "controlPlane")
        )
        self.recorded = IN_PROGRESS in snapshot["controlPlane"]["metadata"]["annotations"]

    def works(self, name: str) -> bool:
        """Whether a kubelet that is not silent reports every static pod as running and ready."""
        node = next((each for each in self.workload["nodes"] if each["name"] == name), None)
        pods = self.workload["pods"].get(name, {})
        wanted = COMPONENTS[:3] if self.external else COMPONENTS
        return (
            node is not None
            and node["ready"] != "Unknown"
            and all(pods.get(each, {}).get("phase") == "Running" and pods[each]["ready"] for each in wanted)
        )

    def well(self, name: str) -> bool:
        """Whether a machine works and its member is good."""
        return self.works(name) and (self.external or self.names.get(name) in self.good)

    def conditions(self, name: str) -> dict[str, str]:
        """A machine's stored conditions."""
        return {each["type"]: each["status"] for each in self.machines[name]["status"].get("conditions", [])}

    def marked(self, name: str) -> bool:
        """Whether a machine is to be remediated."""
        stored = self.conditions(name)
        return (
            stored.get("HealthCheckSucceeded") == "False" and stored.get("OwnerRemediated") == "False"
        ) or "cluster.x-k8s.io/remediate-machine" in self.machines[name]["metadata"]["annotations"]

    def outdated(self, name: str) -> bool:
        """Whether a machine's version or config differs from the spec, as the generator makes them differ."""
        config = self.entries[name]["kubeadmConfig"]["spec"]
        return self.machines[name]["spec"]["version"] != self.spec["version"] or "preKubeadmCommands" in config

    def witnessed(self) -> bool:
        """Whether a second machine answered, and all who did see the same members in the same health."""
        heard = [
            each
            for each in self.workload.get("witnesses", [])
            if each["reachable"] and each["machine"] != self.workload["via"]
        ]
        return bool(heard) and all(
            {key["id"] for key in each["etcd"]["members"]} == set(self.members) and good(each["etcd"]) == self.good
            for each in heard
        )

    def change_allowed(self, member: str) -> bool:
        """Whether a member may go, counted from the raw list alone.

        The invariants: docs/reference/invariants.md, "Quorum stays", "The last voter stays".
        """
        after = self.voters - {member}
        return (
            bool(after)
            and self.etcd["memberListAgrees"] is True
            and self.etcd["leader"] is not None
            and (self.unfinished <= {member} or member in self.unfinished)
            and len(self.good) >= quorum(len(self.voters))
            and len(self.good - {member}) >= quorum(len(after))
        )


def good(etcd: Object) -> set[str]:
    """The IDs of voters that are named, answer for themselves, and have no alarm."""
    alarms = {each["memberID"] for each in etcd["alarms"]}
    return {
        each["id"]
        for each in etcd["members"]
        if not each["isLearner"]
        and each["name"]
        and each["id"] not in alarms
        and etcd["statuses"].get(each["id"], {}).get("healthy") is True
    }
