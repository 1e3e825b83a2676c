# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A control plane on its way from one provider's machines to another's, by the real playbooks on stand-ins for two accounts of a cloud."""

from __future__ import annotations

import json
import shutil
import typing as t
from pathlib import Path

import pytest
import yaml
from acme_workspace import ROLE, AcmeWorkspace
from killed_runs import locks_held, orphans

NAME = "prod"


def edit_variables(workspace: AcmeWorkspace, change: t.Callable[[dict[str, t.Any]], t.Any]) -> None:
    """Change the user's variables."""
    path = workspace.folder / "variables.yml"
    variables = yaml.safe_load(path.read_text())
    change(variables)
    path.write_text(yaml.safe_dump(variables))


@pytest.fixture(scope="module")
def two_providers(one_machine: AcmeWorkspace, tmp_path_factory: pytest.TempPathFactory) -> AcmeWorkspace:
    """A cluster of one machine, whose manifest has the template of a second provider by now, which knows nothing of that machine."""
    made = one_machine.copied(tmp_path_factory.mktemp("two-providers") / "workspace")
    role = Path(shutil.copytree(ROLE, made.folder / "roles" / "machine_other"))
    for path in role.rglob("*.yml"):
        path.write_text(path.read_text().replace("machine_acme", "machine_other"))

    def register(variables: dict[str, t.Any]) -> None:
        variables["control_plane_more_providers"]["OtherMachineTemplate"] = str(role)
        variables["machine_other_command"] = [*variables["machine_acme_command"], "--account=other"]

    edit_variables(made, register)
    manifest = made.folder / "clusters" / f"{NAME}.yaml"
    manifest.write_text(manifest.read_text().replace("AcmeMachineTemplate", "OtherMachineTemplate"))
    return made


@pytest.fixture
def workspace(two_providers: AcmeWorkspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AcmeWorkspace:
    """A copy of it, before its first run with both providers."""
    return two_providers.copied(tmp_path / "workspace").answering(monkeypatch)


def accounts(workspace: AcmeWorkspace) -> dict[str, str]:
    """The account of each machine of the cloud."""
    return {name: each["account"] for name, each in workspace.cloud()["machines"].items()}


def test_a_machine_is_replaced_and_its_own_provider_deletes_it(workspace: AcmeWorkspace) -> None:
    """It is healthy, so another one joins first; nothing of it stays."""
    [former] = accounts(workspace)
    workspace.playbook("reconcile").succeeded()
    journal = (workspace.store / "default" / "journal" / f"{NAME}.jsonl").read_text().splitlines()
    steps = [each["action"] for each in map(json.loads, journal) if each["event"] == "intent"]
    assert steps.index("join") < steps.index("remove"), steps
    [(machine, account)] = accounts(workspace).items()
    assert machine != former and account == "other"
    world = workspace.world()
    assert world["violations"] == [] and [each["name"] for each in world["members"]] == [machine]
    assert [each["metadata"]["name"] for each in workspace.objects("OtherMachine")] == [machine]
    assert workspace.objects("AcmeMachine") == [] and orphans(workspace, "OtherMachine") == []
    assert locks_held(workspace.store) == []
    assert workspace.playbook("reconcile").succeeded().recap(NAME)["changed"] == 0


def test_a_cluster_with_machines_of_two_providers_is_deleted(workspace: AcmeWorkspace) -> None:
    """Each one by its own."""
    workspace.playbook("reconcile", "-e", "control_plane_step_limit=1").failed()
    assert sorted(accounts(workspace).values()) == ["", "other"]
    workspace.playbook("delete", "-e", f"control_plane_delete={NAME}").succeeded()
    assert workspace.cloud()["machines"] == {} and workspace.world()["violations"] == []
    assert workspace.objects("Machine") == [] and workspace.objects("Cluster") == []
    assert workspace.objects("AcmeMachine") == [] and workspace.objects("OtherMachine") == []


def without_a_role(workspace: AcmeWorkspace) -> str:
    """Take the former provider's role away; returns what runs say."""
    edit_variables(workspace, lambda variables: variables["control_plane_more_providers"].pop("AcmeMachineTemplate"))
    return "no infrastructure provider for the kind AcmeMachineTemplate"


def without_its_deletion(workspace: AcmeWorkspace) -> str:
    """Give the former provider another role, which can delete nothing; returns what runs say."""
    role = Path(shutil.copytree(ROLE, workspace.folder / "roles" / "machine_former"))
    (role / "tasks" / "delete.yml").unlink()
    edit_variables(
        workspace, lambda variables: variables["control_plane_more_providers"].update(AcmeMachineTemplate=str(role))
    )
    return f"the role {role} has no task file delete"


def without_an_endpoint(workspace: AcmeWorkspace) -> str:
    """Give the cluster another role, which can't take a machine from behind the endpoint; returns what runs say."""
    role = Path(shutil.copytree(ROLE, workspace.folder / "roles" / "machine_front"))
    (role / "tasks" / "endpoint.yml").unlink()
    edit_variables(workspace, lambda variables: variables["control_plane_more_providers"].update(AcmeCluster=str(role)))
    return f"the role {role} has no task file endpoint"


Take = t.Callable[[AcmeWorkspace], str]
TAKEN = pytest.mark.parametrize("take", [without_a_role, without_its_deletion])
MISSING = pytest.mark.parametrize("take", [without_a_role, without_its_deletion, without_an_endpoint])


def refuse_unchanged(workspace: AcmeWorkspace, said: str, *runs: t.Sequence[str]) -> None:
    """Each run ends with that, and has marked nothing for deletion."""
    kinds = ("Cluster", "KubeadmControlPlane", "Machine", "AcmeMachine", "OtherMachine")
    before = accounts(workspace)
    for run in runs:
        done = workspace.playbook(*run).failed()
        assert said in done.text, done.output
    objects = [each["metadata"] for kind in kinds for each in workspace.objects(kind)]
    assert [each["name"] for each in objects if each.get("deletionTimestamp")] == []
    assert accounts(workspace) == before


@MISSING
def test_a_missing_role_is_reported_first(workspace: AcmeWorkspace, take: Take) -> None:
    """Before a machine is made whose former one could not be deleted then, and before the cluster is marked for deletion."""
    delete = ("delete", "-e", f"control_plane_delete={NAME}")
    first = ("plan",), ("check_hosts",), ("reconcile", "--check"), ("reconcile",)
    refuse_unchanged(workspace, take(workspace), *first, delete, (*delete, "--check"))
    assert workspace.objects("OtherMachine") == []


def test_a_task_file_that_a_role_itself_lacks_is_reported(workspace: AcmeWorkspace) -> None:
    """It can't be seen beforehand, and Ansible tells it in its own words, and tells no one else; the run ends as any that fails does."""
    extra = workspace.folder / "roles" / "machine_other" / "tasks" / "create.yml"
    include = {"name": "Ask the cloud", "ansible.builtin.include_role": {"name": str(ROLE), "tasks_from": "quota"}}
    extra.write_text(yaml.safe_dump([include]))
    run = workspace.playbook("reconcile").failed()
    assert "Could not find specified file in role: tasks/quota" in run.text, run.output
    assert "FAILED: what Ansible said of it is above" in run.text and "Under way: join" in run.text, run.output
    assert locks_held(workspace.store) == []


@pytest.fixture(scope="module")
def removal_first(two_providers: AcmeWorkspace, tmp_path_factory: pytest.TempPathFactory) -> AcmeWorkspace:
    """Three machines, of which the former provider's is to go before another one is made."""
    with pytest.MonkeyPatch.context() as patch:
        made = two_providers.copied(tmp_path_factory.mktemp("removal-first") / "workspace").answering(patch)
        documents = list(yaml.safe_load_all((made.folder / "clusters" / f"{NAME}.yaml").read_text()))
        [control_plane] = (each for each in documents if each["kind"] == "KubeadmControlPlane")
        control_plane["spec"]["replicas"] = 3
        made.write(NAME, yaml.safe_dump_all(documents))
        made.playbook("reconcile", "-e", "control_plane_step_limit=2").failed()
    assert sorted(accounts(made).values()) == ["", "other", "other"]
    control_plane["spec"]["rollout"] = {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0}}}
    made.write(NAME, yaml.safe_dump_all(documents))
    return made


@MISSING
def test_a_missing_role_is_reported_before_a_removal(
    removal_first: AcmeWorkspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, take: Take
) -> None:
    """Also where its machine goes before another one is made."""
    workspace = removal_first.copied(tmp_path / "workspace").answering(monkeypatch)
    refuse_unchanged(workspace, take(workspace), ("plan",), ("reconcile", "--check"), ("reconcile",))


def write_manifest(workspace: AcmeWorkspace, kind: str, workers: int, taint: str = "") -> None:
    """Write the manifest: one control plane machine, and workers of the same kind; another taint replaces the former."""
    documents = list(yaml.safe_load_all(workspace.manifest(NAME, replicas=1).read_text().replace("AcmeMachine", kind)))
    [control_plane] = (each for each in documents if each["kind"] == "KubeadmControlPlane")
    if taint:
        registration = {"taints": [{"key": taint, "effect": "PreferNoSchedule"}]}
        control_plane["spec"]["kubeadmConfigSpec"].setdefault("joinConfiguration", {})["nodeRegistration"] = (
            registration
        )
    metadata, group = {"name": f"{NAME}-workers", "namespace": "default"}, "cluster.x-k8s.io"
    made = {"apiGroup": f"infrastructure.{group}", "kind": f"{kind}Template", "name": metadata["name"]}
    config = {"apiGroup": f"bootstrap.{group}", "kind": "KubeadmConfigTemplate", "name": metadata["name"]}
    machine = {"clusterName": NAME, "version": control_plane["spec"]["version"], "infrastructureRef": made}
    template = {"spec": {**machine, "bootstrap": {"configRef": config}}}
    specs = {
        (f"{group}/v1beta2", "MachineDeployment"): {"clusterName": NAME, "replicas": workers, "template": template},
        (f"bootstrap.{group}/v1beta2", "KubeadmConfigTemplate"): {
            "template": {"spec": {"joinConfiguration": {"nodeRegistration": {}}}}
        },
        (f"infrastructure.{group}/v1beta1", f"{kind}Template"): {"template": {"spec": {"size": "small"}}},
    }
    for (version, each), spec in specs.items():
        documents.append({"apiVersion": version, "kind": each, "metadata": metadata, "spec": spec})
    workspace.write(NAME, yaml.safe_dump_all(documents))


@pytest.fixture(scope="module")
def made_with_workers(two_providers: AcmeWorkspace, tmp_path_factory: pytest.TempPathFactory) -> AcmeWorkspace:
    """A cluster whose control plane is the second provider's, with a worker of it and one of the former one, which are both to go."""
    with pytest.MonkeyPatch.context() as patch:
        made = two_providers.copied(tmp_path_factory.mktemp("with-workers") / "workspace").answering(patch)
        write_manifest(made, "AcmeMachine", 1)
        made.playbook("reconcile").succeeded()
        write_manifest(made, "OtherMachine", 1)
        made.playbook("reconcile", "-e", "control_plane_step_limit=3").failed()
    assert sorted(accounts(made).values()) == ["", "other", "other"]
    write_manifest(made, "OtherMachine", 0)
    return made


@pytest.fixture
def with_workers(made_with_workers: AcmeWorkspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AcmeWorkspace:
    """A copy of it."""
    return made_with_workers.copied(tmp_path / "workspace").answering(monkeypatch)


def test_a_workers_role_needs_no_endpoint(with_workers: AcmeWorkspace) -> None:
    """That of the cluster is another role's: this one deletes the worker."""
    role = Path(shutil.copytree(ROLE, with_workers.folder / "roles" / "machine_former"))
    (role / "tasks" / "endpoint.yml").unlink()
    edit_variables(
        with_workers, lambda variables: variables["control_plane_more_providers"].update(AcmeMachineTemplate=str(role))
    )
    with_workers.playbook("reconcile").succeeded()
    assert [*accounts(with_workers).values()] == ["other"] and with_workers.objects("AcmeMachine") == []


@TAKEN
@pytest.mark.parametrize("joining", [False, True])
def test_a_workers_missing_role_holds_up_nothing_else(with_workers: AcmeWorkspace, take: Take, joining: bool) -> None:
    """The control plane's machine is replaced and the other worker goes, also where the end of this one's join is not recorded yet."""
    before = accounts(with_workers)
    [former] = (name for name, account in before.items() if not account)
    if joining:
        [path] = with_workers.store.glob(f"default/machine.*/{former}.yaml")
        machine = yaml.safe_load(path.read_text())
        machine["status"]["bootstrap"]["state"] = "Running"
        path.write_text(yaml.safe_dump(machine))
    write_manifest(with_workers, "OtherMachine", 0, taint="example.com/replaced")
    said = take(with_workers)
    run = with_workers.playbook("reconcile").failed()
    # Of a role's missing file Ansible tells in its own words, and tells no one else.
    said = said if take is without_a_role else "what Ansible said of it is above"
    assert f"machine {former} could not be removed: {said}" in run.text, run.output
    after = accounts(with_workers)
    assert sorted(after.values()) == ["", "other"] and with_workers.world()["violations"] == []
    assert [name for name in after if name in before] == [former]


def rename(workspace: AcmeWorkspace) -> str:
    """Give the Machine another name than its infrastructure machine has, as Cluster API may; returns the latter."""
    [path] = workspace.store.glob("default/machine.*/*.yaml")
    machine = yaml.safe_load(path.read_text())
    former = str(machine["metadata"]["name"])
    machine["metadata"]["name"] = f"{NAME}-x7k2p"
    path.with_name(path.name.replace(former, f"{NAME}-x7k2p")).write_text(yaml.safe_dump(machine))
    path.unlink()
    return former


def test_a_machine_whose_infrastructure_has_another_name_is_removed(workspace: AcmeWorkspace) -> None:
    """Its Machine's reference tells which it is, and its provider knows it by its own name."""
    former = rename(workspace)
    workspace.playbook("reconcile", "-e", "control_plane_step_limit=5").succeeded()
    assert former not in accounts(workspace) and workspace.objects("AcmeMachine") == []
    assert [each["metadata"]["name"] for each in workspace.objects("Machine")] == [*accounts(workspace)]
    assert workspace.world()["violations"] == [] and orphans(workspace, "OtherMachine") == []


@pytest.mark.parametrize("made_again", [False, True])
def test_what_the_provider_records_of_such_a_machine_reaches_its_machine(
    workspace: AcmeWorkspace, made_again: bool
) -> None:
    """Also where an earlier release made its object again under the Machine's name."""
    name = rename(workspace)
    if made_again:
        [path] = workspace.store.glob("default/acmemachine.*/*.yaml")
        document = yaml.safe_load(path.read_text())
        former, name = name, f"{NAME}-x7k2p"
        document["metadata"]["name"] = name
        path.with_name(path.name.replace(former, name)).write_text(yaml.safe_dump(document))
        path.unlink()
    told = {"kind": "AcmeMachine", "name": name, "status": {"failureDomain": "north"}}
    options = {"cluster": NAME, "store": {"path": str(workspace.store)}, **told}
    workspace.write_playbook("record.yml", {"kubeadm.control_plane.infrastructure_status": options})
    workspace.playbook("record.yml").succeeded()
    assert [each["status"]["failureDomain"] for each in workspace.objects("Machine")] == ["north"]


@pytest.mark.parametrize("lost", [False, True])
def test_a_cluster_with_such_a_machine_is_deleted(workspace: AcmeWorkspace, lost: bool) -> None:
    """With the machine in the cloud, and its objects; also where that which names it was deleted before."""
    rename(workspace)
    if lost:
        [path] = workspace.store.glob("default/acmemachine.*/*.yaml")
        path.unlink()
    workspace.playbook("delete", "-e", f"control_plane_delete={NAME}", "-e", "control_plane_step_limit=5").succeeded()
    assert workspace.cloud()["machines"] == {}
    assert workspace.objects("AcmeMachine") == workspace.objects("Machine") == workspace.objects("Cluster") == []


def prepare(workspace: AcmeWorkspace) -> str:
    """A machine that the former provider has prepared ahead; returns its name."""
    [path] = workspace.store.glob("default/acmemachine.*/*.yaml")
    document = yaml.safe_load(path.read_text())
    former, name = document["metadata"]["name"], f"{NAME}-control-plane-ahead"
    document["metadata"].update(name=name, uid="0c2b3a1e-6d5f-4f0e-9a51-6f3c2d1b0a99")
    document["metadata"]["annotations"]["kubeadm.control-plane/bootstrap-started"] = "false"
    document["metadata"]["ownerReferences"] = [
        each for each in document["metadata"]["ownerReferences"] if each["kind"] != "Machine"
    ]
    path.with_name(path.name.replace(former, name)).write_text(yaml.safe_dump(document))
    cloud = workspace.cloud()
    cloud["machines"][name] = {
        **cloud["machines"][former],
        "name": name,
        "id": "ahead",
        "address": "198.51.100.99",
        "machineID": "0" * 32,
    }
    (workspace.folder / "cloud" / "cloud.json").write_text(json.dumps(cloud))
    return name


def test_a_machine_that_the_former_provider_prepared_is_deleted(workspace: AcmeWorkspace) -> None:
    """By its own role, before the first step."""
    name = prepare(workspace)
    run = workspace.playbook("reconcile", "-e", "control_plane_step_limit=1").failed()
    assert name not in accounts(workspace), run.output
    assert name not in [each["metadata"]["name"] for each in workspace.objects("AcmeMachine")]
