# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Existing hosts whose endpoint is a virtual address of their own: Debian's keepalived and haproxy, and the loss of the host that holds it."""

from __future__ import annotations

import json
import os
import signal
import typing as t
from pathlib import Path

import pytest
import yaml
from bare_hosts import address_of_controller, repository_of_debian
from etcd_cluster import until
from host_pool import GROUP, HostPool, pool_documents
from lab_kubernetes import VERSION
from package_repository import PackageRepository
from watcher import Watch
from workspace import Run, Workspace, cluster_documents

pytestmark = pytest.mark.full

NAME, ADDRESS, PORT = "lab-keepalived", "10.222.0.250", 8443
ROLE = ("-e", "machine_inventory_endpoint_role=kubeadm.control_plane.endpoint_keepalived")
LEFT = "ls /etc/keepalived/keepalived.conf /etc/haproxy/haproxy.cfg 2>/dev/null; systemctl is-active keepalived haproxy; true"


class Lab:
    """Three hosts, and a repository that has what they lack."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.hosts = HostPool(workspace.folder, "vip")
        self.repository: t.Optional[PackageRepository] = None

    def make(self) -> None:
        """Make hosts and repository, and write what a user writes."""
        self.names = self.hosts.make(3)
        base = Path(self.hosts.image(VERSION)["lower"][-1])
        self.repository = repository_of_debian(self.workspace.folder, base, ("keepalived", "haproxy"))
        url = self.repository.serve(address_of_controller())
        key = self.repository.key.read_text()
        for name in self.names:
            source = f"deb [signed-by=/etc/apt/keyrings/tests.asc] {url} /"
            self.hosts.ssh(
                name,
                "rm -f /etc/apt/sources.list; mkdir -p /etc/apt/keyrings; "
                f"echo '{key}' > /etc/apt/keyrings/tests.asc; echo '{source}' > /etc/apt/sources.list.d/tests.list",
            )
        self.inventory = self.hosts.inventory()

    def manifest(self, replicas: int, address: str = ADDRESS, port: int = PORT) -> None:
        """Write the cluster's manifest."""
        documents = cluster_documents(NAME, replicas=replicas)
        pool_documents(documents, {"group": GROUP, "kubeadm": self.hosts.needs}, address, port)
        self.workspace.write(NAME, yaml.safe_dump_all(documents, sort_keys=False))

    def play(self, playbook: str, *more: str) -> Run:
        """Run a playbook with both inventories."""
        return self.workspace.playbook(playbook, "-i", str(self.inventory), *ROLE, *more)

    def holders(self) -> list[str]:
        """The hosts that hold the address."""
        return [
            name
            for name in self.names
            if ADDRESS in self.hosts.ssh(name, "ip -4 address show", check=False, timeout=10).replace("/", " ").split()
        ]

    def answers(self) -> bool:
        """Whether an API server answers behind the address, asked on a host of the network."""
        asked = f"curl --silent --insecure --max-time 2 https://{ADDRESS}:{PORT}/readyz"
        return self.hosts.ssh(self.names[-1], asked, check=False) == "ok"


@pytest.fixture(scope="module")
def lab(workspace: Workspace) -> t.Iterator[Lab]:
    """Existing hosts."""
    made = Lab(workspace)
    try:
        made.make()
        yield made
        if workspace.store.is_dir():
            made.play("delete", "-e", f"control_plane_delete={NAME}")
    finally:
        if made.repository:
            made.repository.stop()
        made.hosts.remove()


def test_an_address_that_cannot_be_is_said_before_a_machine_is_made(lab: Lab) -> None:
    """Of another network, held by somebody else, on the API servers' own port; an interface that isn't there."""
    first = lab.names[0]
    lab.manifest(3, "192.0.2.250")
    refused = lab.play("reconcile").failed().text
    assert all(f"{name}: 192.0.2.250 is on no network of this host" in refused for name in lab.names)
    lab.play("delete", "-e", f"control_plane_delete={NAME}").succeeded()
    lab.manifest(3, address_of_controller())
    assert f"{first}: {address_of_controller()} is held by another host" in lab.play("reconcile").failed().text
    lab.play("delete", "-e", f"control_plane_delete={NAME}").succeeded()
    lab.manifest(3)
    said = lab.play("reconcile", "-e", "endpoint_keepalived_interface=wan0").failed().text
    assert f"{first}: There is no interface wan0 on this host" in said
    assert [lab.hosts.ssh(name, LEFT).split() for name in lab.names] == [["inactive", "inactive"]] * 3


def test_three_hosts_hold_their_own_endpoint(lab: Lab) -> None:
    """Nobody has the address before, and no annotation says so. A second run changes nothing."""
    lab.play("reconcile").succeeded()
    assert len(lab.holders()) == 1 and lab.answers()
    again = lab.play("reconcile").succeeded()
    assert again.recap(NAME)["changed"] == 0


def test_the_holder_loses_its_power(lab: Lab, artefacts: Path) -> None:
    """Another host has the address, and the API answers there again; the host that comes back takes nothing away."""
    [holder] = lab.holders()
    with Watch(lab.workspace.store, NAME, lab.workspace.folder) as watch:
        until(
            "the watcher sees the endpoint",
            lambda: watch.log.exists() and '"what": "endpoint", "name": "", "ok": true' in watch.log.read_text(),
        )
        os.kill(lab.hosts.pid(holder), signal.SIGKILL)
        others = [name for name in lab.names if name != holder]
        until("another host has it", lambda: any(name in others for name in lab.holders()))
        until("the API answers", lab.answers)
        seen = watch.stop()
    (artefacts / "keepalived-power.json").write_text(json.dumps(seen, indent=2))
    [now] = lab.holders()
    lab.hosts.start(holder)
    until(
        "its keepalived runs",
        lambda: "active" in lab.hosts.ssh(holder, "systemctl is-active keepalived", check=False).split(),
    )
    assert lab.holders() == [now]


def test_machines_leave_the_endpoint_before_they_stop(lab: Lab, artefacts: Path) -> None:
    """Two of three go, with a watcher beside it. Their hosts have no endpoint any more, and the last one has it."""
    lab.manifest(1)
    with Watch(lab.workspace.store, NAME, lab.workspace.folder) as watch:
        lab.play("reconcile").succeeded()
        seen = watch.stop()
    (artefacts / "keepalived-leave.json").write_text(json.dumps(seen, indent=2))
    assert seen["writes"]["confirmed"] and not seen["writes"]["lost"]
    [last] = lab.holders()
    for name in lab.names:
        wanted = ["active"] * 2 if name == last else ["inactive"] * 2
        assert lab.hosts.ssh(name, LEFT).split()[-2:] == wanted
    lab.play("delete", "-e", f"control_plane_delete={NAME}").succeeded()
    assert lab.holders() == []
    assert lab.hosts.ssh(last, LEFT).split() == ["inactive", "inactive"]
