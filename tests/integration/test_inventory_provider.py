# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is refused before any host is touched, through the real playbooks. The hosts are this one, which carries no kubeadm of the wanted version."""

from __future__ import annotations

import json
import shutil
import sys
import typing as t
from pathlib import Path

import pytest
import yaml
from host_pool import GROUP, pool_documents
from tasks import Playbook
from workspace import Run, Workspace, cluster_documents

from ansible_collections.kubeadm.control_plane.plugins.module_utils.store.file import FileStore

NAME = "pool"
SECRET = "correct horse battery"
ROOT = Path(__file__).resolve().parents[2]
CLAIM = Path("/var/lib/kubeadm-control-plane/claim.json")
HERE = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
# Nothing listens on port 1: a host that doesn't answer, at once.
AWAY = {"ansible_host": "127.0.0.1", "ansible_port": 1, "ansible_connection": "ssh"}


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """A user's folder."""
    return Workspace(tmp_path / "workspace")


def reconcile(
    workspace: Workspace,
    hosts: t.Mapping[str, t.Any],
    spec: t.Mapping[str, t.Any],
    endpoint: str = "192.0.2.10",
    arguments: t.Sequence[str] = (),
) -> Run:
    """Reconcile a cluster over these hosts, a version that no host has."""
    documents = cluster_documents(NAME, replicas=1, version="v1.20.77")
    pool_documents(documents, {"group": GROUP, **spec}, endpoint)
    documents[0]["metadata"]["annotations"] = {"kubeadm.control-plane/endpoint-is-unused": "true"}
    workspace.write(NAME, yaml.safe_dump_all(documents, sort_keys=False))
    inventory = workspace.folder / "hosts.yml"
    inventory.write_text(yaml.safe_dump({"all": {"children": {GROUP: {"hosts": dict(hosts)}}}}))
    return workspace.playbook("reconcile", "-i", str(inventory), "-e", "machine_inventory_timeout=2", *arguments)


def test_a_pool_in_which_no_host_fits(workspace: Workspace) -> None:
    """A host with another kubeadm or none, one that doesn't answer, one that the selector leaves out, one of another failure domain."""
    hosts = {
        "here": {**HERE, "zone": "a", "use": "control-plane"},
        "away": {**AWAY, "zone": "a", "use": "control-plane"},
        "other": {**HERE, "zone": "a", "use": "worker"},
        "far": {**HERE, "zone": "b", "use": "control-plane"},
        "su": {**HERE, "zone": "a", "use": "control-plane", "ansible_become": True, "ansible_become_method": "su"},
    }
    spec = {"selector": {"matchVariables": {"use": "control-plane"}}, "failureDomainVariable": "zone"}
    run = reconcile(workspace, hosts, spec).failed()
    for words in (
        f"no host of the inventory group {GROUP} in the failure domain a can become machine {NAME}-control-plane-",
        "here: ",
        "(KubeadmVersion)",
        "away: machine",
        "was not reached",
        "other: the selector wants use=control-plane, and it has another value",
        "far: it is in the failure domain b",
        "su: machine",
        "becomes root by su",
        "No host was changed",
        "Safe now?",
    ):
        assert words in run.text, run.output[-5000:]
    [machine] = [each for each in workspace.objects("InventoryMachine") if each["kind"] == "InventoryMachine"]
    assert not machine["status"].get("claim")
    [cluster] = workspace.objects("InventoryCluster")
    assert [each["name"] for each in cluster["status"]["failureDomains"]] == ["a", "b"]


def test_a_first_machine_in_a_failure_domain_whose_hosts_are_gone(workspace: Workspace) -> None:
    """It stays where it was placed, each run says how to have another one, and that one is placed where there are hosts."""
    spec = {"failureDomainVariable": "zone"}
    reconcile(workspace, {"here": {**HERE, "zone": "a"}, "far": {**HERE, "zone": "b"}}, spec).failed()
    [name] = [each["metadata"]["name"] for each in workspace.objects("Machine")]
    left = {"far": {**HERE, "zone": "b"}}
    refused = reconcile(workspace, left, spec).failed()
    assert "in the failure domain a can become machine" in refused.text
    assert f"playbook remediate with -e control_plane_machines={name}" in refused.text
    arguments = ("-i", str(workspace.folder / "hosts.yml"), "-e", "machine_inventory_timeout=2")
    again = workspace.playbook("remediate", *arguments, "-e", f"control_plane_machines={name}").failed()
    assert "in the failure domain b can become machine" in again.text, again.text
    [other] = workspace.objects("Machine")
    assert other["metadata"]["name"] != name and other["spec"]["failureDomain"] == "b"


def test_a_group_that_the_inventory_does_not_have(workspace: Workspace) -> None:
    run = reconcile(workspace, {"here": HERE}, {"group": "kubeadm_pols"}).failed()
    assert "the inventory has no group kubeadm_pols" in run.text, run.output[-5000:]


def test_a_group_that_the_operator_does_not_permit(workspace: Workspace) -> None:
    """Before a host is asked; the list may stand beside the inventory, and hold templates of the operator's own."""
    variables = workspace.folder / "group_vars" / "control_planes.yml"
    variables.parent.mkdir()
    variables.write_text("machine_inventory_groups: [\"{{ 'spare' }}_pool\"]\n")
    run = reconcile(workspace, {"here": HERE}, {}).failed()
    said = f"names the inventory group {GROUP}, and machine_inventory_groups has only spare_pool. Nothing was done."
    assert said in run.text, run.output[-5000:]
    assert not any(each["status"].get("claim") for each in workspace.objects("InventoryMachine"))
    variables.write_text(f"machine_inventory_groups: [spare_pool, {GROUP}]\n")
    assert "(KubeadmVersion)" in reconcile(workspace, {"here": HERE}, {}).failed().text


def test_a_template_shows_no_value_of_a_hosts_variables(workspace: Workspace) -> None:
    hosts = {"here": {**HERE, "ansible_become_password": SECRET, "note": SECRET}}
    for spec in (
        {"failureDomainVariable": "note"},
        {"selector": {"matchVariables": {"note": "other"}}},
        {"addressVariable": "note"},
        {"failureDomainVariable": "ansible_become_password"},
    ):
        run = reconcile(workspace, hosts, spec, arguments=("-vvv",)).failed()
        assert "note" in run.text or "a variable of Ansible's own" in run.text, run.output[-5000:]
        assert SECRET not in run.output
    stored = "".join(path.read_text() for path in workspace.store.rglob("*.yaml"))
    assert SECRET not in stored


def test_an_endpoint_is_needed(workspace: Workspace) -> None:
    run = reconcile(workspace, {"here": HERE}, {}, endpoint="").failed()
    assert "no control plane endpoint" in run.text and "spec.controlPlaneEndpoint" in run.text, run.output[-5000:]


def test_the_example_folder_works_as_it_is(tmp_path: Path) -> None:
    """A user's first commands in a copy of it: the plan up to three machines, and the hosts with what holds for them."""
    folder = tmp_path / "clusters"
    shutil.copytree(ROOT / "examples" / "existing_hosts", folder)
    run = Workspace.run(["ansible-playbook", "kubeadm.control_plane.plan"], folder).succeeded()
    assert run.output.count("join a new machine") == 2 and "3 of 3 replicas, all up to date" in run.text, run.output
    shown = Workspace.run(["ansible-inventory", "--host", "cp-3"], folder).succeeded()
    variables = json.loads(shown.output)
    assert variables["ansible_become"] is True and variables["zone"] == "c"
    assert "ProxyJump" in variables["ansible_ssh_common_args"]
    assert not (folder / "store").exists()


def test_the_question_that_the_documentation_asks_of_each_host(tmp_path: Path) -> None:
    """An ad hoc call in check mode names everything at once and writes nothing."""
    hosts = tmp_path / "hosts.yml"
    hosts.write_text(yaml.safe_dump({GROUP: {"hosts": {"here": HERE}}}))
    module = ["-m", "kubeadm.control_plane.host_claim", "--check"]
    arguments = "id=nobody cluster=prod machine=any kubernetes_version=v1.20.77 controller_time=86400"
    run = Workspace.run(["ansible", "-i", str(hosts), GROUP, *module, "-a", arguments], tmp_path).failed()
    for check in ("KubeadmVersion", "KubeletVersion", "ClockSkew"):
        assert f"({check})" in run.text, run.output
    assert not CLAIM.exists()


class Stored:
    """A stored cluster with one machine whose host was claimed, and calls of the module that releases it."""

    def __init__(self, folder: Path, **status: t.Any) -> None:
        self.store = FileStore(str(folder / "store"))
        self._playbook = Playbook(folder, "", "", {"localhost": {}, "away": AWAY})
        for document in cluster_documents("prod", replicas=1)[:2]:
            self.store.create(document)
        self.store.create(
            {
                "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1",
                "kind": "InventoryMachine",
                "metadata": {"name": "m1", "namespace": "default"},
                "spec": {"group": GROUP},
                "status": status,
            }
        )
        self._path = folder / "store"

    def release(self, **options: t.Any) -> dict[str, t.Any]:
        """Release the machine's host; its failure is a result."""
        arguments = {
            "cluster": "prod",
            "store": {"path": str(self._path)},
            "name": "m1",
            "state": "absent",
            "timeout": 2,
        }
        task = {
            "kubeadm.control_plane.inventory_machine": {**arguments, **options},
            "register": "result",
            "ignore_errors": True,
        }
        found = self._path.parent / "result.json"
        keep = {"ansible.builtin.copy": {"content": "{{ result | to_json }}", "dest": str(found), "mode": "0600"}}
        self._playbook.play([{"name": "Release", **task}, {"name": "Keep", **keep}])
        return dict(json.loads(found.read_text()))

    def status(self) -> dict[str, t.Any]:
        """The machine's stored status."""
        found = self.store.get(("infrastructure.cluster.x-k8s.io", "InventoryMachine"), "default", "m1")
        assert found is not None
        return dict(found["status"])


def test_a_machine_with_the_name_of_its_host_is_hidden_with_its_inventory(workspace: Workspace) -> None:
    """As adopted machines have it: the clusters' inventory has a host of that name, but not how it is reached."""
    store = FileStore(str(workspace.store))
    cluster, control_plane = cluster_documents("prod", replicas=1)[:2]
    labels = {"cluster.x-k8s.io/cluster-name": "prod", "cluster.x-k8s.io/control-plane": ""}
    metadata = {"name": "away", "namespace": "default", "labels": labels}
    reference = {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "InventoryMachine", "name": "away"}
    spec = {"clusterName": "prod", "version": "v1.20.2", "infrastructureRef": reference}
    for document in (
        cluster,
        control_plane,
        {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "metadata": metadata, "spec": spec},
        {
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1",
            "kind": "InventoryMachine",
            "metadata": metadata,
            "spec": {"group": GROUP},
            "status": claimed("away"),
        },
    ):
        store.create(document)
    arguments = {"cluster": "prod", "store": {"path": str(workspace.store)}, "names": ["away"]}
    workspace.write_playbook("look.yml", {"kubeadm.control_plane.inventory_machine_info": arguments})
    hidden = workspace.playbook("look.yml").succeeded()
    assert "its inventory host away is not in this run's inventory" in hidden.text, hidden.output
    hosts = workspace.folder / "hosts.yml"
    hosts.write_text(yaml.safe_dump({GROUP: {"hosts": {"away": AWAY}}}))
    for order in (
        ("-i", str(hosts), "-i", "inventory.clusters.yml"),
        ("-i", "inventory.clusters.yml", "-i", str(hosts)),
    ):
        run = Workspace.run(["ansible-playbook", *order, "look.yml"], workspace.folder).succeeded()
        assert "not in this run's inventory" not in run.text, run.output


def claimed(host: str, state: str = "Claimed") -> dict[str, t.Any]:
    """The status of a machine with that host."""
    claim = {"inventoryHost": host, "id": "id-1", "state": state}
    return {"claim": claim, "connection": {"inventoryHost": host}, "machineID": "0" * 32, "state": "running"}


def test_a_host_that_left_the_inventory_is_released_only_with_consent(tmp_path: Path) -> None:
    """What is on it can't be wiped: that is said, and a lost host is given up by its name."""
    stored = Stored(tmp_path, **claimed("burnt"))
    result = stored.release()
    assert result["failed"] and "inventory host burnt, which this run's inventory does not have" in result["msg"]
    assert "-e machine_inventory_consent_forget=burnt" in result["msg"]
    assert stored.status()["claim"]["state"] == "Claimed"
    assert stored.release(consent_forget=["other"])["failed"]
    result = stored.release(consent_forget=["burnt"])
    assert result["changed"] and "given up unwiped" in result["msg"]
    assert stored.status()["claim"]["state"] == "Released" and stored.status()["state"] == "missing"
    assert stored.release() == {**stored.release(), "changed": False, "failed": False}


def test_a_host_that_does_not_answer_stays_claimed(tmp_path: Path) -> None:
    """SSH that fails is no evidence: nothing is given up."""
    stored = Stored(tmp_path, **claimed("away"))
    result = stored.release()
    assert result["failed"] and "inventory host away was not reached" in result["msg"]
    assert "machine_inventory_consent_forget=away" in result["msg"]
    # That the release was begun is kept: by the next call the host may have been wiped by this one.
    assert stored.status()["claim"]["state"] == "Releasing" and stored.status()["state"] == "running"


def test_a_machine_without_a_host_has_nothing_to_release(tmp_path: Path) -> None:
    """Never claimed, or given back before."""
    stored = Stored(tmp_path)
    assert not stored.release()["changed"]
    assert not stored.release(name="unknown")["changed"]
