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
from host_pool import AWAY, GROUP, claimed, pool_documents
from workspace import Run, Workspace, cluster_documents

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.values import now_rfc3339
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects import kinds
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.manifest.reader import read_cluster
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.pki.kubeconfig import ensure_kubeconfig
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.pki.secrets import ensure_certificates
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records import machine_objects, stored_cluster
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.cluster_objects import ClusterObjects
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import FileStore

NAME = "pool"
SECRET = "correct horse battery"
ROOT = Path(__file__).resolve().parents[2]
CLAIM = Path("/var/lib/kubeadm-control-plane/claim.json")
HERE = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """A user's folder."""
    return Workspace(tmp_path / "workspace")


def wrong(
    name: str,
    spec: t.Optional[dict[str, t.Any]] = None,
    endpoint: str = "192.0.2.10",
    change: t.Callable[[list[dict[str, t.Any]]], t.Any] = lambda documents: None,
    **options: t.Any,
) -> str:
    """The manifest of a cluster over these hosts that can't be made."""
    documents = cluster_documents(name, **{"replicas": 1, "version": "v1.20.77", **options})
    pool_documents(documents, {"group": GROUP, **(spec or {})}, endpoint)
    documents[0]["metadata"]["annotations"] = {"kubeadm.control-plane/endpoint-is-unused": "true"}
    change(documents)
    return str(yaml.safe_dump_all(documents, sort_keys=False))


def reconcile(
    workspace: Workspace,
    hosts: t.Mapping[str, t.Any],
    spec: t.Mapping[str, t.Any],
    endpoint: str = "192.0.2.10",
    arguments: t.Sequence[str] = (),
) -> Run:
    """Reconcile a cluster over these hosts, a version that no host has."""
    workspace.write(NAME, wrong(NAME, dict(spec), endpoint))
    inventory = workspace.folder / "hosts.yml"
    inventory.write_text(yaml.safe_dump({"all": {"children": {GROUP: {"hosts": dict(hosts)}}}}))
    return workspace.playbook("reconcile", "-i", str(inventory), "-e", "machine_inventory_timeout=2", *arguments)


def of_kind(prefix: str) -> t.Callable[[list[dict[str, t.Any]]], t.Any]:
    """A change of the infrastructure's kinds."""

    def change(documents: list[dict[str, t.Any]]) -> None:
        for each in (documents[0]["spec"]["infrastructureRef"], documents[3]):
            each["kind"] = f"{prefix}Cluster"
        reference = documents[1]["spec"]["machineTemplate"]["spec"]["infrastructureRef"]
        reference["kind"] = documents[2]["kind"] = f"{prefix}MachineTemplate"

    return change


def external_etcd(documents: list[dict[str, t.Any]]) -> None:
    """An external etcd whose authority the manifest doesn't have."""
    etcd = {"external": {"endpoints": ["https://192.0.2.1:2379"]}}
    documents[1]["spec"]["kubeadmConfigSpec"]["clusterConfiguration"] = {"etcd": etcd}


# What each cluster is wrong in, and how it is said.
WRONG: dict[str, tuple[str, tuple[str, ...]]] = {
    "away": (
        wrong("away", {"group": "aways"}),
        (
            "1 free host of the inventory group aways is needed, and none fits",
            "machine on the host gone was not reached",
        ),
    ),
    "group": (wrong("group", {"group": "kubeadm_pols"}), ("no group kubeadm_pols", "spec.template.spec.group")),
    "few": (
        wrong("few", replicas=5),
        (f"5 free hosts of the inventory group {GROUP} are needed, and none fits", "(KubeadmVersion)", "here-1"),
    ),
    "domain": (
        wrong("domain", {"failureDomainVariable": "rack"}),
        ("its variable rack must be", "failureDomainVariable"),
    ),
    "endpoint": (wrong("endpoint", endpoint=""), ("no control plane endpoint", "machine_inventory_endpoint_role")),
    "unknown": (
        wrong("unknown", change=lambda documents: documents[0]["metadata"].pop("annotations")),
        (
            "whether a control plane already answers at 192.0.2.10:6443 can't be known from here",
            'set the annotation kubeadm.control-plane/endpoint-is-unused: "true" on the Cluster',
        ),
    ),
    "role": (wrong("role", change=of_kind("Acme")), ("machines.none' was not found", "control_plane_more_providers")),
    "etcd": (wrong("etcd", change=external_etcd), ("Secret etcd-etcd is missing", "Add the external etcd's CA")),
}
ROLES = {"control_plane_more_providers": dict.fromkeys(("AcmeCluster", "AcmeMachineTemplate"), "acme.machines.none")}


@pytest.mark.parametrize("told", [("check_hosts",), ("reconcile",)], ids=" ".join)
def test_what_would_stop_a_run_is_said_before_anything_is_written(workspace: Workspace, told: tuple[str, ...]) -> None:
    """None of these has a plan that comes to its end; nobody has to make half a cluster to learn that."""
    for name, (manifest, _words) in WRONG.items():
        workspace.write(name, manifest)
    here = {f"here-{number}": HERE for number in range(1, 5)}
    inventory = workspace.folder / "hosts.yml"
    inventory.write_text(yaml.safe_dump({GROUP: {"hosts": here}, "aways": {"hosts": {"gone": AWAY}}}))
    run = workspace.playbook(*told, "-i", str(inventory), "-e", json.dumps(ROLES)).failed()
    assert "nothing is left to do" not in run.text and "Traceback" not in run.output
    for name, (_manifest, words) in WRONG.items():
        assert run.recap(name)["failed"] == 1, (name, run.output[-5000:])
        for each in words:
            assert each in run.text, (name, each, run.output)
    assert not [path for path in workspace.store.rglob("*.yaml") if path.name != "store.yaml"]
    assert not CLAIM.exists()


def test_the_table_of_hosts(workspace: Workspace) -> None:
    """Each host with what it lacks and what to do, also those that are not needed."""
    workspace.write(
        "pool", wrong("pool", {"failureDomainVariable": "zone", "selector": {"matchVariables": {"use": "cp"}}})
    )
    hosts = {
        "cp-1": {**HERE, "zone": "a", "use": "cp"},
        "cp-2": {**AWAY, "zone": "b", "use": "cp"},
        "cp-3": {**HERE, "zone": "b", "use": "worker"},
    }
    (workspace.folder / "hosts.yml").write_text(yaml.safe_dump({GROUP: {"hosts": hosts}}))
    run = workspace.playbook("check_hosts", "-i", "hosts.yml").failed()
    table = run.output.partition("HOSTS default/pool")[2].partition("TASK")[0]
    assert f"v1.20.77, 1 replica wanted, inventory group {GROUP}" in table, run.output
    lines = {line.split()[0]: line for line in table.splitlines() if line.startswith("  cp-")}
    assert sorted(lines) == ["cp-1", "cp-2", "cp-3"]
    assert lines["cp-1"].split()[1] == "a" and "(KubeadmVersion)" in table and "to do: Install v1.20.77" in table
    assert "machine on the host cp-2 was not reached" in lines["cp-2"] and "(Reachable)" in table
    assert "the selector wants use=cp, and it has another value (Selector)" in lines["cp-3"]
    assert "1 in the failure domain a, where none fits" in table
    assert not workspace.store.exists()


def test_a_pool_in_which_no_host_fits(workspace: Workspace) -> None:
    """A host with another kubeadm or none, one that doesn't answer, one that the selector leaves out, one that becomes root as can't be."""
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
        f"1 free host of the inventory group {GROUP} is needed: 1 in the failure domain a, where none fits",
        "here: ",
        "(KubeadmVersion)",
        "away: machine on the host away was not reached",
        "other: the selector wants use=control-plane, and it has another value (Selector)",
        "su: machine",
        "becomes root by su",
        "Nothing was stored",
        "Safe now? Yes: no step was under way, and this run had not begun to change anything",
    ):
        assert words in run.text, run.output[-5000:]
    assert "far: " not in run.text
    assert not workspace.objects("InventoryMachine") and not workspace.objects("Cluster")


def test_a_first_machine_in_a_failure_domain_whose_hosts_are_gone(workspace: Workspace) -> None:
    """It stays where it was placed, each run says how to have another one made, and that one is placed where there are hosts."""
    spec = {"failureDomainVariable": "zone"}
    name = begun(workspace, wrong(NAME, spec), "a", ["a", "b"])
    left = {"far": {**HERE, "zone": "b"}}
    refused = reconcile(workspace, left, spec).failed()
    assert "1 in the failure domain a, where none fits" in refused.text, refused.output[-5000:]
    assert (
        f"have another machine made in its place (playbook remediate with --limit CLUSTER -e control_plane_machines={name})"
        in refused.text
    )
    arguments = ("-i", str(workspace.folder / "hosts.yml"), "-e", "machine_inventory_timeout=2")
    again = workspace.playbook("remediate", *arguments, "-e", f"control_plane_machines={name}").failed()
    assert "1 in the failure domain b, where none fits" in again.text, again.output[-5000:]
    assert not workspace.objects("Machine")


def begun(workspace: Workspace, manifest: str, domain: str, domains: t.Sequence[str]) -> str:
    """Store a cluster whose first machine was begun in a failure domain, and return that machine's name."""
    path = workspace.write(NAME, manifest)
    store = FileStore(str(workspace.store))
    stored_cluster.apply_manifest(store, read_cluster([str(path)], "default", NAME))

    def made(stored: dict[str, t.Any]) -> None:
        found = [{"name": each, "controlPlane": True} for each in domains]
        stored["status"] = {"initialization": {"provisioned": True}, "failureDomains": found}

    store.modify(("infrastructure.cluster.x-k8s.io", "InventoryCluster"), "default", NAME, made)
    endpoint = {"host": "192.0.2.10", "port": 6443}
    cluster = (kinds.GROUP_CLUSTER, kinds.CLUSTER)
    store.modify(cluster, "default", NAME, lambda stored: stored["spec"].update(controlPlaneEndpoint=endpoint))
    objects = ClusterObjects.read(store, "default", NAME)
    assert objects is not None and objects.control_plane is not None
    now = now_rfc3339()
    ensure_certificates(store, objects.cluster, objects.control_plane, now, False)
    ensure_kubeconfig(store, objects.cluster, objects.control_plane, endpoint, now)
    return machine_objects.create_machine(objects, "init", None, domain)


def test_a_group_that_the_operator_does_not_permit(workspace: Workspace) -> None:
    """Before a host is asked; the list may stand beside the inventory, and hold templates of the operator's own."""
    variables = workspace.folder / "group_vars" / "control_planes.yml"
    variables.parent.mkdir()
    variables.write_text("machine_inventory_groups: [\"{{ 'spare' }}_pool\"]\n")
    run = reconcile(workspace, {"here": HERE}, {}).failed()
    said = f"names the inventory group {GROUP}, and machine_inventory_groups has only spare_pool (HostPoolInvalid)."
    assert said in run.text, run.output[-5000:]
    assert not workspace.objects("Cluster")
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
    assert not workspace.objects("Cluster")


def test_the_example_folder_works_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user's first commands in a copy of it: what is still to be done, and the hosts with what holds for them."""
    monkeypatch.delenv("ANSIBLE_CONFIG", raising=False)
    folder = Path(shutil.copytree(ROOT / "examples" / "existing_hosts", tmp_path / "clusters"))
    (folder / "group_vars" / "all.yml").write_text("ansible_connection: local\n")
    run = Workspace.run(["ansible-playbook", "kubeadm.control_plane.plan"], folder).failed()
    assert "3 free hosts of the inventory group kubeadm_pool are needed: 1 in the failure domain a" in run.text, (
        run.output
    )
    assert "endpoint-is-unused" in run.text and "endpoint-is-unused" in (folder / "clusters" / "prod.yaml").read_text()
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
