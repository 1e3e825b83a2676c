# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What must agree about a control plane on local machines, its removals included: asked of machines, etcd, the API and the endpoint."""

from __future__ import annotations

import base64
import json
import re
import typing as t
from collections import Counter

import yaml
from availability import Step, epoch, steps_of
from etcd_cluster import until
from machines import Machines
from workspace import Workspace

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common import kubernetes_facts
from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn.endpoint import lifecycle
from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn.layout import DEFAULT_DIRECTORY, Layout

SNAPSHOTS = "/var/lib/kubeadm-control-plane/etcd-snapshots"
Object = dict[str, t.Any]


class Agreement:
    """One cluster of a workspace."""

    def __init__(self, workspace: Workspace, machines: Machines, cluster: str) -> None:
        self.workspace, self.machines, self.cluster = workspace, machines, cluster

    def wants_replicas(self, replicas: int) -> None:
        """Have the manifest edited by the playbook for it, as a user does."""
        run = self.workspace.playbook("scale", "-e", f"control_plane_replicas={replicas}").succeeded()
        path = self.workspace.folder / "clusters" / f"{self.cluster}.yaml"
        documents = yaml.safe_load_all(path.read_text())
        assert next(each for each in documents if each["kind"] == "KubeadmControlPlane")["spec"]["replicas"] == replicas
        assert run.recap(self.cluster)["changed"] == 1

    def journal(self) -> list[Object]:
        """The journal's entries."""
        text = (self.workspace.store / "default" / "journal" / f"{self.cluster}.jsonl").read_text()
        return [json.loads(line) for line in text.splitlines()]

    def steps(self) -> list[Step]:
        """The joins and removals that were begun, in their order."""
        return [each for each in steps_of(self.journal(), 0.0) if each.action in ("join", "remove")]

    def removed(self) -> list[str]:
        """The machines whose removal came to its end, in that order."""
        return [each.target for each in self.steps() if (each.action, each.result) == ("remove", "succeeded")]

    def domains(self) -> dict[str, str]:
        """The failure domain of each machine."""
        return {each["metadata"]["name"]: each["spec"]["failureDomain"] for each in self.workspace.objects("Machine")}

    def by_age(self) -> list[str]:
        """The machines, the oldest first."""
        born = {
            each["metadata"]["name"]: each["metadata"]["creationTimestamp"]
            for each in self.workspace.objects("Machine")
        }
        return sorted(self.machines.names(), key=lambda name: born[name])

    def all_agree(self, replicas: int, domains: t.Sequence[str]) -> None:
        """Machines, members, Nodes, the endpoint's servers and kubeadm's records are the same; nothing is left to do."""
        machines = self.machines
        names = machines.names()
        assert len(names) == replicas
        assert self.workspace.playbook("reconcile").succeeded().recap(self.cluster)["changed"] == 0
        assert machines.names() == names
        members = machines.etcd_members()
        assert [each["name"] for each in members] == names and not any(each.get("isLearner") for each in members)
        nodes = json.loads(machines.kubectl("get", "nodes", "-o", "json"))["items"]
        assert sorted(each["metadata"]["name"] for each in nodes) == names
        until("all Nodes are Ready", lambda: machines.ready_nodes() == names)
        served = lifecycle.look(Layout(DEFAULT_DIRECTORY), "default", self.cluster)
        assert served is not None and sorted(each["name"] for each in served["servers"]) == names

        config = json.loads(machines.kubectl("-n", "kube-system", "get", "configmap", "kubeadm-config", "-o", "json"))
        recorded = yaml.safe_load(config["data"]["ClusterConfiguration"])
        if kubernetes_facts.has_cluster_status(recorded["kubernetesVersion"]):
            endpoints = yaml.safe_load(config["data"]["ClusterStatus"])["apiEndpoints"]
            addresses = {name: machines.infrastructure(name)["status"]["connection"]["host"] for name in names}
            assert {name: each["advertiseAddress"] for name, each in endpoints.items()} == addresses

        info = json.loads(machines.kubectl("-n", "kube-public", "get", "configmap", "cluster-info", "-o", "json"))
        [published] = yaml.safe_load(info["data"]["kubeconfig"])["clusters"]
        secrets = {each["metadata"]["name"]: each["data"] for each in self.workspace.objects("Secret")}
        assert published["cluster"]["server"] == f"https://{served['host']}:{served['port']}"
        authorities = published["cluster"]["certificate-authority-data"], secrets[f"{self.cluster}-ca"]["tls.crt"]
        assert len({base64.b64decode(each).strip() for each in authorities}) == 1

        placed = Counter(dict.fromkeys(domains, 0))
        placed.update(self.domains().values())
        assert set(placed) == set(domains) and max(placed.values()) - min(placed.values()) <= 1, placed

    def runs_version(self, version: str) -> None:
        """What kubeadm records, the kubelets' configuration and kube-proxy's image are that version's."""
        kubectl = self.machines.kubectl
        assert self.workspace.status(self.cluster)["version"] == {"desired": version, "running": [version]}
        config = json.loads(kubectl("-n", "kube-system", "get", "configmap", "kubeadm-config", "-o", "json"))
        assert yaml.safe_load(config["data"]["ClusterConfiguration"])["kubernetesVersion"] == version
        name = kubernetes_facts.kubelet_config_map_name(version)
        assert "kubelet" in kubectl("-n", "kube-system", "get", "configmap", name, "-o", "jsonpath={.data}")
        proxy = json.loads(kubectl("-n", "kube-system", "get", "daemonset", "kube-proxy", "-o", "json"))
        assert proxy["spec"]["template"]["spec"]["containers"][0]["image"].endswith(f"/kube-proxy:{version}")

    def snapshots(self) -> dict[str, Object]:
        """The facts of the snapshots that the machines keep, by machine and file; each of them, and the folder, is root's alone."""
        found = {}
        for name in self.machines.names():
            command = f"find {SNAPSHOTS} -printf '%y %U %m %p\\n' 2>/dev/null || true"
            for line in self.machines.ssh(name, command).splitlines():
                kind, owner, mode, path = line.split()
                assert (owner, mode) == ("0", "700" if kind == "d" else "600"), line
                if path.endswith(".db"):
                    facts = self.machines.ssh(name, f"cat {path.removesuffix('.db')}.json")
                    found[f"{name}:{path}"] = json.loads(facts)
        return found

    def a_snapshot_survived(self) -> None:
        """What was taken in the last removal is on a machine that stayed, restored once by etcd's own tool."""
        removal = [each for each in self.steps() if each.action == "remove"][-1]
        kept = {path: facts for path, facts in self.snapshots().items() if "-before-change-" in path}
        [within] = [path for path, facts in kept.items() if removal.begin <= epoch(facts["taken_at"]) <= removal.end]
        assert kept[within]["verified_by"] in ("etcdctl", "etcdutl") and kept[within]["revision"] > 0
        name, _colon, path = within.partition(":")
        assert self.machines.ssh(name, f"sha256sum {path}").split()[0] == kept[within]["sha256"]

    def handed_over(self, member: str) -> bool:
        """Whether a member that stayed was told by that one to lead, before that one was removed: etcd's own log."""
        for name in self.machines.names():
            log = self.machines.ssh(name, "cat /var/log/pods/kube-system_etcd-*/etcd/*.log")
            # Since 3.5 its messages have fields.
            told, removed = (
                log.find(f"received MsgTimeoutNow from {member}"),
                re.search(f"removed member.*{member}", log),
            )
            assert removed, f"etcd on {name} does not tell that {member} was removed"
            if 0 < told < removed.start():
                return True
        return False
