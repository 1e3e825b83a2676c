# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults of what machines are reached by and joined with, of drains and texts (docs/faults.md): each safe answer, then the remedy."""

from __future__ import annotations

import contextlib
import json
import shlex
import subprocess
import typing as t
from pathlib import Path

import pytest
import yaml
from ended_certificates import RENEW, end_certificates
from inflicted import Cluster
from killed_runs import KilledRuns
from lab_kubernetes import BUDGETS, image_named
from machines import Machines
from process_samples import Samples
from workspace import Run, Workspace, cluster_documents

NAME = "lab-mach"
SINGLE = "lab-mach-one"
DOMAINS = ("a", "b", "c")
DRAIN_SECONDS = 15
CONNECT_SECONDS = 3.0
# What a sample ten times a second, and a process's start and end on a busy host, add to what is measured.
SAMPLING_SECONDS = 0.7
NOBODY = "https://10.255.255.1:6443"
TEMPLATE = '{{ lookup("pipe", "touch /tmp/owned") }}{{ 7*7 }}'
HOSTILE = "x'\"; $(touch /tmp/owned) {{ 7*7 }}"


def play(workspace: Workspace, playbook: str, *arguments: str, cluster: str = NAME) -> Run:
    """Run a playbook for one cluster."""
    return workspace.playbook(playbook, "--limit", cluster, *arguments)


@pytest.fixture(scope="module")
def single(workspace: Workspace) -> Machines:
    """The machine of a control plane of one."""
    workspace.manifest(SINGLE, replicas=1)
    workspace.playbook("reconcile", "--limit", SINGLE).succeeded()
    return Machines(workspace, SINGLE)


@pytest.fixture(scope="module")
def machines(workspace: Workspace) -> Machines:
    """Three machines, which live through every fault here."""
    documents = cluster_documents(NAME, failure_domains=DOMAINS)
    template = documents[1]["spec"]["machineTemplate"]["spec"]
    template["deletion"] = {"nodeDrainTimeoutSeconds": DRAIN_SECONDS}
    workspace.write(NAME, yaml.safe_dump_all(documents, sort_keys=False))
    play(workspace, "reconcile").succeeded()
    return Machines(workspace, NAME)


def whole(workspace: Workspace, machines: Machines) -> None:
    """Three machines, members and Ready Nodes of the same names, and nothing to do."""
    assert play(workspace, "reconcile").succeeded().recap(NAME)["changed"] == 0
    names = machines.names()
    assert len(names) == 3
    assert [member["name"] for member in machines.etcd_members()] == names
    assert machines.ready_nodes() == names


def tokens(machines: Machines) -> list[str]:
    """The bootstrap tokens in the workload cluster (kubeadm init's own ends by itself), and kubeadm's uploaded certificates: there are none."""
    secrets = json.loads(machines.kubectl("-n", "kube-system", "get", "secrets", "-o", "json"))["items"]
    names = [str(each["metadata"]["name"]) for each in secrets]
    return [each for each in names if each.startswith("bootstrap-token-") or each == "kubeadm-certs"]


def stored(workspace: Workspace, cluster: str = NAME) -> list[dict[str, t.Any]]:
    """A cluster's Machines."""
    label = "cluster.x-k8s.io/cluster-name"
    return [each for each in workspace.objects("Machine") if each["metadata"]["labels"][label] == cluster]


def newest(workspace: Workspace) -> str:
    """The machine that is asked first."""
    made = sorted(
        (str(each["metadata"]["creationTimestamp"]), str(each["metadata"]["name"]))
        for each in workspace.objects("Machine")
    )
    return made[-1][1]


def cluster_info(machines: Machines) -> dict[str, t.Any]:
    """The kubeconfig that joining machines read."""
    found = json.loads(machines.kubectl("-n", "kube-public", "get", "configmap", "cluster-info", "-o", "json"))
    return dict(yaml.safe_load(found["data"]["kubeconfig"]))


def let_it_name(machines: Machines, server: str) -> str:
    """Have cluster-info name another server; return the one that it named."""
    kubeconfig = cluster_info(machines)
    [entry] = kubeconfig["clusters"]
    before, entry["cluster"]["server"] = entry["cluster"]["server"], server
    patch = json.dumps({"data": {"kubeconfig": yaml.safe_dump(kubeconfig)}})
    machines.kubectl("-n", "kube-public", "patch", "configmap", "cluster-info", "--type=merge", "-p", patch)
    return str(before)


def replaced(machines: Machines, before: t.Sequence[str], victim: str) -> bool:
    """Whether this machine alone is another one."""
    return set(before) - set(machines.names()) == {victim} and len(machines.names()) == len(before)


@pytest.mark.full
def test_45_certificates_that_have_ended_everywhere(workspace: Workspace, single: Machines) -> None:
    """No API server answers any more: told why, with the ends on the disks, before anything is done; renewed by hand as it says, all goes on."""
    [name] = [str(each["metadata"]["name"]) for each in stored(workspace, SINGLE)]
    end_certificates(workspace, single, SINGLE, name)
    before = single.ssh(name, "cat /etc/machine-id; sha256sum /etc/kubernetes/manifests/*")
    for playbook in ("plan", "reconcile"):
        run = play(workspace, playbook, cluster=SINGLE).failed()
        assert f"certificates have ended on machine {name} (admin.conf " in run.text, run.output[-6000:]
        assert "kubeadm certs renew all" in run.text
    assert single.ssh(name, "cat /etc/machine-id; sha256sum /etc/kubernetes/manifests/*") == before
    assert [each["metadata"]["name"] for each in stored(workspace, SINGLE)] == [name]
    single.ssh(name, RENEW)
    assert play(workspace, "reconcile", cluster=SINGLE).succeeded().recap(SINGLE)["changed"] == 0
    assert name in single.kubectl("get", "nodes")


@pytest.mark.full
def test_56_a_machine_that_was_built_anew_and_is_empty(workspace: Workspace, single: Machines) -> None:
    """The only one, under the same name: what was initialized once is never initialized again."""
    [name] = [str(each["metadata"]["name"]) for each in stored(workspace, SINGLE)]
    empty = "systemctl stop kubelet; pkill -x kube-apiserver; pkill -x etcd; rm -rf /etc/kubernetes /var/lib/etcd/member /var/lib/kubeadm-control-plane"
    single.ssh(name, f"{empty}; pkill -x kube-controller; pkill -x kube-scheduler; true")
    for playbook in ("plan", "reconcile"):
        run = play(workspace, playbook, "-e", "control_plane_wait_timeout=5", cluster=SINGLE)
        assert "initialize the control plane" not in run.text and f"{name}: " in run.text, run.output[-6000:]
    assert run.returncode != 0
    assert single.ssh(name, "ls /etc/kubernetes /var/lib/etcd/member 2>/dev/null", check=False) == ""
    assert [each["metadata"]["name"] for each in stored(workspace, SINGLE)] == [name]
    play(
        workspace,
        "delete",
        "-e",
        f"control_plane_delete={SINGLE}",
        "-e",
        "control_plane_ignore_worker_nodes=true",
        cluster=SINGLE,
    ).succeeded()
    (workspace.folder / "clusters" / f"{SINGLE}.yaml").unlink()


@pytest.mark.full
def test_46_certificates_that_have_ended_on_one_machine(workspace: Workspace, machines: Machines) -> None:
    """The machine is named, with both ways out; nothing is changed beside it, and as a remedy it is replaced."""
    before, members = machines.names(), machines.etcd_members()
    victim = next(name for name in before if name not in (machines.etcd_leader(), newest(workspace)))
    end_certificates(workspace, machines, NAME, victim)
    machines.lose(victim)
    run = play(workspace, "reconcile", "-e", "control_plane_wait_timeout=90").failed()
    assert f"certificates have ended on machine {victim} (admin.conf " in run.text, run.output[-6000:]
    assert "kubeadm certs renew all" in run.text and f"remediate -e control_plane_machines={victim}" in run.text
    assert machines.names() == before
    assert [each["ID"] for each in machines.etcd_members()] == [each["ID"] for each in members]
    play(workspace, "remediate", "-e", f"control_plane_machines={victim}").succeeded()
    assert replaced(machines, before, victim)
    whole(workspace, machines)


@pytest.mark.full
def test_55_63_a_machine_that_cannot_be_reached(workspace: Workspace, machines: Machines, artefacts: Path) -> None:
    """The first that is asked is cut off: another one answers, each call costs the connect timeout, nobody takes it for gone."""
    before, members = machines.names(), machines.etcd_members()
    victim = newest(workspace)
    host = str(machines.infrastructure(victim)["status"]["connection"]["host"])
    link = machines.cut_network(victim)
    try:
        with Samples() as samples:
            status = play(workspace, "status").succeeded()
        run = play(workspace, "reconcile", "-e", "control_plane_wait_timeout=5").failed()
        plan = play(workspace, "plan")
        assert (machines.names(), [each["ID"] for each in machines.etcd_members()]) == (
            before,
            [each["ID"] for each in members],
        )
    finally:
        machines.mend_network(victim, link)
    waits = samples.lifetimes("ssh", host)
    (artefacts / "unreachable.json").write_text(json.dumps({"seconds": waits}))
    assert waits and max(waits) <= CONNECT_SECONDS + SAMPLING_SECONDS
    assert victim in status.text and "Safe now?" in run.text and victim in run.text
    assert "remove machine" not in plan.text
    whole(workspace, machines)


@pytest.mark.full
def test_57_72_a_host_whose_name_is_another_and_hostile(workspace: Workspace, machines: Machines) -> None:
    """What a host says of itself is data: nothing is run or templated by it, and the machine is known by its machine-id."""
    before = machines.names()
    [first, *_others] = before
    machines.ssh(first, f"python3 - <<'END'\nimport socket\nsocket.sethostname({HOSTILE!r})\nEND")
    for annotation in ("cluster.x-k8s.io/odd", "example.org/odd"):
        machines.kubectl("annotate", "node", first, f"{annotation}={TEMPLATE}")
    try:
        assert machines.ssh(first, "uname -n").strip() == HOSTILE
        run = play(workspace, "reconcile", "-vvv").succeeded()
        status = play(workspace, "status", "-v").succeeded()
        assert run.recap(NAME)["changed"] == 0 and "nothing to do" in status.text
        for name in before:
            assert machines.ssh(name, "ls /tmp/owned", check=False) == ""
        assert subprocess.run(["test", "-e", "/tmp/owned"], check=False).returncode != 0
        assert machines.names() == before
    finally:
        machines.ssh(first, f"hostname {first}")
        for annotation in ("cluster.x-k8s.io/odd", "example.org/odd"):
            machines.kubectl("annotate", "node", first, f"{annotation}-")
    whole(workspace, machines)


@pytest.mark.full
def test_64_a_member_that_does_not_answer_for_a_moment(workspace: Workspace, machines: Machines) -> None:
    """One look finds a member dead, a later one finds it well: it is well, and nothing is held up."""
    asked = newest(workspace)
    victim = next(name for name in machines.names() if name not in (machines.etcd_leader(), asked))
    runs = KilledRuns(
        workspace,
        workspace.command("reconcile", "--limit", NAME),
        workspace.folder / "moment",
    )
    machines.ssh(victim, "pkill -STOP -x etcd")
    # It goes on when the machine is asked to look for longer, and its first look then has had its own timeout of 3 s.
    watcher = (
        f'until [ "$(grep -c "before node node_observe" {runs.coming_trace})" -ge 2 ]; do sleep 0.1; done 2>/dev/null; '
        f"sleep 6; {shlex.join(machines.ssh_words(victim))} pkill -CONT -x etcd"
    )
    thawing = subprocess.Popen(["bash", "-c", watcher])
    try:
        points, _seconds, run = runs.undisturbed()
        assert thawing.wait(timeout=30) == 0
    finally:
        thawing.kill()
        machines.ssh(victim, "pkill -CONT -x etcd")
    # What seemed dead was looked at again: one call is enough where nothing does.
    assert len([each for each in points if "before node node_observe" in each]) >= 2
    assert run.succeeded().recap(NAME)["changed"] == 0
    status = workspace.status(NAME)
    assert status["decision"]["action"] == "none" and all(each["healthy"] for each in status["etcd"]["members"])
    whole(workspace, machines)


@pytest.mark.full
def test_44_a_token_that_has_ended_when_the_run_goes_on(workspace: Workspace, machines: Machines) -> None:
    """A run dies when it has its token, and that ends: the next one makes its own, and deletes it after the join."""
    before, others = machines.names(), set(tokens(machines))
    [victim, *_others] = before
    runs = KilledRuns(
        workspace,
        workspace.command("remediate", "--limit", NAME, "-e", f"control_plane_machines={victim}"),
        workspace.folder / "token",
    )
    stop, _run = runs.stopped_at("join > machine_bootstrap: after node bootstrap_token")
    runs.end()
    assert stop.point
    [token] = set(tokens(machines)) - others
    made = json.loads(machines.kubectl("-n", "kube-system", "get", "secret", token, "-o", "json"))
    assert "expiration" in made["data"]
    machines.kubectl("-n", "kube-system", "delete", "secret", token)
    play(workspace, "reconcile").succeeded()
    assert set(tokens(machines)) <= others, "each join's token is deleted after it"
    assert replaced(machines, before, victim)
    whole(workspace, machines)


@pytest.mark.full
def test_34_69_a_budget_that_never_allows_and_a_wrong_cluster_info(workspace: Workspace, machines: Machines) -> None:
    """The removal says which budget holds its drain and goes on at its bound; cluster-info is corrected with it, so that the next joins."""
    before = machines.names()
    [victim, *_others] = before
    with budget(machines, victim):
        server = let_it_name(machines, NOBODY)
        run = play(workspace, "remediate", "-e", f"control_plane_machines={victim}").succeeded()
    assert "disruption budget web" in run.text and f"{DRAIN_SECONDS} s" in run.text, run.output[-6000:]
    assert cluster_info(machines)["clusters"][0]["cluster"]["server"] == server
    assert replaced(machines, before, victim)
    whole(workspace, machines)


@pytest.mark.full
def test_34_a_join_alone_is_told_the_right_server(workspace: Workspace, machines: Machines) -> None:
    """Nothing is removed before it: what joining machines are told is put right as the first thing of the join."""
    before = machines.names()
    [victim, *_others] = before
    workspace.playbook(
        "remediate", "-e", f"control_plane_machines={victim}", "-e", "control_plane_step_limit=1"
    ).failed()
    assert victim not in machines.names()
    server = let_it_name(machines, NOBODY)
    plan = play(workspace, "plan").succeeded()
    assert "cluster-info" in plan.text
    play(workspace, "reconcile").succeeded()
    assert cluster_info(machines)["clusters"][0]["cluster"]["server"] == server
    whole(workspace, machines)


@pytest.mark.full
def test_75_images_that_are_missing_where_none_can_be_pulled(workspace: Workspace, machines: Machines) -> None:
    """The new machine's kubeadm is not started, though its image asks to ignore ImagePull: etcd gets no voter that never starts."""
    cluster = Cluster(workspace, machines, NAME)
    before, members = machines.names(), cluster.members()
    etcd = machines.ssh(before[0], "ctr -n k8s.io images ls -q | grep '/etcd:'").strip()
    path = workspace.folder / "clusters" / f"{NAME}.yaml"
    good = path.read_text()
    documents = list(yaml.safe_load_all(good))
    documents[1]["spec"]["kubeadmConfigSpec"]["preKubeadmCommands"] = [f"ctr -n k8s.io images rm {etcd}"]
    path.write_text(yaml.safe_dump_all(documents, sort_keys=False))
    run = play(workspace, "reconcile").failed()
    assert (
        f"[ERROR Images]: not on this machine, and not to be pulled from here: {etcd}; kubeadm was not started"
        in run.text
    )
    assert set(before) < set(machines.names()) and machines.ready_nodes() == before
    [made] = set(machines.names()) - set(before)
    cluster.require_learner(made, members)
    path.write_text(good)
    play(workspace, "reconcile").succeeded()
    assert machines.names() == before and cluster.members() == members
    whole(workspace, machines)


@contextlib.contextmanager
def budget(machines: Machines, node: str) -> t.Iterator[None]:
    """A pod on a Node that its budget lets nobody evict, meanwhile."""
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web", "labels": {"app": "web"}},
        "spec": {
            "nodeName": node,
            "terminationGracePeriodSeconds": 1,
            "tolerations": [{"operator": "Exists"}],
            "containers": [{"name": "pause", "image": image_named("pause")}],
        },
    }
    limit = {
        "apiVersion": BUDGETS,
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "web"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}},
    }
    for document in (pod, limit):
        machines.ssh(
            node, f"echo '{json.dumps(document)}' | kubectl --kubeconfig /etc/kubernetes/admin.conf apply -f -"
        )
    machines.kubectl("wait", "--for=condition=Ready", "pod/web", "--timeout=50s")
    try:
        yield
    finally:
        machines.kubectl("delete", "pdb", "web", "--ignore-not-found")
