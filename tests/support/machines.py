# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A cluster's machines, reached beside the collection: plain ssh, curl to etcd, kubectl."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import re
import signal
import subprocess
import typing as t
import uuid
from pathlib import Path

import yaml
from workspace import Workspace

ETCD = "/etc/kubernetes/pki/etcd"
CONTROL_PLANE = "cluster.x-k8s.io/control-plane"
BOOTSTRAP_RECORD = "/var/lib/kubeadm-control-plane/bootstrap.json"
CURL = f"curl -sS --cacert {ETCD}/ca.crt --cert {ETCD}/healthcheck-client.crt --key {ETCD}/healthcheck-client.key"


class Machines:
    """The machines of one cluster, by what the store knows of them."""

    def __init__(self, workspace: Workspace, cluster: str) -> None:
        self._workspace = workspace
        self._cluster = cluster
        # Machines that a test took away, which can't be asked.
        self.lost: set[str] = set()

    def names(self) -> list[str]:
        """The names of the cluster's Machines, sorted."""
        return sorted(each["metadata"]["name"] for each in self._stored())

    def control_plane(self) -> list[str]:
        """The names of the control plane's Machines, sorted."""
        return sorted(
            each["metadata"]["name"] for each in self._stored() if CONTROL_PLANE in each["metadata"]["labels"]
        )

    def workers(self) -> list[str]:
        """The names of the workers' Machines, sorted."""
        return sorted(set(self.names()) - set(self.control_plane()))

    def _stored(self) -> list[dict[str, t.Any]]:
        label = "cluster.x-k8s.io/cluster-name"
        found = self._workspace.objects("Machine")
        return [each for each in found if (each["metadata"].get("labels") or {}).get(label) == self._cluster]

    def infrastructure(self, name: str) -> dict[str, t.Any]:
        """The stored NspawnMachine."""
        return next(each for each in self._workspace.objects("NspawnMachine") if each["metadata"]["name"] == name)

    def ssh_words(self, name: str) -> list[str]:
        """The beginning of a command line that runs what follows on a machine."""
        key = self._workspace.folder / f"{self._cluster}.key"
        secret = next(
            each for each in self._workspace.objects("Secret") if each["metadata"]["name"] == f"{self._cluster}-ssh"
        )
        private = base64.b64decode(secret["data"]["ssh-privatekey"])
        # Written once: an ssh that was started before may be reading it.
        if not key.exists() or key.read_bytes() != private:
            key.touch(mode=0o600)
            key.write_bytes(private)
        host = self.infrastructure(name)["status"]["connection"]["host"]
        known = ("StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null", "LogLevel=ERROR", "ConnectTimeout=5")
        return ["ssh", "-i", str(key), *(word for each in known for word in ("-o", each)), f"root@{host}"]

    def ssh(self, name: str, command: str, check: bool = True, timeout: float = 60) -> str:
        """Run a command on a machine and return what it printed."""
        done = subprocess.run(
            [*self.ssh_words(name), command],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=timeout,
        )
        if check:
            assert done.returncode == 0, f"{name}: {command}: {done.stderr}"
        return done.stdout

    def play(self, tasks: list[dict[str, t.Any]]) -> list[dict[str, t.Any]]:
        """Run tasks on the first machine as somebody's own playbook does; return their results, each with the seconds that it took."""
        folder = self._workspace.folder
        steps: list[dict[str, t.Any]] = []
        for index, task in enumerate(tasks):
            kept = {
                key: value for key, value in task.items() if key not in ("until", "retries", "delay", "failed_when")
            }
            steps.append({"ansible.builtin.set_fact": {"begun": "{{ now().timestamp() }}"}})
            steps.append({**kept, "register": f"result_{index}", "ignore_errors": True})
            steps.append({"ansible.builtin.set_fact": {f"took_{index}": "{{ now().timestamp() - begun | float }}"}})
        shown = ", ".join(f"result_{index} | combine({{'took': took_{index} | float}})" for index in range(len(tasks)))
        found = folder / "node.result.json"
        keep = {"content": "{{ [" + shown + "] | to_json }}", "dest": str(found), "mode": "0600"}
        steps.append({"ansible.builtin.copy": keep, "delegate_to": "localhost", "check_mode": False, "diff": False})
        self._workspace.run(self.write_play("node", steps), folder).succeeded()
        return list(json.loads(found.read_text()))

    def write_play(self, name: str, tasks: list[dict[str, t.Any]]) -> list[str]:
        """Write somebody's own playbook for the first machine, and its inventory; return the command line."""
        [machine, *_others] = self.names()
        self.ssh(machine, "true")
        folder = self._workspace.folder
        variables = {
            "ansible_host": self.infrastructure(machine)["status"]["connection"]["host"],
            "ansible_user": "root",
            "ansible_python_interpreter": "/usr/bin/python3",
            "ansible_ssh_private_key_file": str(folder / f"{self._cluster}.key"),
            "ansible_ssh_common_args": "-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR",
        }
        (folder / f"{name}.json").write_text(json.dumps({"all": {"hosts": {machine: variables}}}))
        (folder / f"{name}.yml").write_text(json.dumps([{"hosts": "all", "gather_facts": False, "tasks": tasks}]))
        return [self._workspace.program, "-i", f"{name}.json", f"{name}.yml"]

    def kubeadm_runs(self, name: str, verb: str) -> bool:
        """Whether kubeadm runs on the machine with that verb."""
        if not self.infrastructure(name).get("status", {}).get("connection"):
            return False
        return bool(self.ssh(name, f"pgrep -f '^([^ ]*/)?kubeadm {verb}'", check=False).strip())

    def bootstrap_times(self) -> list[tuple[str, str, str]]:
        """Start, end and machine of every bootstrap, by the machines' own records, in the order of their starts."""
        records = {name: json.loads(self.ssh(name, f"cat {BOOTSTRAP_RECORD}")) for name in self.names()}
        return sorted((each["startedAt"], each["finishedAt"], name) for name, each in records.items())

    def kubeadm_started(self, name: str) -> str:
        """When the machine's bootstrap was started, by its own record: another value means that it was started again."""
        return str(json.loads(self.ssh(name, f"cat {BOOTSTRAP_RECORD}"))["startedAt"])

    def lose(self, name: str) -> None:
        """Ask this machine nothing from now on: a test took something of it away."""
        self.lost.add(name)

    def regain(self, name: str) -> None:
        """It can be asked again."""
        self.lost.discard(name)

    def _any(self) -> str:
        # A machine that was only begun carries nothing that could be asked; names are random, so it may well come first.
        done = [
            str(each["metadata"]["name"])
            for each in self._stored()
            if each.get("status", {}).get("bootstrap", {}).get("state") == "Succeeded"
            and CONTROL_PLANE in each["metadata"]["labels"]
        ]
        return sorted(set(done) - self.lost)[0]

    def etcd(self, path: str, body: str = "{}") -> dict[str, t.Any]:
        """Ask etcd on one machine through its JSON gateway."""
        # Without a quorum it would never answer some questions.
        command = f"{CURL} -m 20 -X POST -d '{body}' https://127.0.0.1:2379{path}"
        return dict(json.loads(self.ssh(self._any(), command)))

    def etcd_members(self) -> list[dict[str, t.Any]]:
        """The member list, sorted by name."""
        return sorted(self.etcd("/v3/cluster/member/list")["members"], key=lambda member: str(member.get("name")))

    def etcd_leader(self) -> str:
        """The leader's name."""
        leader = self.etcd("/v3/maintenance/status")["leader"]
        return str(next(member["name"] for member in self.etcd_members() if member["ID"] == leader))

    def let_lead(self, name: str) -> None:
        """Have etcd's leader hand over to this member; a leader answers when the other one leads."""
        leader = self.etcd_leader()
        if leader != name:
            identity = next(each["ID"] for each in self.etcd_members() if each["name"] == name)
            body = json.dumps({"targetID": identity})
            path = "https://127.0.0.1:2379/v3/maintenance/transfer-leadership"
            self.ssh(leader, f"{CURL} --fail -X POST -d '{body}' {path}")
            assert self.etcd_leader() == name

    def kubectl(self, *arguments: str) -> str:
        """Run kubectl on one machine."""
        command = " ".join(f"'{each}'" for each in arguments)
        return self.ssh(self._any(), f"kubectl --kubeconfig /etc/kubernetes/admin.conf {command}")

    def ready_nodes(self) -> list[str]:
        """The names of the Nodes that are Ready, sorted."""
        nodes = json.loads(self.kubectl("get", "nodes", "-o", "json"))["items"]
        ready = [
            node["metadata"]["name"]
            for node in nodes
            if any(each["type"] == "Ready" and each["status"] == "True" for each in node["status"]["conditions"])
        ]
        return sorted(ready)

    def configuration(self) -> dict[str, str]:
        """Digests of what kubeadm and the kubelet are configured with on each machine: /etc/kubernetes and the kubelet's own files."""
        files = "/etc/kubernetes /var/lib/kubelet/config.yaml /var/lib/kubelet/kubeadm-flags.env /var/lib/kubelet/pki"
        return {
            name: self.ssh(name, f"find {files} -type f -exec sha256sum {{}} + | sort -k 2") for name in self.names()
        }

    def annotate(self, name: str, key: str, value: t.Optional[str] = "") -> None:
        """Write an annotation of a Machine into the store, as its user does; None takes it away."""
        paths = self._workspace.store.glob("default/machine.*/*.yaml")
        [path] = [each for each in paths if yaml.safe_load(each.read_text())["metadata"]["name"] == name]
        document = yaml.safe_load(path.read_text())
        annotations = document["metadata"].setdefault("annotations", {})
        annotations.pop(key, None)
        if value is not None:
            annotations[key] = value
        path.write_text(yaml.safe_dump(document))

    @contextlib.contextmanager
    def annotated(self, name: str, key: str) -> t.Iterator[None]:
        """A Machine carries an annotation in the store meanwhile."""
        self.annotate(name, key)
        try:
            yield
        finally:
            self.annotate(name, key, None)

    def cut_power(self, name: str) -> None:
        """Kill the machine's first process outright: everything that runs on it is gone at once, and its disk stays as it is."""
        identity = str(uuid.UUID(self.infrastructure(name)["status"]["machineID"]))
        self.lost.add(name)
        for environ in Path("/proc").glob("[0-9]*/environ"):
            with contextlib.suppress(OSError):
                [numbers] = re.findall(r"^NSpid:(.*)$", (environ.parent / "status").read_text(), re.MULTILINE)
                if f"container_uuid={identity}".encode() in environ.read_bytes() and numbers.split()[1:][-1:] == ["1"]:
                    os.kill(int(environ.parent.name), signal.SIGKILL)
                    return
        raise AssertionError(f"no first process of machine {name} was found")

    def cut_network(self, name: str) -> str:
        """Take the machine's link down on the host's side: it runs, and reaches nobody. Returns the link, for :meth:`mend_network`."""
        index = self.ssh(name, "cat /sys/class/net/host0/iflink").strip()
        listed = subprocess.run(["ip", "-o", "link"], stdout=subprocess.PIPE, text=True, check=True).stdout
        [link] = [
            line.split(": ")[1].partition("@")[0] for line in listed.splitlines() if line.startswith(f"{index}: ")
        ]
        self.lost.add(name)
        subprocess.run(["ip", "link", "set", "dev", link, "down"], check=True)
        return link

    def mend_network(self, name: str, link: str) -> None:
        """Take the machine's link up again, if the machine is still there."""
        subprocess.run(["ip", "link", "set", "dev", link, "up"], check=False, stderr=subprocess.DEVNULL)
        self.lost.discard(name)

    def restore_power(self, name: str) -> None:
        """Start a machine whose power was cut, as somebody does who finds it dark; its disk is as it was."""
        [machine] = [each for each in self._stored() if each["metadata"]["name"] == name]
        options = {"state": "started", "name": name, "cluster": self._cluster, "namespace": "default"}
        options["kubernetes_version"] = machine["spec"]["version"]
        task = {"kubeadm.control_plane.nspawn_machine": options}
        playbook = self._workspace.write_playbook("power.yml", task)
        self._workspace.playbook(str(playbook), "--limit", self._cluster).succeeded()
        self.lost.discard(name)

    def register_worker(self, name: str) -> None:
        """Register a Node that no machine of the control plane stands behind."""
        node = json.dumps({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})
        self.ssh(self._any(), f"echo '{node}' | kubectl --kubeconfig /etc/kubernetes/admin.conf apply -f -")

    def boot_ids(self) -> dict[str, str]:
        """The machines' machine-ids and the start of their first process: other values mean other machines."""
        return {name: self.ssh(name, "cat /etc/machine-id; stat -c %Y /proc/1") for name in self.names()}

    @contextlib.contextmanager
    def swapped_addresses(self, workspace: Workspace) -> t.Iterator[None]:
        """Each machine's recorded connection leads to the next one."""
        paths = sorted(workspace.store.glob("default/nspawnmachine.*/*.yaml"))
        originals = {path: path.read_text() for path in paths}
        documents = [yaml.safe_load(text) for text in originals.values()]
        try:
            for path, document, other in zip(paths, documents, documents[1:] + documents[:1]):
                changed = yaml.safe_load(originals[path])
                changed["status"]["connection"] = other["status"]["connection"]
                path.write_text(yaml.safe_dump(changed))
                del document
            yield
        finally:
            for path, text in originals.items():
                path.write_text(text)

    def secret_values(self) -> dict[str, str]:
        """Lines of the cluster's private keys that must appear nowhere, by Secret and key."""
        values = {}
        for secret in self._workspace.objects("Secret"):
            for key, value in secret.get("data", {}).items():
                if key == "tls.crt" and not secret["metadata"]["name"].endswith("-sa"):
                    continue
                text = base64.b64decode(value).decode()
                values[f"{secret['metadata']['name']}/{key} as stored"] = value
                if "PRIVATE KEY" in text and "\n" in text:
                    values[f"{secret['metadata']['name']}/{key}"] = text.splitlines()[3]
        return {key: value for key, value in values.items() if not key.startswith(f"{self._cluster}-sa/tls.crt")}
