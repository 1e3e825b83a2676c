# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One control plane of stacked etcd on real machines, 1→3 with every run killed, then another version, then one machine again.

An independent watcher reads etcd and the API all along.
"""

from __future__ import annotations

import base64
import json
import typing as t
from collections import Counter
from pathlib import Path

import pytest
import yaml
from aftermath import overlaps, problems
from availability import Step, epoch, faults, steps_of
from etcd_cluster import until
from killed_runs import OUTWARD, KilledRuns
from machines import Machines
from watcher import Watch
from workspace import VERSION, Workspace

from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn.endpoint import lifecycle
from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn.layout import DEFAULT_DIRECTORY, Layout

NAME = "lab-scale"
# The same source under another stamp: kubeadm, kubelet and the images' tags agree on it (it is not Kubernetes 1.21).
NEXT = "v1.21.0"
DOMAINS = ("a", "b", "c")
DELETE = "cluster.x-k8s.io/delete-machine"
HOOK = "pre-drain.delete.hook.machine.cluster.x-k8s.io/backup"
SNAPSHOTS = "/var/lib/kubeadm-control-plane/etcd-snapshots"
Object = dict[str, t.Any]


@pytest.fixture(scope="module")
def machines(workspace: Workspace) -> Machines:
    """The cluster's machines; one to begin with, in one of three failure domains."""
    workspace.manifest(NAME, replicas=1, failure_domains=DOMAINS)
    workspace.playbook("reconcile").succeeded()
    return Machines(workspace, NAME)


@pytest.fixture(scope="module")
def watch(workspace: Workspace, machines: Machines) -> t.Iterator[Watch]:
    """The watcher, from the first machine on."""
    assert len(machines.names()) == 1
    with Watch(workspace.store, NAME, workspace.folder) as running:
        # It has counted the voters before there is a second one.
        until("the watcher sees etcd", lambda: running.log.exists() and '"voters": 1' in running.log.read_text())
        yield running


def edited(workspace: Workspace, replicas: int) -> None:
    """Have the manifest edited, as a user does."""
    run = workspace.playbook("scale", "-e", f"control_plane_replicas={replicas}").succeeded()
    documents = yaml.safe_load_all((workspace.folder / "clusters" / f"{NAME}.yaml").read_text())
    assert next(each for each in documents if each["kind"] == "KubeadmControlPlane")["spec"]["replicas"] == replicas
    assert run.recap(NAME)["changed"] == 1


def scale(workspace: Workspace, replicas: int) -> None:
    """Have the manifest edited, then reconcile."""
    edited(workspace, replicas)
    workspace.playbook("reconcile").succeeded()


def wants_version(workspace: Workspace, version: str) -> None:
    """Edit the version in the manifest, and nothing else."""
    path = workspace.folder / "clusters" / f"{NAME}.yaml"
    documents = list(yaml.safe_load_all(path.read_text()))
    next(each for each in documents if each["kind"] == "KubeadmControlPlane")["spec"]["version"] = version
    path.write_text(yaml.safe_dump_all(documents))


def journal(workspace: Workspace) -> list[Object]:
    """The journal's entries."""
    text = (workspace.store / "default" / "journal" / f"{NAME}.jsonl").read_text()
    return [json.loads(line) for line in text.splitlines()]


def steps(workspace: Workspace) -> list[Step]:
    """The joins and removals that were begun, in their order."""
    return [each for each in steps_of(journal(workspace), 0.0) if each.action in ("join", "remove")]


def domains(workspace: Workspace) -> dict[str, str]:
    """The failure domain of each machine."""
    return {each["metadata"]["name"]: each["spec"]["failureDomain"] for each in workspace.objects("Machine")}


def all_agree(workspace: Workspace, machines: Machines, replicas: int) -> None:
    """Machines, members, Nodes, the endpoint's servers and kubeadm's records are the same; nothing is left to do."""
    names = machines.names()
    assert len(names) == replicas
    assert workspace.playbook("reconcile").succeeded().recap(NAME)["changed"] == 0
    assert machines.names() == names
    members = machines.etcd_members()
    assert [each["name"] for each in members] == names and not any(each.get("isLearner") for each in members)
    nodes = json.loads(machines.kubectl("get", "nodes", "-o", "json"))["items"]
    assert sorted(each["metadata"]["name"] for each in nodes) == names
    until("all Nodes are Ready", lambda: machines.ready_nodes() == names)
    served = lifecycle.look(Layout(DEFAULT_DIRECTORY), "default", NAME)
    assert served is not None and sorted(each["name"] for each in served["servers"]) == names

    config = json.loads(machines.kubectl("-n", "kube-system", "get", "configmap", "kubeadm-config", "-o", "json"))
    endpoints = yaml.safe_load(config["data"]["ClusterStatus"])["apiEndpoints"]
    addresses = {name: machines.infrastructure(name)["status"]["connection"]["host"] for name in names}
    assert {name: each["advertiseAddress"] for name, each in endpoints.items()} == addresses

    info = json.loads(machines.kubectl("-n", "kube-public", "get", "configmap", "cluster-info", "-o", "json"))
    [published] = yaml.safe_load(info["data"]["kubeconfig"])["clusters"]
    secrets = {each["metadata"]["name"]: each["data"] for each in workspace.objects("Secret")}
    assert published["cluster"]["server"] == f"https://{served['host']}:{served['port']}"
    authorities = published["cluster"]["certificate-authority-data"], secrets[f"{NAME}-ca"]["tls.crt"]
    assert len({base64.b64decode(each).strip() for each in authorities}) == 1

    placed = Counter(dict.fromkeys(DOMAINS, 0))
    placed.update(domains(workspace).values())
    assert set(placed) == set(DOMAINS) and max(placed.values()) - min(placed.values()) <= 1, placed


def snapshots(machines: Machines) -> dict[str, Object]:
    """The facts of the snapshots that the machines keep, by machine and file; each of them, and the folder, is root's alone."""
    found = {}
    for name in machines.names():
        listed = machines.ssh(name, f"find {SNAPSHOTS} -printf '%y %U %m %p\\n' 2>/dev/null || true").splitlines()
        for line in listed:
            kind, owner, mode, path = line.split()
            assert (owner, mode) == ("0", "700" if kind == "d" else "600"), line
            if path.endswith(".db"):
                facts = machines.ssh(name, f"cat {path.removesuffix('.db')}.json")
                found[f"{name}:{path}"] = json.loads(facts)
    return found


def a_snapshot_survived(workspace: Workspace, machines: Machines) -> None:
    """What was taken in the last removal is on a machine that stayed, restored once by etcd's own tool."""
    removal = [each for each in steps(workspace) if each.action == "remove"][-1]
    kept = {path: facts for path, facts in snapshots(machines).items() if "-before-change-" in path}
    [within] = [path for path, facts in kept.items() if removal.begin <= epoch(facts["taken_at"]) <= removal.end]
    assert kept[within]["verified_by"] in ("etcdctl", "etcdutl") and kept[within]["revision"] > 0
    name, _colon, path = within.partition(":")
    assert machines.ssh(name, f"sha256sum {path}").split()[0] == kept[within]["sha256"]


def handed_over(machines: Machines, member: str) -> bool:
    """Whether a member that stayed was told by that one to lead, before that one was removed: etcd's own log."""
    for name in machines.names():
        log = machines.ssh(name, "cat /var/log/pods/kube-system_etcd-*/etcd/*.log")
        told, removed = log.find(f"received MsgTimeoutNow from {member}"), log.find(f"removed member {member}")
        assert removed > 0, f"etcd on {name} does not tell that {member} was removed"
        if 0 < told < removed:
            return True
    return False


@pytest.mark.usefixtures("watch")
def test_one_to_three_with_every_run_killed(workspace: Workspace, machines: Machines) -> None:
    """Each run is killed after the next entry, call or task after which none was killed before; before the second voter joined, a snapshot was taken."""
    [first] = machines.names()
    edited(workspace, 3)
    command = workspace.command("reconcile")
    record = KilledRuns(workspace, command, workspace.folder / "runs", only=OUTWARD).until_converged()
    assert record.missed(OUTWARD) == [] and record.failures == [], "a rerun failed instead of going on"
    assert {"join > machine_bootstrap: after node node_bootstrap", "decide: after journal intent join"} <= {*record.met}
    assert first in machines.names() and problems(workspace, machines, NAME, 3) == []
    all_agree(workspace, machines, 3)
    assert any(path.startswith(f"{first}:") for path in snapshots(machines))


def test_nothing_secret_is_left_by_killed_runs(workspace: Workspace, machines: Machines) -> None:
    """Not in what they printed, not as files of modules on the machines."""
    secrets = machines.secret_values()
    for output in sorted((workspace.folder / "runs").rglob("output-*")):
        text = output.read_text()
        assert not [key for key, value in secrets.items() if value in text], output
    for name in machines.names():
        command = "find /run/kubeadm /run/kubeadm-control-plane/tmp /root/.ansible -type f 2>/dev/null || true"
        assert machines.ssh(name, command).strip() == ""


@pytest.mark.full
@pytest.mark.usefixtures("watch")
def test_three_to_five(workspace: Workspace, machines: Machines) -> None:
    """The machines there are stay, and no failure domain gets a third one."""
    before = machines.names()
    scale(workspace, 5)
    assert set(before) < set(machines.names())
    all_agree(workspace, machines, 5)


@pytest.mark.full
@pytest.mark.usefixtures("watch")
def test_five_to_three(workspace: Workspace, machines: Machines) -> None:
    """The machine that a person marked goes first although it leads; another one leads before it goes."""
    placed = domains(workspace)
    crowded = [name for name in sorted(placed) if list(placed.values()).count(placed[name]) == 2]
    # Neither the oldest, which would go anyway, nor out of the failure domain that has only one.
    born = {each["metadata"]["name"]: each["metadata"]["creationTimestamp"] for each in workspace.objects("Machine")}
    victim = max(crowded, key=lambda name: born[name])
    [identity] = [f"{int(each['ID']):x}" for each in machines.etcd_members() if each["name"] == victim]
    machines.let_lead(victim)
    machines.annotate(victim, DELETE)
    scale(workspace, 3)
    assert [each.target for each in steps(workspace) if each.action == "remove"][-2] == victim
    assert victim not in machines.names() and handed_over(machines, identity)
    all_agree(workspace, machines, 3)
    a_snapshot_survived(workspace, machines)


@pytest.mark.usefixtures("watch")
def test_another_version(workspace: Workspace, machines: Machines) -> None:
    """Three machines of v1.20.2 become three of v1.21.0, one at a time; meanwhile the status says which are outdated and why."""
    before = machines.names()
    wants_version(workspace, NEXT)
    run = workspace.start("reconcile")

    def first_of_the_new_version() -> t.Optional[str]:
        assert run.poll() is None, (workspace.folder / "reconcile.log").read_text()[-6000:]
        found = [each for each in workspace.objects("Machine") if each["spec"]["version"] == NEXT]
        done = [each for each in found if each.get("status", {}).get("bootstrap", {}).get("state") == "Succeeded"]
        return str(done[0]["metadata"]["name"]) if done else None

    new = until("a machine of the new version joined", first_of_the_new_version, 300)
    said = workspace.playbook("status").succeeded().output
    old = [name for name in machines.names() if name in before]
    told = " ".join(
        line for line in said.splitlines() if f": UpToDate False: * Version {VERSION}, {NEXT} required" in line
    )
    assert old and all(name in told for name in old) and new not in told, said
    assert run.wait(timeout=600) == 0, (workspace.folder / "reconcile.log").read_text()[-6000:]
    assert not set(machines.names()) & set(before)
    all_agree(workspace, machines, 3)
    assert sorted(domains(workspace).values()) == sorted(DOMAINS)
    assert workspace.status(NAME)["version"] == {"desired": NEXT, "running": [NEXT]}

    config = json.loads(machines.kubectl("-n", "kube-system", "get", "configmap", "kubeadm-config", "-o", "json"))
    assert yaml.safe_load(config["data"]["ClusterConfiguration"])["kubernetesVersion"] == NEXT
    kubelet = machines.kubectl("-n", "kube-system", "get", "configmap", "kubelet-config-1.21", "-o", "jsonpath={.data}")
    assert "kubelet" in kubelet


def test_kube_proxy_followed_after_the_last_machine(workspace: Workspace, machines: Machines) -> None:
    """Its image is the new version's, once, as the run's last step."""
    proxy = json.loads(machines.kubectl("-n", "kube-system", "get", "daemonset", "kube-proxy", "-o", "json"))
    assert proxy["spec"]["template"]["spec"]["containers"][0]["image"].endswith(f"/kube-proxy:{NEXT}")
    actions = [each["action"] for each in journal(workspace) if each["event"] == "intent"]
    assert actions[-7:] == [*["join", "remove"] * 3, "updateAddons"]


@pytest.mark.usefixtures("watch")
def test_three_to_one(workspace: Workspace, machines: Machines) -> None:
    """Down to a single member, which needs nobody else any more; the machine that a person marked goes first although it leads.

    Somebody's hook holds that before anything is drained; without it the next run goes on.
    """
    # Not the oldest, which would go anyway.
    born = {each["metadata"]["name"]: each["metadata"]["creationTimestamp"] for each in workspace.objects("Machine")}
    before = sorted(machines.names(), key=lambda name: born[name])
    machines.let_lead(before[-1])
    machines.annotate(before[-1], DELETE)
    edited(workspace, 1)
    with machines.annotated(before[-1], HOOK):
        held = workspace.playbook("reconcile", "-e", "control_plane_wait_timeout=2").failed()
        assert HOOK in held.text and before[-1] in held.text
        assert len(machines.etcd_members()) == 3 and machines.ready_nodes() == machines.names()
    workspace.playbook("reconcile").succeeded()
    assert [each.target for each in steps(workspace) if each.action == "remove"][-2] == before[-1]
    assert set(machines.names()) < set(before)
    all_agree(workspace, machines, 1)
    a_snapshot_survived(workspace, machines)


def test_no_two_node_acts_overlap(workspace: Workspace, machines: Machines) -> None:
    """By the journal: every step was over before the next one began, by its own run's word or as interrupted."""
    assert len(machines.names()) == 1
    assert overlaps(workspace, NAME) == []
    assert {each.result for each in steps(workspace)} == {"succeeded", "interrupted"}
    done = [each.action for each in steps(workspace) if each.result == "succeeded"]
    # The first of the last two machines has two steps: a hook held it after the first.
    assert done[-9:] == [*["join", "remove"] * 3, *["remove"] * 3] and done[:2] == ["join", "join"]


def test_nothing_confirmed_was_lost(watch: Watch, artefacts: Path) -> None:
    """What was written through the endpoint meanwhile is there, and at each look a majority ran that nobody worked on."""
    seen = watch.stop()
    (artefacts / "scale.json").write_text(json.dumps(seen, indent=2))
    assert faults(seen) == []
