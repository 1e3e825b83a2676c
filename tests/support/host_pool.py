# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Existing hosts with kubeadm on them: local machines that no cluster made, reached by plain ssh, and an inventory that has them."""

from __future__ import annotations

import subprocess
import typing as t
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import yaml
from lab_kubernetes import VERSION, record

from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn.addresses import (
    DEFAULT_UNREACHABLE,
    network_of,
    unreachable_networks,
)
from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn.layout import DEFAULT_DIRECTORY, Layout
from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn.machine import lifecycle

# The local provider's own bridge and subnets: its endpoint and `make clean` reach these machines too.
NETWORK = ("kcp0", "10.222.0.0/24", "10.223.0.0/16")
GROUP = "kubeadm_pool"
OWNER = "existing-hosts"
# Nothing listens on port 1: a host that doesn't answer, at once.
AWAY = {"ansible_host": "127.0.0.1", "ansible_port": 1, "ansible_connection": "ssh"}


class HostPool:
    """Machines that stand for somebody's existing hosts; the collection under test knows of them only what the inventory says."""

    def __init__(self, folder: Path, prefix: str = "pool") -> None:
        self.folder = folder
        self.prefix = prefix
        self.addresses: dict[str, str] = {}
        self.needs: dict[str, t.Any] = {}
        self._layout = Layout(DEFAULT_DIRECTORY)
        self._key = folder / f"{prefix}.key"
        self._known = folder / f"{prefix}.known_hosts"
        if not self._key.exists():
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self._key)], check=True)

    def image(self, version: str) -> dict[str, t.Any]:
        """What a host is made from: an image's record."""
        return record(version)

    def make(self, count: int, version: str = VERSION) -> list[str]:
        """Make so many more hosts with kubeadm of that version and return their names."""
        found = self.image(version)
        self.needs = dict(found["kubeadm"])
        names = [f"{self.prefix}-{len(self.addresses) + index + 1}" for index in range(count)]
        public_key = Path(f"{self._key}.pub").read_text()
        network = network_of(*NETWORK)
        unreachable = unreachable_networks(network, DEFAULT_UNREACHABLE)
        consoles = {}
        for name in names:
            # What a test left that was killed.
            lifecycle.remove(self._layout, name)
            wanted = lifecycle.Wanted(name, "default", OWNER, found, public_key, unreachable=unreachable)
            # They boot beside one another.
            made = lifecycle.ensure(self._layout, network, wanted, restart=False, timeout=0)[0]
            self.addresses[name], consoles[name] = made["address"], self._layout.machine(name).console
            with self._known.open("a") as file:
                file.writelines(f"{made['address']} {key}\n" for key in made["host_keys"])
        for name, console in consoles.items():
            lifecycle.wait_for_ssh(self.addresses[name], 60, name, console)
        return names

    def pid(self, name: str) -> int:
        """The host's first process."""
        found = lifecycle.look(self._layout, name)
        assert found is not None and found["pid"], f"{name} does not run"
        return int(found["pid"])

    def start(self, name: str) -> None:
        """Start a host again that is dead, with what was on its disk."""
        found = self.image(VERSION)
        wanted = lifecycle.Wanted(name, "default", OWNER, found, Path(f"{self._key}.pub").read_text())
        lifecycle.ensure(self._layout, network_of(*NETWORK), wanted, restart=True, timeout=60)

    def remove(self) -> None:
        """Remove every host."""
        with ThreadPoolExecutor() as threads:
            list(threads.map(lambda name: lifecycle.remove(self._layout, name), list(self.addresses)))
        self.addresses.clear()

    @property
    def ssh_arguments(self) -> str:
        """What ssh needs to know these hosts by their own keys."""
        return f"-o UserKnownHostsFile={self._known} -o StrictHostKeyChecking=yes -o GlobalKnownHostsFile=/dev/null"

    def inventory(
        self,
        group: str = GROUP,
        hosts: t.Optional[t.Sequence[str]] = None,
        variables: t.Optional[t.Mapping[str, t.Any]] = None,
        host_variables: t.Optional[t.Mapping[str, t.Mapping[str, t.Any]]] = None,
        path: str = "hosts.yml",
    ) -> Path:
        """Write the inventory of these hosts, with the group's and the hosts' own variables, and return its file."""
        entries = {
            name: {"ansible_host": self.addresses[name], **(host_variables or {}).get(name, {})}
            for name in (hosts if hosts is not None else sorted(self.addresses))
        }
        common = {
            "ansible_user": "root",
            "ansible_ssh_private_key_file": str(self._key),
            "ansible_ssh_common_args": self.ssh_arguments,
            **(variables or {}),
        }
        written = self.folder / path
        document = {"all": {"children": {group: {"hosts": entries, "vars": common}}}}
        written.write_text(yaml.safe_dump(document))
        return written

    def ssh_command(self, name: str) -> list[str]:
        """The words that run a command on a host, but for the command."""
        words = ["ssh", "-i", str(self._key), *self.ssh_arguments.split(), "-o", "ConnectTimeout=5"]
        return [*words, f"root@{self.addresses[name]}"]

    def ssh(self, name: str, command: str, check: bool = True, timeout: float = 120) -> str:
        """Run a command on a host and return what it printed."""
        done = subprocess.run(
            [*self.ssh_command(name), command],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=timeout,
        )
        if check:
            assert done.returncode == 0, f"{name}: {command}: {done.stdout[-4000:]}{done.stderr}"
        return done.stdout


def pool_documents(
    documents: list[dict[str, t.Any]], machine_spec: t.Mapping[str, t.Any], endpoint: str = "", port: int = 6443
) -> None:
    """Change the documents of a cluster on local machines (see workspace.cluster_documents) to one on existing hosts, in place."""
    cluster, control_plane, template, infrastructure = documents[:4]
    cluster["spec"]["infrastructureRef"]["kind"] = "InventoryCluster"
    control_plane["spec"]["machineTemplate"]["spec"]["infrastructureRef"]["kind"] = "InventoryMachineTemplate"
    template["kind"] = "InventoryMachineTemplate"
    template["spec"]["template"]["spec"] = dict(machine_spec)
    infrastructure["kind"] = "InventoryCluster"
    if endpoint:
        infrastructure["spec"]["controlPlaneEndpoint"] = {"host": endpoint, "port": port}


def claimed(host: str) -> dict[str, t.Any]:
    """Return the stored status of a machine with that host."""
    claim = {"inventoryHost": host, "id": "id-1", "state": "Claimed"}
    return {"claim": claim, "connection": {"inventoryHost": host}, "machineID": "0" * 32, "state": "running"}
