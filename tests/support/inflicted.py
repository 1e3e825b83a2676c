# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults that a test inflicts on a cluster's machines, each undone at its end, and what must stand still meanwhile."""

from __future__ import annotations

import base64
import contextlib
import datetime
import json
import shlex
import subprocess
import time
import typing as t

import yaml
from machines import CURL, Machines
from workspace import Run, Workspace

MANIFESTS = "/etc/kubernetes/manifests"
AWAY = "/etc/kubernetes/taken-away"
REMEDIATE = "cluster.x-k8s.io/remediate-machine"
# Long enough for what comes by itself at once, short enough to see that the rest does not.
IMPATIENT = ("-e", "control_plane_wait_timeout=3")
BOUND_SECONDS = 180.0


def eventually(what: str, condition: t.Callable[[], t.Any], seconds: float = BOUND_SECONDS) -> t.Any:
    """Ask until it is so, and return what it is; what can't be asked at the moment is not so yet."""
    end = time.monotonic() + seconds
    while True:
        with contextlib.suppress(AssertionError, ValueError, KeyError, StopIteration, subprocess.TimeoutExpired):
            found = condition()
            if found:
                return found
        assert time.monotonic() < end, f"not within {seconds:g} s: {what}"
        time.sleep(0.5)


def grow_old(workspace: Workspace) -> None:
    """Write into the store that every machine was made an hour ago: trouble is no settling in any more."""
    ago = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(hours=1)
    for path in workspace.store.glob("default/machine.*/*.yaml"):
        document = yaml.safe_load(path.read_text())
        document["status"]["bootstrap"]["startedAt"] = ago.strftime("%Y-%m-%dT%H:%M:%SZ")
        path.write_text(yaml.safe_dump(document))


class Cluster:
    """One cluster that is ill-treated."""

    def __init__(self, workspace: Workspace, machines: Machines, name: str) -> None:
        self.workspace = workspace
        self.machines = machines
        self.name = name

    @classmethod
    def grown_old(cls, workspace: Workspace, name: str) -> Cluster:
        """What the manifest wants, of which the store says that it is an hour old."""
        workspace.playbook("reconcile").succeeded()
        grow_old(workspace)
        return cls(workspace, Machines(workspace, name), name)

    def members(self) -> list[tuple[str, str]]:
        """Every member's ID and name, sorted."""
        return sorted((str(each["ID"]), str(each.get("name", ""))) for each in self.machines.etcd_members())

    def require_learner(self, joiner: str, before: list[tuple[str, str]]) -> None:
        """The members are those of before, and the learner of a machine whose kubeadm was never started: it has no vote."""
        listed = self.machines.etcd_members()
        [learner] = [each for each in listed if each.get("isLearner")]
        host = self.machines.infrastructure(joiner)["status"]["connection"]["host"]
        assert not learner.get("name") and learner["peerURLs"] == [f"https://{host}:2380"], listed
        assert [each for each in self.members() if each[0] != str(learner["ID"])] == before, listed

    def steps(self) -> list[str]:
        """What was begun, by the journal."""
        path = self.workspace.store / "default" / "journal" / f"{self.name}.jsonl"
        entries = [json.loads(line) for line in path.read_text().splitlines()]
        return [f"{each['action']} {each['target']}" for each in entries if each["event"] == "intent"]

    def refused(self, quorum: bool = True) -> Run:
        """Reconcile ends with an error, and there is no machine, member or step more or less; without a quorum etcd can't be asked."""
        before = self._all(quorum)
        run = self.workspace.playbook("reconcile", *IMPATIENT).failed()
        assert "Safe now?" in run.text, run.text
        assert self._all(quorum) == before
        return run

    def _all(self, quorum: bool) -> tuple[t.Any, ...]:
        names = self.machines.names()
        # Not those of machines that were only made ahead.
        hosts = [self.machines.infrastructure(name)["status"]["machineID"] for name in names]
        return names, hosts, self.steps(), self.members() if quorum else None

    def planned(self) -> str:
        """What plan says, which has no step: it fails where a person must act, and only there."""
        run = self.workspace.playbook("plan")
        assert (run.returncode != 0) is ("BLOCKED, a person must act" in run.text), run.output[-6000:]
        return run.text

    def healthy(self, count: int = 3) -> None:
        """As many machines, the same members and Nodes, all Ready, and reconcile has nothing to change."""
        names = self.machines.names()
        assert len(names) == count
        # Until what has lasted for a minute, a component's backoff for one, is over; that run notes in the store what changed for the better.
        eventually("reconcile ends well", lambda: self.workspace.playbook("reconcile").returncode == 0)
        assert self.workspace.playbook("reconcile").succeeded().recap(self.name)["changed"] == 0
        assert self.machines.names() == names
        assert [name for _identity, name in sorted(self.members(), key=lambda each: each[1])] == names
        eventually("all Nodes are Ready", lambda: self.machines.ready_nodes() == names)

    def newest(self) -> str:
        """The machine that is asked first."""
        return self.machines.bootstrap_times()[-1][2]

    def etcd_of(self, name: str, path: str, body: t.Optional[dict[str, t.Any]] = None) -> dict[str, t.Any]:
        """Ask one machine's own member; what it does not answer is an error."""
        command = f"{CURL} -m 10 -X POST -d {shlex.quote(json.dumps(body or {}))} https://127.0.0.1:2379{path}"
        return dict(json.loads(self.machines.ssh(name, command)))

    def leader_of(self, name: str) -> str:
        """The leader's ID by the word of one machine's own member, "0" where it knows none."""
        return str(self.etcd_of(name, "/v3/maintenance/status").get("leader", "0"))

    @contextlib.contextmanager
    def without_power(self, *names: str) -> t.Iterator[None]:
        """These machines lose their power meanwhile."""
        for name in names:
            self.machines.cut_power(name)
        try:
            yield
        finally:
            for name in names:
                self.machines.restore_power(name)
            eventually("etcd answers", lambda: len(self.members()) == len(self.machines.names()))

    @contextlib.contextmanager
    def stopped(self, name: str, unit: str = "kubelet") -> t.Iterator[None]:
        """A unit of a machine is stopped meanwhile; what containerd runs goes on."""
        self.machines.ssh(name, f"systemctl stop {unit}")
        try:
            yield
        finally:
            self.machines.ssh(name, f"systemctl start {unit}")

    @contextlib.contextmanager
    def without(self, component: str, *names: str) -> t.Iterator[None]:
        """The component's static pod manifest is taken away on these machines, and it has ended there."""
        for name in names:
            self.machines.ssh(name, f"mkdir -p {AWAY} && mv {MANIFESTS}/{component}.yaml {AWAY}/")
        try:
            for name in names:
                eventually(f"{component} has ended on {name}", lambda name=name: not self.runs(component, name))
            yield
        finally:
            for name in names:
                self.machines.ssh(name, f"mv {AWAY}/{component}.yaml {MANIFESTS}/")

    def runs(self, component: str, name: str) -> bool:
        """Whether a process of a component is on a machine."""
        return bool(self.machines.ssh(name, f"pgrep -x {component[:15]} || true").strip())

    @contextlib.contextmanager
    def cut_off(self, name: str, *others: str) -> t.Iterator[None]:
        """A machine and these others get nothing from each other; everybody else, and this host, reach them all."""
        hosts = [self.machines.infrastructure(other)["status"]["connection"]["host"] for other in others]
        rules = [rule for host in hosts for rule in (f"INPUT -s {host} -j DROP", f"OUTPUT -d {host} -j DROP")]
        self.machines.ssh(name, " && ".join(f"iptables -I {rule}" for rule in rules))
        try:
            yield
        finally:
            self.machines.ssh(name, "; ".join(f"iptables -D {rule}" for rule in rules))

    def fill_database(self, name: str) -> None:
        """Write one key again and again through a machine's etcd, a megabyte each time, until etcd refuses: a flood of revisions."""
        key = base64.b64encode(b"/lab/filler").decode()
        body = f"""(printf '{{"key": "{key}", "value": "'; head -c 1000000 /dev/zero | base64 -w 0; printf '"}}') > /run/lab-put"""
        put = f"{CURL} -X POST -d @/run/lab-put https://127.0.0.1:2379/v3/kv/put | grep -q 'space exceeded' && exit 0"
        self.machines.ssh(name, f"{body} && for try in $(seq 100); do {put}; done; exit 1")

    def one_after_another(self, module: str, arguments: str) -> Run:
        """Run a module on the cluster's machines as a user does who types what a message says: one machine after another."""
        self.machines.ssh(self.machines.names()[0], "true")
        hosts, key = ",".join(self.machines.control_plane()), str(self.workspace.folder / f"{self.name}.key")
        options = {
            "ansible_ssh_common_args": "-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR"
        }
        words = ["-i", "inventory.clusters.yml", hosts, "-b", "--private-key", key, "-f", "1"]
        words += ["-m", f"kubeadm.control_plane.{module}", "-a", arguments, "-e", json.dumps(options)]
        return self.workspace.run(["ansible", *words], self.workspace.folder)

    @contextlib.contextmanager
    def small_disk(self, path: str, megabytes: int, *names: str) -> t.Iterator[None]:
        """On these machines a folder is a file system of its own, empty and so small."""
        for name in names:
            self.machines.ssh(name, f"mkdir -p {path} && mount -t tmpfs -o size={megabytes}m,mode=700 tmpfs {path}")
        try:
            yield
        finally:
            for name in names:
                self.machines.ssh(name, f"umount {path}", check=False)

    @contextlib.contextmanager
    def etcd_disk(self, name: str, megabytes: int) -> t.Iterator[None]:
        """A machine's etcd has its data on a file system of its own, so small."""
        with self.without("etcd", name):
            made = f"mkdir -p /run/lab-etcd && mount -t tmpfs -o size={megabytes}m,mode=700 tmpfs /run/lab-etcd"
            copied = "cp -a /var/lib/etcd/member /run/lab-etcd/"
            self.machines.ssh(name, f"{made} && {copied} && mount --bind /run/lab-etcd /var/lib/etcd")
        try:
            eventually("its etcd serves", lambda: self.serves(name))
            yield
        finally:
            with self.without("etcd", name):
                back = "rm -rf /var/lib/etcd/member && cp -a /run/lab-etcd/member /var/lib/etcd/"
                self.machines.ssh(name, f"umount /var/lib/etcd && {back} && umount /run/lab-etcd")
            eventually("its etcd serves", lambda: self.serves(name))

    def serves(self, name: str) -> bool:
        """Whether a machine's member serves a linearizable read."""
        try:
            return "header" in self.etcd_of(name, "/v3/kv/range", {"key": base64.b64encode(b"health").decode()})
        except (AssertionError, ValueError):
            return False

    def written(self, name: str) -> bool:
        """Write half a megabyte through a machine's member."""
        key = base64.b64encode(b"/lab/filler").decode()
        body = f"""(printf '{{"key": "{key}", "value": "'; head -c 400000 /dev/zero | base64 -w 0; printf '"}}')"""
        return "header" in self.machines.ssh(
            name, f"{body} | {CURL} -m 10 -X POST -d @- https://127.0.0.1:2379/v3/kv/put"
        )

    def install_anew(self, name: str) -> None:
        """Somebody installs a machine's host anew, under its name and its address."""
        self.machines.ssh(name, "true")
        stored = self.machines.infrastructure(name)["status"]
        key = self.workspace.folder / f"{self.name}.key"
        public = subprocess.run(
            ["ssh-keygen", "-y", "-f", str(key)], stdout=subprocess.PIPE, text=True, check=True
        ).stdout
        [machine] = [each for each in self.workspace.objects("Machine") if each["metadata"]["name"] == name]
        made = {
            "state": "present",
            "name": name,
            "cluster": self.name,
            "namespace": "default",
            "kubernetes_version": machine["spec"]["version"],
            "authorized_key": public.strip(),
            "address": stored["connection"]["host"],
        }
        for options in ({"state": "absent", "name": name}, made):
            playbook = self.workspace.write_playbook("host.yml", {"kubeadm.control_plane.nspawn_machine": options})
            self.workspace.playbook(str(playbook), "--limit", self.name).succeeded()
        assert self.machines.ssh(name, "cat /etc/machine-id").strip() != stored["machineID"]
