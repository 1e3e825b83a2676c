# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbook adopt with workers, as a user types it; hosts are stand-ins that say what those of a cluster made by hand say."""

from __future__ import annotations

import json
import re
import sys
import typing as t
from pathlib import Path

import pytest
import yaml
from hand_made import HandMade
from workspace import Run, Workspace

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.cluster_objects import CLUSTER, SECRET
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import FileStore

STAND_IN = Path(__file__).resolve().parents[1] / "support" / "stand_in_adopted.py"
# What a rotation of authorities that is not over has in the store.
ROTATION: dict[str, t.Any] = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "prod-authority-rotation", "namespace": "default"},
    "data": {},
}


class Adopter:
    """A user with a cluster made by hand: one control plane host, two workers, and a host with nothing on it."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.user = Workspace(folder / "user")
        self.hosts = folder / "hosts"
        self.hosts.mkdir()
        self.hand = HandMade(1)
        self.groups = {"leads": ["host-1"], "w_hosts": [*self.hand.join(2), "w-host-9"]}
        program = folder / "ssh"
        program.write_text(f'#!/bin/sh\nexec {sys.executable} {STAND_IN} {self.hosts} "$@"\n')
        program.chmod(0o755)
        monkeypatch.setenv("ANSIBLE_SSH_EXECUTABLE", str(program))

    def address(self, name: str) -> str:
        """The address of a host, which nobody has (TEST-NET-2)."""
        kind = 2 if name.startswith("w-") else 1
        return f"198.51.{99 + kind}.{name.rpartition('-')[2]}"

    def write(self) -> None:
        """Write what the hosts say, and the inventory."""
        keys = {purpose: str(pair.key) for purpose, pair in self.hand.pairs.items() if pair.key}
        for name in {each for hosts in self.groups.values() for each in hosts}:
            known = {**self.hand.result(name, "00" * 32), "keys": keys}
            (self.hosts / f"{self.address(name)}.json").write_text(json.dumps(known))
        children = {
            group: {"hosts": {each: {"ansible_host": self.address(each)} for each in hosts}}
            for group, hosts in self.groups.items()
        }
        (self.user.folder / "hosts.yml").write_text(yaml.safe_dump({"all": {"children": children}}))

    def adopt(self, *more: str) -> Run:
        """Run adopt."""
        self.write()
        wanted = {
            "control_plane_adopt": "prod",
            "control_plane_adopt_group": "leads",
            "control_plane_adopt_workers": {"workers": "w_hosts"},
        }
        return self.user.playbook("adopt", "-i", "hosts.yml", "-e", json.dumps(wanted), *more)

    def written(self) -> dict[str, bytes]:
        """Every object and manifest."""
        files = [each for each in self.user.store.rglob("*.yaml") if "locks" not in each.parts]
        files += (self.user.folder / "clusters").iterdir()
        return {str(each): each.read_bytes() for each in files if each.name != "store.yaml"}


@pytest.fixture
def adopter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Adopter:
    return Adopter(tmp_path, monkeypatch)


def test_nothing_is_done_after_it(adopter: Adopter) -> None:
    """Check mode says what would be written and writes nothing; then the plan is empty, and a second time changes nothing."""
    run = adopter.adopt("--check").succeeded()
    assert "would create Machine default/w-1" in run.output and "kind: MachineDeployment" in run.output
    assert adopter.written() == {} and not (adopter.hosts / "claims").exists()
    run = adopter.adopt().succeeded()
    assert "left out: w-host-9: it carries no worker" in run.text
    assert (adopter.hosts / "claims").read_text().split() == ["cp-1", "w-1", "w-2"]
    plan = adopter.user.playbook("plan", "-i", "hosts.yml", "--limit", "prod").succeeded()
    assert "nothing to do" in plan.text.lower()
    before = adopter.written()
    assert adopter.adopt().succeeded().recap("localhost")["changed"] == 0
    assert adopter.written() == before


def test_everything_that_speaks_against_it_is_told_at_once(adopter: Adopter) -> None:
    """A control plane host among the workers, and another cluster's worker."""
    adopter.groups["w_hosts"].append("host-1")
    adopter.hand.changes["w-host-2"] = lambda answer: answer["worker"].update(caCertHash="sha256:00")
    run = adopter.adopt().failed()
    assert "prod was not adopted, and nothing was written:" in run.text
    assert "ControlPlaneHost: host-1: " in run.text and "MixedClusters: w-host-2: " in run.text
    assert adopter.written() == {} and not (adopter.hosts / "claims").exists()


def test_what_is_marked_for_deletion_takes_no_machines(adopter: Adopter) -> None:
    """They would be deleted with it. Nor amid a rotation, which no Action completes in such a cluster."""
    adopter.adopt().succeeded()
    store = FileStore(str(adopter.user.store))
    store.delete(CLUSTER, "default", "prod")
    for rotating in (False, True):
        if rotating:
            store.create(ROTATION)
            # The hosts have the new authority beside it.
            store.modify(SECRET, "default", "prod-ca", lambda each: each["data"].update({"tls.crt": "b2xk"}))
        before = adopter.written()
        run = adopter.adopt().failed()
        assert "MarkedForDeletion: the store has a mark of deletion on Cluster default/prod: " in run.text
        assert "RotationUnfinished" not in run.text and adopter.written() == before


def test_workers_of_a_cluster_that_was_adopted_before(adopter: Adopter) -> None:
    """Not amid a rotation; what its manifest lacks is shown as documents; with them the workers are adopted, and nothing else is."""
    run = adopter.adopt("-e", '{"control_plane_adopt_workers": {}}').succeeded()
    assert "2 worker Nodes stay as they are, and have no Machine: w-1, w-2" in run.text
    store = FileStore(str(adopter.user.store))
    store.create(ROTATION)
    run = adopter.adopt().failed()
    assert "RotationUnfinished: a rotation of certificate authorities is not over" in run.text
    store.delete(SECRET, "default", ROTATION["metadata"]["name"])
    run = adopter.adopt().failed()
    assert "ManifestContradicts: the manifest has no MachineDeployment workers" in run.text
    shown = re.search(r"^---\n(?:(?:---|apiVersion:.*|kind:.*|metadata:|spec:| {2}.*)\n)+", run.output, re.MULTILINE)
    assert shown is not None
    [path] = (adopter.user.folder / "clusters").iterdir()
    path.write_text(path.read_text() + shown.group())
    adopter.adopt().succeeded()
    assert (adopter.hosts / "claims").read_text().split() == ["cp-1", "w-1", "w-2"]
    [deployment] = adopter.user.objects("MachineDeployment")
    assert deployment["spec"]["replicas"] == 2
    assert "cluster.x-k8s.io/paused" not in deployment["metadata"]["annotations"]
