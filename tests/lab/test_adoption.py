# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A control plane made by hand with plain kubeadm is adopted and managed from then on.

It has three machines in the full lab, and one in the core, which has the same answers of fewer hosts.
"""

from __future__ import annotations

import json
import time
import typing as t
from pathlib import Path

import pytest
import yaml
from host_pool import HostPool, pool_documents
from kubeadm_by_hand import KUBECTL, ByHand
from lab_kubernetes import VERSION
from workspace import Run, Workspace, cluster_documents

CLUSTER, GROUP = "lab-hand", "hand_hosts"
NOBODY = "10.222.0.239"
CLAIM = "/var/lib/kubeadm-control-plane/claim.json"
DOMAINS = ("a", "b", "c")
MANIFESTS = "/etc/kubernetes/manifests"


class Lab:
    """Machines with a cluster that somebody made by hand, another one with kubeadm on it, and a user who wants to adopt."""

    def __init__(self, folder: Path, count: int) -> None:
        self.pool = HostPool(folder, "hand")
        # The first by name is the spare: the provider takes free hosts by name.
        [self.spare, *self.hosts] = self.pool.make(1 + count)
        self.hand = ByHand(self.pool, CLUSTER, self.hosts)
        self.user = Workspace(folder / "user")
        racks = {**dict(zip(self.hosts, DOMAINS)), self.spare: DOMAINS[-1]}
        self.inventory = self.pool.inventory(
            GROUP, host_variables={name: {"rack": each} for name, each in racks.items()}
        )

    def adopt(self, *more: str, inventory: t.Optional[Path] = None) -> Run:
        """Run adopt as a user types it."""
        wanted = ("-e", f"control_plane_adopt={CLUSTER}", "-e", f"control_plane_adopt_group={GROUP}")
        more_of_it = {"kubeadm": self.pool.needs, "failureDomainVariable": "rack"}
        template = json.dumps({"control_plane_adopt_template": more_of_it})
        return self.user.playbook("adopt", "-i", str(inventory or self.inventory), *wanted, "-e", template, *more)

    def play(self, playbook: str, *more: str) -> Run:
        """Run a playbook on the adopted cluster."""
        return self.user.playbook(playbook, "-i", str(self.inventory), "--limit", CLUSTER, *more)

    def written(self) -> list[str]:
        """Every file that a run left: objects and manifests, not the lock's."""
        files = [each for each in self.user.store.rglob("*.yaml") if "locks" not in each.parts]
        return sorted(
            str(each) for each in [*files, *(self.user.folder / "clusters").iterdir()] if each.name != "store.yaml"
        )

    def contents(self) -> dict[str, bytes]:
        """These files with what is in them."""
        return {each: Path(each).read_bytes() for each in self.written()}

    def claims(self) -> list[str]:
        """The hosts that carry a claim."""
        return [each for each in [self.spare, *self.hosts] if self.pool.ssh(each, f"cat {CLAIM} 2>/dev/null || true")]

    def running(self) -> dict[str, str]:
        """What runs on each of its hosts; of the components that end when they lose their lease, what they were started from."""
        seen = f"pgrep -l '^(etcd|kube-apiserver|kubelet)$'; stat -c '%n %i %Y' {MANIFESTS}/*.yaml"
        return {each: self.pool.ssh(each, seen) for each in self.hosts}


@pytest.fixture(scope="module")
def lab(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[Lab]:
    """Machines with kubeadm on them, and the cluster that somebody made of one, or of three where a test needs them."""
    ours = [each for each in request.session.items if each.path == request.path]
    full = any(each.get_closest_marker("full") for each in ours)
    made = Lab(tmp_path_factory.mktemp("adoption"), 3 if full else 1)
    try:
        made.hand.make({"apiServer": {"extraArgs": {"audit-log-maxage": "7"}}})
        # A plan waits for a Node whose kubelet has just begun.
        made.hand.kubectl("wait --for=condition=Ready node --all --timeout=180s")
        yield made
    finally:
        made.hand.remove()
        made.pool.remove()


def test_check_mode_shows_what_would_be_written(lab: Lab) -> None:
    """The manifest is shown, no key is, not even at -vvv, and nothing is written anywhere."""
    run = lab.adopt("--check", "-vvv").succeeded()
    key = lab.pool.ssh(lab.hosts[0], "cat /etc/kubernetes/pki/ca.key").splitlines()
    assert "PRIVATE KEY" in key[0] and not [line for line in key[1:-1] if line in run.output]
    assert f"would create Machine default/{lab.hosts[0]}" in run.output
    assert "kind: KubeadmControlPlane" in run.output
    assert lab.written() == [] and lab.claims() == []


@pytest.mark.full
def test_what_speaks_against_it(lab: Lab) -> None:
    """Two names of one machine, a machine that nobody reaches, a manifest that contradicts what runs: shown, and nothing is done."""
    one, two, three = lab.hosts
    wrong = {two: {"ansible_host": lab.pool.addresses[one]}}
    run = lab.adopt(inventory=lab.pool.inventory(GROUP, host_variables=wrong, path="wrong.yml")).failed()
    assert f"WrongHost: {one}, {two}: these names lead to one and the same machine" in run.text, run.output[-6000:]

    wrong = {three: {"ansible_host": NOBODY}}
    run = lab.adopt(inventory=lab.pool.inventory(GROUP, host_variables=wrong, path="wrong.yml")).failed()
    assert f"HostUnreachable: {three}: " in run.text, run.output[-6000:]

    run = lab.adopt(inventory=lab.pool.inventory(GROUP, hosts=[lab.spare, one, two], path="wrong.yml")).failed()
    assert f"UnknownNode: control plane Node {three} belongs to none of the hosts" in run.text, run.output[-6000:]

    documents = cluster_documents(CLUSTER, replicas=5)
    pool_documents(documents, {"group": GROUP, "kubeadm": lab.pool.needs}, "10.222.0.238")
    path = lab.user.write(CLUSTER, yaml.safe_dump_all(documents))
    run = lab.adopt().failed()
    assert "KubeadmControlPlane spec.replicas: the manifest says 5, and 3 runs" in run.text, run.output[-6000:]
    assert (
        f"Cluster spec.controlPlaneEndpoint: the manifest says 10.222.0.238:6443, and {lab.hand.balancer}:6443 runs"
        in run.text
    )
    assert "spec.kubeadmConfigSpec.clusterConfiguration.apiServer" in run.text
    path.unlink()
    assert lab.written() == [] and lab.claims() == []


def test_a_cluster_made_by_hand_is_adopted(lab: Lab, artefacts: Path) -> None:
    """Its manifest says what runs, the plan that follows is empty, and neither adopt nor reconcile changes anything again."""
    running = lab.running()
    began = time.monotonic()
    run = lab.adopt().succeeded()
    (artefacts / "adopt.log").write_text(f"{time.monotonic() - began:.1f} s\n{run.output}")
    assert lab.claims() == lab.hosts
    documents = {
        each["kind"]: each
        for each in yaml.safe_load_all((lab.user.folder / "clusters" / f"{CLUSTER}.yaml").read_text())
    }
    spec = documents["KubeadmControlPlane"]["spec"]
    assert (spec["replicas"], spec["version"]) == (len(lab.hosts), VERSION)
    assert spec["kubeadmConfigSpec"]["clusterConfiguration"] == {
        "apiServer": {"extraArgs": [{"name": "audit-log-maxage", "value": "7"}]},
        "clusterName": "kubernetes",
    }
    domains = [each["spec"]["failureDomain"] for each in lab.user.objects("Machine")]
    assert domains == list(DOMAINS[: len(lab.hosts)])
    assert documents["InventoryCluster"]["spec"]["controlPlaneEndpoint"] == {"host": lab.hand.balancer, "port": 6443}

    plan = lab.play("plan").succeeded()
    assert "nothing to do" in plan.text.lower(), plan.output[-6000:]
    before = lab.contents()
    assert lab.adopt().succeeded().recap("localhost")["changed"] == 0
    assert lab.contents() == before
    assert lab.play("reconcile").succeeded().recap(CLUSTER)["changed"] == 0
    assert lab.running() == running


@pytest.mark.full
def test_machine_objects_without_a_controller(lab: Lab) -> None:
    """As an older Cluster API left them: all are taken over in one step, the spec is made from their KubeadmConfigs, and no machine is touched."""
    running = lab.running()
    manifest = lab.user.folder / "clusters" / f"{CLUSTER}.yaml"
    original = manifest.read_text()
    documents = [each for each in yaml.safe_load_all(original) if each]
    before = documents[1]["spec"].pop("kubeadmConfigSpec")
    manifest.write_text(yaml.safe_dump_all(documents))
    for kind in ("machine", "kubeadmcontrolplane"):
        for path in lab.user.store.glob(f"default/{kind}.*/*.yaml"):
            document = yaml.safe_load(path.read_text())
            document["metadata"].pop("ownerReferences", None)
            document["spec"].pop("kubeadmConfigSpec", None)
            path.write_text(yaml.safe_dump(document))
    plan = lab.play("plan").succeeded()
    assert all(host in plan.text for host in lab.hosts) and "without a controller" in plan.text, plan.output[-6000:]
    run = lab.play("reconcile").succeeded()
    assert all(f"adopt Machine {host}" in run.text for host in lab.hosts), run.output[-6000:]
    owners = [each["metadata"]["ownerReferences"][0] for each in lab.user.objects("Machine")]
    assert [(each["kind"], each["controller"]) for each in owners] == [("KubeadmControlPlane", True)] * 3
    [control_plane] = lab.user.objects("KubeadmControlPlane")
    assert control_plane["spec"]["kubeadmConfigSpec"]["clusterConfiguration"] == before["clusterConfiguration"]
    assert lab.play("reconcile").succeeded().recap(CLUSTER)["changed"] == 0
    manifest.write_text(original)
    assert "nothing to do" in lab.play("plan").succeeded().text.lower()
    assert lab.running() == running


@pytest.mark.full
def test_a_flag_edited_by_hand_is_shown(lab: Lab) -> None:
    """Status and plan tell it, and nothing is done about it."""
    edited = lab.hosts[1]
    lab.pool.ssh(
        edited, f"sed -i 's/^    - kube-scheduler$/&\\n    - --kube-api-burst=101/' {MANIFESTS}/kube-scheduler.yaml"
    )
    words = f"kube-scheduler of {edited}: --kube-api-burst is neither kubeadm's own nor in the spec"
    end = time.monotonic() + 120
    # The kubelet starts the scheduler anew first.
    while words not in (plan := lab.play("plan").succeeded()).text:
        assert time.monotonic() < end, plan.output[-6000:]
    assert "nothing to do" in plan.text.lower(), plan.output[-6000:]
    assert words in lab.play("status").succeeded().text
    assert lab.play("reconcile").succeeded().recap(CLUSTER)["changed"] == 0


@pytest.mark.full
def test_hosts_that_answer_as_somebody_else(lab: Lab) -> None:
    """An adopted machine is known by its machine-id: a name that leads to another one is refused."""
    one, two, _three = lab.hosts
    wrong = {one: {"ansible_host": lab.pool.addresses[two]}, two: {"ansible_host": lab.pool.addresses[one]}}
    run = lab.adopt(inventory=lab.pool.inventory(GROUP, host_variables=wrong, path="wrong.yml")).failed()
    assert f"WrongHost: {one}: " in run.text and f"WrongHost: {two}: " in run.text, run.output[-6000:]


@pytest.mark.full
def test_an_adopted_machine_is_replaced_and_old_tokens_work(lab: Lab) -> None:
    """A fresh host of the group takes its place, the released one carries nothing of kubeadm's, and a token issued before is good there."""
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "before", "annotations": {"kubernetes.io/service-account.name": "default"}},
        "type": "kubernetes.io/service-account-token",
    }
    lab.pool.ssh(lab.hosts[0], f"echo '{json.dumps(secret)}' | {KUBECTL} apply -f -")
    token = ""
    end = time.monotonic() + 30
    while not token:
        assert time.monotonic() < end
        token = lab.hand.kubectl("get secret before -o jsonpath={.data.token} | base64 -d")
    victim = lab.hosts[2]
    lab.play("remediate", "-e", f"control_plane_machines={victim}").succeeded()
    assert lab.claims() == sorted([lab.spare, *lab.hosts[:2]])
    left = lab.pool.ssh(
        victim, "find /etc/kubernetes/manifests /var/lib/etcd -mindepth 1; pgrep -x etcd || true", check=False
    )
    assert left == ""
    [new] = [
        each["status"]["connection"]["inventoryHost"]
        for each in lab.user.objects("InventoryMachine")
        if each["metadata"]["name"] not in lab.hosts
    ]
    assert new == lab.spare
    said = lab.pool.ssh(
        new,
        f"curl -sS --cacert /etc/kubernetes/pki/ca.crt -H 'Authorization: Bearer {token}' -o /dev/null -w '%{{http_code}}' "
        f"https://{lab.pool.addresses[new]}:6443/api",
    )
    assert said == "200"
    assert "nothing to do" in lab.play("plan").succeeded().text.lower()


@pytest.mark.full
def test_deleted_everything_is_a_plain_host_again(lab: Lab) -> None:
    """Every host is back in the pool, whoever made the cluster on it."""
    lab.play("delete", "-e", f"control_plane_delete={CLUSTER}").succeeded()
    assert lab.claims() == []
    for host in [lab.spare, *lab.hosts]:
        left = lab.pool.ssh(host, "ls /etc/kubernetes/pki/ca.crt /etc/kubernetes/manifests/* 2>/dev/null || true")
        assert left == "", host
