# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A worker that plain kubeadm joined is adopted with its cluster, and is a machine of its MachineDeployment from then on."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

import pytest
import yaml
from host_pool import HostPool
from kubeadm_by_hand import ByHand
from lab_kubernetes import VERSION
from workspace import Run, Workspace

pytestmark = pytest.mark.full
CLUSTER, WORKERS = "lab-hand-workers", "lab-workers"
CLAIM = "/var/lib/kubeadm-control-plane/claim.json"


class Lab:
    """A control plane of one and a worker, both made by hand, a host with kubeadm on it alone, and a user who wants to adopt."""

    def __init__(self, folder: Path) -> None:
        self.pool = HostPool(folder, "joined")
        [self.lead, self.worker, self.spare] = self.pool.make(3)
        self.hand = ByHand(self.pool, CLUSTER, [self.lead])
        self.user = Workspace(folder / "user")
        groups = {"lead_hosts": [self.lead], "worker_hosts": [self.worker, self.spare]}
        self.inventories = [
            word
            for group, hosts in groups.items()
            for word in ("-i", str(self.pool.inventory(group, hosts=hosts, path=f"{group}.yml")))
        ]

    def adopt(self, *more: str) -> Run:
        """Run adopt as a user types it."""
        needs = {"kubeadm": self.pool.needs}
        wanted = {
            "control_plane_adopt": CLUSTER,
            "control_plane_adopt_group": "lead_hosts",
            "control_plane_adopt_template": needs,
            "control_plane_adopt_workers": {WORKERS: {"group": "worker_hosts", **needs}},
        }
        return self.user.playbook("adopt", *self.inventories, "-e", json.dumps(wanted), *more)

    def play(self, playbook: str, *more: str) -> Run:
        """Run a playbook on the adopted cluster."""
        return self.user.playbook(playbook, *self.inventories, "--limit", CLUSTER, *more)

    def scale(self, replicas: int) -> None:
        """Have another number of workers."""
        self.play(
            "scale", "-e", f"control_plane_deployment={WORKERS}", "-e", f"control_plane_replicas={replicas}"
        ).succeeded()
        self.play("reconcile").succeeded()

    def contents(self) -> dict[str, bytes]:
        """Every object and manifest that is there."""
        files = [each for each in self.user.store.rglob("*.yaml") if "locks" not in each.parts]
        files += (self.user.folder / "clusters").iterdir()
        return {str(each): each.read_bytes() for each in files if each.name != "store.yaml"}

    def claims(self) -> list[str]:
        """The hosts that carry a claim."""
        hosts = (self.lead, self.worker, self.spare)
        return [each for each in hosts if self.pool.ssh(each, f"cat {CLAIM} 2>/dev/null || true")]

    def nodes(self) -> list[str]:
        """The names of the cluster's Nodes."""
        return sorted(self.hand.kubectl("get nodes -o name").replace("node/", "").split())


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[Lab]:
    made = Lab(tmp_path_factory.mktemp("workers"))
    try:
        made.hand.make()
        made.hand.join_worker(made.worker)
        made.hand.kubectl("wait --for=condition=Ready node --all --timeout=180s")
        yield made
    finally:
        made.hand.remove()
        made.pool.remove()


def test_a_worker_made_by_hand_is_adopted(lab: Lab) -> None:
    """Check mode writes nothing; then the plan is empty, and neither adopt nor reconcile changes anything again, on the worker neither."""
    kubelet = lab.pool.ssh(lab.worker, "pgrep -x kubelet; systemctl show -p ActiveEnterTimestamp kubelet")
    run = lab.adopt("--check").succeeded()
    assert f"would create Machine default/{lab.worker}" in run.output and "kind: MachineDeployment" in run.output
    assert lab.contents() == {} and lab.claims() == []

    lab.adopt().succeeded()
    assert lab.claims() == [lab.lead, lab.worker]
    documents = list(yaml.safe_load_all((lab.user.folder / "clusters" / f"{CLUSTER}.yaml").read_text()))
    [deployment] = [each for each in documents if each["kind"] == "MachineDeployment"]
    assert (deployment["spec"]["replicas"], deployment["spec"]["template"]["spec"]["version"]) == (1, VERSION)
    plan = lab.play("plan").succeeded()
    assert "nothing to do" in plan.text.lower(), plan.output[-6000:]
    before = lab.contents()
    assert lab.adopt().succeeded().recap("localhost")["changed"] == 0
    assert lab.contents() == before
    assert lab.play("reconcile").succeeded().recap(CLUSTER)["changed"] == 0
    assert lab.adopt().succeeded().recap("localhost")["changed"] == 0
    assert kubelet == lab.pool.ssh(lab.worker, "pgrep -x kubelet; systemctl show -p ActiveEnterTimestamp kubelet")
    status = lab.play("status").succeeded().text
    assert f"workers {WORKERS}: 1 desired, 1 existing, 1 available, 1 up to date; {VERSION} wanted" in status


def test_it_goes_as_any_other_worker_does(lab: Lab) -> None:
    """Another one joins on a host of the group; then the adopted one goes, and its host is back in the pool."""
    lab.scale(2)
    assert lab.claims() == [lab.lead, lab.worker, lab.spare] and len(lab.nodes()) == 3
    [path] = lab.user.store.rglob(f"machine.*/{lab.worker}.yaml")
    machine = yaml.safe_load(path.read_text())
    machine["metadata"].setdefault("annotations", {})["cluster.x-k8s.io/delete-machine"] = ""
    path.write_text(yaml.safe_dump(machine))
    lab.scale(1)
    assert lab.claims() == [lab.lead, lab.spare]
    assert len(lab.nodes()) == 2 and lab.worker not in lab.nodes()
    left = "find /etc/kubernetes/pki /etc/kubernetes/kubelet.conf -type f 2>/dev/null || true"
    assert lab.pool.ssh(lab.worker, left) == ""
    assert "nothing to do" in lab.play("plan").succeeded().text.lower()
    lab.play("delete", "-e", f"control_plane_delete={CLUSTER}").succeeded()
    assert lab.claims() == []
