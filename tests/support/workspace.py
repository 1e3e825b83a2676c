# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A user's folder with manifests, an inventory and a store, and the playbooks run from it as a user runs them."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import typing as t
from dataclasses import dataclass
from pathlib import Path

import yaml
from lab_kubernetes import VERSION

from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn.endpoint import lifecycle as local_endpoint
from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn.layout import DEFAULT_DIRECTORY, Layout
from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn.machine import lifecycle as local_machine

INVENTORY = """\
plugin: kubeadm.control_plane.clusters
manifests:
  - clusters/*.yaml
store:
  path: store
"""
STORE_PLAYBOOK = """\
- name: Bring the manifests into the store, and nothing else
  hosts: control_planes
  gather_facts: false
  tasks:
    - name: Store the manifest
      kubeadm.control_plane.cluster:
        cluster: "{{ inventory_hostname }}"
        store:
          path: "{{ playbook_dir }}/store"
        manifests:
          - "{{ playbook_dir }}/clusters/{{ inventory_hostname }}.yaml"
"""
STATUS_PLAYBOOK = """\
- name: Keep the status as data
  hosts: control_planes
  gather_facts: false
  tasks:
    - name: Status
      ansible.builtin.include_role:
        name: kubeadm.control_plane.control_plane
        tasks_from: status
    - name: Keep it
      ansible.builtin.copy:
        content: "{{ control_plane_status.status | to_json }}"
        dest: "{{ playbook_dir }}/{{ inventory_hostname }}.status.json"
        mode: "0600"
"""


@dataclass(frozen=True)
class Run:
    """What a playbook run printed and how it ended."""

    returncode: int
    output: str

    @property
    def text(self) -> str:
        """The output with line breaks and quoting flattened, for matching messages."""
        return re.sub(r"\s+", " ", self.output.replace("\\n", " ").replace('\\"', '"'))

    def recap(self, host: str) -> dict[str, int]:
        """The play recap's counters of a host; of a cluster that had nothing to do at a glance there is no line."""
        if f"\n{host}: nothing to do: " in self.output:
            return dict.fromkeys(("ok", "changed", "unreachable", "failed", "skipped", "rescued", "ignored"), 0)
        found = re.findall(rf"^{re.escape(host)}\s+:\s+(.*)$", self.output, re.MULTILINE)
        assert found, self.output
        return {key: int(value) for key, value in (pair.split("=") for pair in found[-1].split())}

    def succeeded(self) -> Run:
        """Return the run if it ended well, else fail showing its end."""
        assert self.returncode == 0, self.output[-6000:]
        return self

    def failed(self) -> Run:
        """Return the run if it failed."""
        assert self.returncode != 0, self.output[-6000:]
        return self


def consent_of(text: str, variable: str = "control_plane_restore_consent") -> str:
    """What a run says that is to be typed."""
    found = re.findall(rf"-e {variable}=(\S+)", text)
    assert found, text
    return str(found[-1]).rstrip("\"',}).")


class Workspace:
    """One user's folder."""

    # In the order in which they were made, for what is shown of a test that failed.
    made: t.ClassVar[list[Workspace]] = []

    def __init__(self, folder: Path) -> None:
        self.made.append(self)
        self.folder = folder
        self.program = "ansible-playbook"
        self.more_inventories: list[str] = []
        (folder / "clusters").mkdir(parents=True)
        (folder / "inventory.clusters.yml").write_text(INVENTORY)
        (folder / "status_data.yml").write_text(STATUS_PLAYBOOK)

    def manifest(self, name: str, **options: t.Any) -> Path:
        """Write the manifest of a cluster; `options` as in cluster_documents."""
        return self.write(name, yaml.safe_dump_all(cluster_documents(name, **options), sort_keys=False))

    def write(self, name: str, text: str) -> Path:
        """Write a file of the clusters' folder."""
        path = self.folder / "clusters" / f"{name}.yaml"
        path.write_text(text)
        return path

    def write_playbook(self, name: str, task: dict[str, t.Any], hosts: str = "control_planes") -> Path:
        """Write a playbook of the user's own with one task."""
        path = self.folder / name
        play = {"name": "Own", "hosts": hosts, "gather_facts": False, "tasks": [{"name": "Own task", **task}]}
        path.write_text(yaml.safe_dump([play], sort_keys=False))
        return path

    @property
    def store(self) -> Path:
        """The store's folder."""
        return self.folder / "store"

    def objects(self, kind: str, namespace: str = "default") -> list[dict[str, t.Any]]:
        """The stored objects of a kind, read from their files."""
        # Tests look at them twenty times a second while they wait.
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        found = []
        for path in sorted(self.store.glob(f"{namespace}/{kind.lower()}*/*.yaml")):
            # A run beside the look may delete an object after it was listed.
            with contextlib.suppress(FileNotFoundError):
                if path.parent.name.partition(".")[0] == kind.lower():
                    found.append(yaml.load(path.read_text(), Loader=loader))
        return found

    def command(self, playbook: str, *arguments: str) -> list[str]:
        """The command line that a user would type; its further inventories are kept for what is shown of a test that failed."""
        given = [word for pair in zip(arguments, arguments[1:]) if pair[0] == "-i" for word in pair]
        self.more_inventories = given or self.more_inventories
        name = playbook if playbook.endswith(".yml") else f"kubeadm.control_plane.{playbook}"
        return [self.program, "-i", "inventory.clusters.yml", name, *arguments]

    def start(self, playbook: str, *arguments: str, output: t.Optional[Path] = None) -> subprocess.Popen[str]:
        """Start a playbook in a session of its own, its output going to a file."""
        stream = open(output or (self.folder / f"{playbook}.log"), "w+", encoding="utf-8")  # noqa: SIM115
        return subprocess.Popen(
            self.command(playbook, *arguments),
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def playbook(self, playbook: str, *arguments: str, timeout: float = 900) -> Run:
        """Run a playbook to its end."""
        return self.run(self.command(playbook, *arguments), self.folder, timeout)

    @staticmethod
    def run(command: t.Sequence[str], folder: Path, timeout: float = 900) -> Run:
        """Run a command to its end."""
        done = subprocess.run(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=timeout,
            check=False,
        )
        return Run(done.returncode, done.stdout)

    def remove_clusters(self) -> None:
        """Remove the machines and endpoints of whatever cluster is left in the store, as no playbook of the collection does."""
        layout = Layout(DEFAULT_DIRECTORY)
        for each in self.objects("NspawnMachine"):
            local_machine.remove(layout, each["metadata"]["name"])
        for each in self.objects("Cluster"):
            local_endpoint.remove(layout, each["metadata"]["namespace"], each["metadata"]["name"])

    def backup(self, name: str, *arguments: str) -> Path:
        """Take a backup of a cluster as a timer does, and return the newest copy."""
        folder = self.folder / "backups"
        self.playbook(
            "backup", "--limit", name, "-e", f"control_plane_backup_directory={folder}", *arguments
        ).succeeded()
        return sorted((folder / "default" / name).glob("*.db"))[-1]

    def status(self, name: str) -> dict[str, t.Any]:
        """The status of a cluster as data."""
        self.playbook("status_data.yml", "--limit", name).succeeded()
        return dict(json.loads((self.folder / f"{name}.status.json").read_text()))


def kill_run(process: subprocess.Popen[str]) -> None:
    """Kill a run's main process and its workers outright, as a crash of the controller would."""
    for pid in descendants(process.pid):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.wait()


def descendants(pid: int) -> list[int]:
    """A process and everything that it started, children last."""
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        children.setdefault(int(fields[1]), []).append(int(stat.parent.name))
    found, queue = [pid], [pid]
    while queue:
        for child in children.get(queue.pop(), []):
            found.append(child)
            queue.append(child)
    return found


def cluster_documents(
    name: str,
    replicas: int = 3,
    version: str = VERSION,
    failure_domains: t.Sequence[str] = (),
    kubeadm: t.Optional[dict[str, t.Any]] = None,
    machine: t.Optional[dict[str, t.Any]] = None,
    secrets: t.Sequence[dict[str, t.Any]] = (),
) -> list[dict[str, t.Any]]:
    """The documents of a cluster on local machines, in Cluster API's v1beta2 form."""
    infrastructure = {"apiGroup": "infrastructure.cluster.x-k8s.io"}
    spec: dict[str, t.Any] = {
        "clusterConfiguration": {},
        "initConfiguration": {"nodeRegistration": {}},
        "joinConfiguration": {"nodeRegistration": {}},
    }
    for key, value in (kubeadm or {}).items():
        spec[key] = {**spec.get(key, {}), **value} if isinstance(value, dict) else value
    return [
        {
            "apiVersion": "cluster.x-k8s.io/v1beta2",
            "kind": "Cluster",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {
                "clusterNetwork": {"pods": {"cidrBlocks": ["10.244.0.0/16"]}},
                "controlPlaneRef": {
                    "apiGroup": "controlplane.cluster.x-k8s.io",
                    "kind": "KubeadmControlPlane",
                    "name": f"{name}-control-plane",
                },
                "infrastructureRef": {**infrastructure, "kind": "NspawnCluster", "name": name},
            },
        },
        {
            "apiVersion": "controlplane.cluster.x-k8s.io/v1beta2",
            "kind": "KubeadmControlPlane",
            "metadata": {"name": f"{name}-control-plane", "namespace": "default"},
            "spec": {
                "replicas": replicas,
                "version": version,
                "machineTemplate": {
                    "spec": {
                        "infrastructureRef": {
                            **infrastructure,
                            "kind": "NspawnMachineTemplate",
                            "name": f"{name}-control-plane",
                        }
                    }
                },
                "kubeadmConfigSpec": spec,
            },
        },
        {
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1",
            "kind": "NspawnMachineTemplate",
            "metadata": {"name": f"{name}-control-plane", "namespace": "default"},
            "spec": {"template": {"spec": machine or {}}},
        },
        {
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1",
            "kind": "NspawnCluster",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"failureDomains": [{"name": each, "controlPlane": True} for each in failure_domains]}
            if failure_domains
            else {},
        },
        *secrets,
    ]
