# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What upgrading one node in place takes, by the plain commands and by an Action; prints JSON. About five minutes, as root.

Two control planes of one node each, made alike; the new version's programs and images are on both beforehand.
Plain are the commands of kubeadm's own page as a person types them, waits included: kubeadm, plan, apply, kubelet and kubectl, its restart,
and until the Node is Ready with the new kubelet. What is compared is the Node's Task, from its first command's start to its last one's end, health gates
included; the whole run (asking the cluster, the plan, the lock, the record) is told beside it, for it costs the same for any number of nodes.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
import typing as t
from datetime import datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from actions_on_nodes import NodeActions
from machines import Machines
from next_version import BINARIES, FOLDER, NextVersion
from workspace import Workspace

NAMES = ("bench-plain", "bench-action")
NEXT = "v1.21.0"
ASKED = 1.15
KUBECTL = "kubectl --kubeconfig /etc/kubernetes/admin.conf"
READY = (
    f"until {KUBECTL} get node %s -o jsonpath='{{.status.nodeInfo.kubeletVersion}} {{.status.conditions[?(@.type==\"Ready\")].status}}'"
    f" 2>/dev/null | grep -qx '{NEXT} True'; do sleep 0.5; done"
)


def plain(machines: Machines, node: str) -> dict[str, float]:
    """The commands of kubeadm's page, over ssh; seconds of each."""
    ignore = "--ignore-preflight-errors=ImagePull,CoreDNSMigration,CoreDNSUnsupportedPlugins"
    steps = {
        "kubeadm": f"install -m 0755 {FOLDER}/{NEXT}/kubeadm $(command -v kubeadm)",
        "plan": f"kubeadm upgrade plan {NEXT} {ignore}",
        "apply": f"kubeadm upgrade apply {NEXT} --yes {ignore}",
        "kubelet": f"install -m 0755 {FOLDER}/{NEXT}/kubelet $(command -v kubelet) && "
        f"install -m 0755 {FOLDER}/{NEXT}/kubectl $(command -v kubectl) && systemctl daemon-reload && systemctl restart kubelet",
        "ready": READY % node,
    }
    took = {}
    for name, command in steps.items():
        begin = time.monotonic()
        machines.ssh(node, f"{{ {command}; }} > /root/{name}.log 2>&1", timeout=600)
        took[name] = round(time.monotonic() - begin, 1)
    return took


def clusters(workspace: Workspace) -> dict[str, tuple[Machines, str]]:
    """Two control planes of one node each, with the next version at hand; they stand beside each other, so that both have the same company."""
    for name in NAMES:
        workspace.manifest(name, replicas=1)
    workspace.playbook("reconcile", "--limit", ",".join(NAMES)).succeeded()
    following, made = NextVersion(NEXT), {}
    for name in NAMES:
        machines = Machines(workspace, name)
        [node] = machines.names()
        following.put(machines.ssh_words(node))
        made[name] = machines, node
    return made


def main() -> None:
    """Make both, upgrade one after the other, delete both; print the figures."""
    figures: dict[str, t.Any] = {}
    with tempfile.TemporaryDirectory(prefix="kubeadm-control-plane-bench-") as folder:
        workspace = Workspace(Path(folder) / "user")
        try:
            made = clusters(workspace)
            begin = time.monotonic()
            figures["plain"] = plain(*made["bench-plain"])
            figures["plain_seconds"] = round(time.monotonic() - begin, 1)
            begin = time.monotonic()
            spec = {"upgrade": {"targetVersion": NEXT, "binaries": BINARIES}}
            actions = NodeActions(workspace, "bench-action")
            actions.run("up", spec).succeeded()
            figures["action_seconds"] = round(time.monotonic() - begin, 1)
            figures["action"] = commands(actions)
            figures["node_seconds"] = on_the_node(actions)
        finally:
            workspace.playbook("delete", "--limit", ",".join(NAMES), "-e", f"control_plane_delete={','.join(NAMES)}")
    figures["ratio_upgrade_of_one_node"] = round(figures["node_seconds"] / figures["plain_seconds"], 2)
    figures["ratio_with_the_whole_run"] = round(figures["action_seconds"] / figures["plain_seconds"], 2)
    print(json.dumps({**figures, "asked_for_at_most": {"ratio_upgrade_of_one_node": ASKED}}, indent=2))


def commands(actions: NodeActions) -> dict[str, float]:
    """Seconds of each command by what the Tasks keep, whole seconds."""
    return {
        f"{task['metadata']['name']} {number} {each['name']}": seconds(each["startTime"], each["completionTime"])
        for task in actions.tasks("up")
        for number, each in enumerate(actions.commands(task), 1)
    }


def on_the_node(actions: NodeActions) -> float:
    """Seconds of the Task that upgrades the Node, what is between its commands included."""
    first, *_others, last = actions.commands(actions.tasks("up")[0])
    return seconds(first["startTime"], last["completionTime"])


def seconds(begin: str, end: str) -> float:
    """Between two times of a Task."""
    one, two = (datetime.strptime(each, "%Y-%m-%dT%H:%M:%SZ") for each in (begin, end))
    return (two - one).total_seconds()


if __name__ == "__main__":
    main()
