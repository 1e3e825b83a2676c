# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Workers' objects in a store: they follow the manifest, are made for a step, and go with their cluster."""

from __future__ import annotations

import copy
import itertools
from pathlib import Path
from typing import Any

import pytest
from builders import healthy
from racing_store import RacingStore
from stored_manifest import Kept

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.calls.failure import ControlPlaneFailure
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.user_annotations import FROM_MANIFEST
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.workers import template_hash
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records import stored_deletion
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.cluster_objects import (
    MACHINE,
    MACHINE_DEPLOYMENT,
    MACHINE_SET,
    ClusterObjects,
    delete_finally,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.workers import (
    stored_workers,
    worker_objects,
    worker_status,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.report import facts
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.journal import Journal

Object = dict[str, Any]
NAME = "pool"
GROUPS = {
    "NspawnMachine": "infrastructure.cluster.x-k8s.io",
    "KubeadmConfig": "bootstrap.cluster.x-k8s.io",
    "Machine": "cluster.x-k8s.io",
}
NOW = "2026-01-31T12:00:00Z"


def documents(replicas: Any = 2, version: str = "v1.20.2", **template: Any) -> list[Object]:
    """A MachineDeployment and its KubeadmConfigTemplate, on the example's machine template."""
    config = {"apiGroup": "bootstrap.cluster.x-k8s.io", "kind": "KubeadmConfigTemplate", "name": NAME}
    reference = {
        "apiGroup": "infrastructure.cluster.x-k8s.io",
        "kind": "NspawnMachineTemplate",
        "name": "my-nspawnmachinetemplate",
    }
    spec = {
        "clusterName": "my-cluster",
        "version": version,
        "bootstrap": {"configRef": config},
        "infrastructureRef": reference,
    }
    return [
        {
            "apiVersion": "cluster.x-k8s.io/v1beta2",
            "kind": "MachineDeployment",
            "metadata": {"name": NAME, "namespace": "default"},
            "spec": {
                "clusterName": "my-cluster",
                **({} if replicas is None else {"replicas": replicas}),
                "template": {"metadata": template.pop("metadata", {}), "spec": {**spec, **template}},
            },
        },
        {
            "apiVersion": "bootstrap.cluster.x-k8s.io/v1beta2",
            "kind": "KubeadmConfigTemplate",
            "metadata": {"name": NAME, "namespace": "default"},
            "spec": {
                "template": {
                    "spec": {
                        "files": [{"path": "/etc/a", "content": "a"}],
                        "joinConfiguration": {"nodeRegistration": {"kubeletExtraArgs": []}},
                    }
                }
            },
        },
    ]


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    """A store that holds the example with workers."""
    found = Kept(tmp_path)
    found.apply([*found.documents, *documents()])
    return found


def objects_of(kept: Kept) -> ClusterObjects:
    """The cluster's objects as they are stored."""
    objects = ClusterObjects.read(kept.store, "default", "my-cluster")
    assert objects is not None
    return objects


def deployment_of(kept: Kept) -> Object:
    """The stored MachineDeployment."""
    found = kept.store.get(MACHINE_DEPLOYMENT, "default", NAME)
    assert found is not None
    return found


def entry_of(kept: Kept, name: str = "pool-w1", **changes: Any) -> Object:
    """A worker of a step."""
    digest = template_hash.template_hash(NAME, deployment_of(kept)["spec"]["template"])
    made = {"deployment": NAME, "machineSet": template_hash.set_name(NAME, digest), "machine": "", "name": name}
    return {**made, **changes}


def made(kept: Kept, *names: str) -> ClusterObjects:
    """The objects, with these workers made."""
    objects = objects_of(kept)
    for name in names:
        worker_objects.create_worker(objects, entry_of(kept, name))
    return objects_of(kept)


def test_the_store_follows_the_manifest(tmp_path: Path) -> None:
    """Created with its finalizer, left alone, changed; what the manifest leaves out is kept as an autoscaler set it."""
    kept = Kept(tmp_path)
    kept.apply()
    said = kept.apply([*kept.documents, *documents(None)])
    assert f"create MachineDeployment default/{NAME}" in said and f"create KubeadmConfigTemplate default/{NAME}" in said
    assert deployment_of(kept)["metadata"]["finalizers"] == ["cluster.x-k8s.io/machinedeployment"]
    assert kept.apply([*kept.documents, *documents(None)]) == []
    kept.store.modify(MACHINE_DEPLOYMENT, "default", NAME, lambda stored: stored["spec"].update(replicas=5))
    assert kept.apply([*kept.documents, *documents(None)]) == []
    assert deployment_of(kept)["spec"]["replicas"] == 5
    [change] = kept.apply([*kept.documents, *documents(1)])
    assert change.startswith(f"change MachineDeployment default/{NAME}: spec.replicas")


def test_an_autoscaler_in_the_middle_of_an_apply_is_not_overruled(kept: Kept) -> None:
    """Whenever it comes, the manifest's own change is made to what it set."""
    plain = kept.store

    def scale(replicas: int) -> None:
        plain.modify(MACHINE_DEPLOYMENT, "default", NAME, lambda found: found["spec"].update(replicas=replicas))

    for number in itertools.count(1):
        scale(2)
        racing = kept.store = RacingStore(plain.directory, MACHINE_DEPLOYMENT, number, lambda: scale(4))
        label = {"turn": str(number)}
        changes = kept.apply([*kept.documents, *documents(None, metadata={"labels": label})])
        if not racing.raced:
            break
        found = deployment_of(kept)["spec"]
        assert (found["replicas"], found["template"]["metadata"]["labels"]["turn"]) == (4, str(number))
        assert [each.partition(":")[0] for each in changes] == [f"change MachineDeployment default/{NAME}"]
    assert number > 3


def test_a_pause_is_whose_who_paused(kept: Kept) -> None:
    """As a Cluster's: one that was set in the store stays while the manifest is silent, and ends where the manifest began it."""
    for paused in (True, False):
        kept.store.modify(
            MACHINE_DEPLOYMENT, "default", NAME, lambda stored, to=paused: stored["spec"].update(paused=to)
        )
        assert kept.apply([*kept.documents, *documents()]) == []
        assert deployment_of(kept)["spec"]["paused"] is paused
    told = documents()
    told[0]["spec"]["paused"] = True
    kept.apply([*kept.documents, *told])
    kept.apply([*kept.documents, *documents()])
    assert not deployment_of(kept)["spec"].get("paused")


def test_a_deployment_that_leaves_the_manifest_stays(kept: Kept) -> None:
    """No typing error costs workers; one that was applied with kubectl was never in it, which is told, too."""
    made(kept, "pool-w1")
    assert kept.apply() == []
    [warning] = kept.warnings
    assert "default/pool is no longer in the manifest" in warning and "control_plane_deployment=pool" in warning
    assert deployment_of(kept) and len(objects_of(kept).workers) == 1
    kept.store.modify(MACHINE_DEPLOYMENT, "default", NAME, lambda stored: stored["metadata"].update(annotations={}))
    assert kept.apply() == []
    assert "default/pool is in the store and was never in the manifest" in kept.warnings[0]


def test_a_template_that_changes_under_its_name_is_told(kept: Kept) -> None:
    """Workers that exist keep what they have."""
    changed = documents()
    changed[1]["spec"]["template"]["spec"]["files"] = []
    kept.apply([*kept.documents, *changed])
    assert any("refer to it in the MachineDeployment" in each for each in kept.warnings)


def test_a_worker_has_its_objects_in_the_order_of_a_control_plane_machine(kept: Kept) -> None:
    """Its set is made with the first; every object has the labels, the name and the owner that the contract wants."""
    objects = made(kept, "pool-w1")
    [machine] = objects.workers
    [owned] = kept.store.list(MACHINE_SET)
    assert machine["metadata"]["name"] == "pool-w1" and objects.machines == []
    assert machine["spec"]["version"] == "v1.20.2" and machine["metadata"]["finalizers"] == ["machine.cluster.x-k8s.io"]
    parts = [machine, objects.infrastructure_machines["pool-w1"], objects.kubeadm_configs["pool-w1"]]
    for part in parts:
        labels = part["metadata"]["labels"]
        assert labels["cluster.x-k8s.io/set-name"] == owned["metadata"]["name"]
        assert labels["cluster.x-k8s.io/deployment-name"] == NAME
        assert labels["cluster.x-k8s.io/cluster-name"] == "my-cluster"
        assert "cluster.x-k8s.io/control-plane" not in labels
    assert [each["kind"] for each in parts] == ["Machine", "NspawnMachine", "KubeadmConfig"]
    config = objects.kubeadm_configs["pool-w1"]["spec"]
    assert "controlPlane" not in config["joinConfiguration"] and "initConfiguration" not in config
    assert config["files"] == [{"path": "/etc/a", "content": "a"}]


def test_what_a_killed_run_left_is_completed_and_nothing_is_made_twice(kept: Kept) -> None:
    """The Machine is the last of them."""
    objects = made(kept, "pool-w1")
    delete_finally(kept.store, MACHINE, "default", "pool-w1")
    before = copy.deepcopy(objects.infrastructure_machines)
    objects = objects_of(kept)
    assert objects.workers == []
    worker_objects.create_worker(objects, entry_of(kept, "pool-w1"))
    assert len(objects_of(kept).workers) == 1 and objects_of(kept).infrastructure_machines == before
    assert len(kept.store.list(MACHINE_SET)) == 1


def test_a_new_name_is_of_its_set_and_nobody_elses(kept: Kept) -> None:
    """Of two draws the first one may be taken."""
    objects = made(kept, "pool-w1")
    [owned] = kept.store.list(MACHINE_SET)
    own = owned["metadata"]["name"]
    worker_objects.create_worker(objects, entry_of(kept, f"{own}-aaaaa"))
    drawn = iter(["aaaaa", "bbbbb"])
    assert worker_objects.new_name(objects, deployment_of(kept), owned, lambda: next(drawn)) == f"{own}-bbbbb"


def test_no_worker_of_a_deployment_that_is_gone(kept: Kept) -> None:
    """The failure says what to do."""
    with pytest.raises(ControlPlaneFailure, match="no worker was made"):
        worker_objects.create_worker(objects_of(kept), entry_of(kept, deployment="other"))


def test_the_deletion_of_one_that_a_run_has_deleted_has_nothing_to_do(kept: Kept) -> None:
    """That run may have been killed right after it, and nothing else of it is there; a name of none is refused as before."""
    objects, name = objects_of(kept), str(deployment_of(kept)["metadata"]["name"])
    assert stored_workers.mark_deleting(objects, name) == [f"mark MachineDeployment {name} for deletion"]
    decision = {"action": "removeWorkers", "target": {"deployments": ["other", name]}}
    journal = Journal(str(objects.store.journal_directory()), objects.namespace, objects.name)
    journal.intent(decision["action"], "", "killed", facts.step(decision, healthy(1).snapshot, []))
    stored_workers.delete_deployment(objects, name)
    assert stored_workers.mark_deleting(objects, name) == []
    with pytest.raises(ControlPlaneFailure, match="has no MachineDeployment never; nothing was done"):
        stored_workers.mark_deleting(objects, "never")


def test_a_template_reaches_sets_and_machines_in_place(kept: Kept) -> None:
    """Labels, timeouts and taints do; a version doesn't, and nothing happens while the deployment is paused."""
    made(kept, "pool-w1")
    taints = [{"key": "a", "effect": "NoSchedule", "propagation": "Always"}]
    changed = documents(
        version="v1.20.1",
        metadata={"labels": {"team": "a"}},
        deletion={"nodeDrainTimeoutSeconds": 7},
        taints=taints,
    )
    said = kept.apply([*kept.documents, *changed])
    assert any("change Machine default/pool-w1 in place" in each for each in said), said
    objects = objects_of(kept)
    [machine] = objects.workers
    assert machine["metadata"]["labels"]["team"] == "a" and machine["spec"]["taints"] == taints
    assert machine["spec"]["deletion"] == {"nodeDrainTimeoutSeconds": 7} and machine["spec"]["version"] == "v1.20.2"
    assert objects.kubeadm_configs["pool-w1"]["metadata"]["labels"]["team"] == "a"
    [owned] = kept.store.list(MACHINE_SET)
    template = owned["spec"]["template"]
    assert template["metadata"]["labels"]["team"] == "a" and template["spec"]["version"] == "v1.20.2"
    assert owned["spec"]["selector"]["matchLabels"].items() <= template["metadata"]["labels"].items()
    assert kept.apply([*kept.documents, *changed]) == []
    paused = copy.deepcopy(changed)
    paused[0]["metadata"]["annotations"] = {"cluster.x-k8s.io/paused": ""}
    paused[0]["spec"]["template"]["metadata"]["labels"] = {"team": "b"}
    kept.apply([*kept.documents, *paused])
    assert objects_of(kept).workers[0]["metadata"]["labels"]["team"] == "a"


def test_a_label_that_the_template_no_longer_has_goes(kept: Kept) -> None:
    """What somebody else set stays."""
    kept.apply([*kept.documents, *documents(metadata={"labels": {"team": "a"}})])
    made(kept, "pool-w1")
    kept.store.modify(MACHINE, "default", "pool-w1", lambda stored: stored["metadata"]["labels"].update(mine="b"))
    kept.apply([*kept.documents, *documents()])
    labels = objects_of(kept).workers[0]["metadata"]["labels"]
    assert "team" not in labels and labels["mine"] == "b"


def test_a_snapshot_has_deployments_with_their_sets_and_machines(kept: Kept) -> None:
    """Those of another bootstrap provider, or with machines of another one, are left out, unless a manifest had them."""
    labels, record = {"cluster.x-k8s.io/cluster-name": "my-cluster"}, {FROM_MANIFEST: "{}"}
    for name, part, kind in (("talos", "bootstrap", "TalosConfigTemplate"), ("aws", "", "AWSMachineTemplate")):
        other = copy.deepcopy(documents()[0])
        other["metadata"] = {"name": name, "namespace": "default", "labels": labels}
        spec = other["spec"]["template"]["spec"]
        (spec["bootstrap"]["configRef"] if part else spec["infrastructureRef"])["kind"] = kind
        kept.store.create(other)
    workers = stored_workers.facts(made(kept, "pool-w1"), lambda _machine: {"bootstrapUnit": None})["workers"]
    [entry] = workers["deployments"]
    assert entry["machineDeployment"]["metadata"]["name"] == NAME and len(entry["machineSets"]) == 1
    assert entry["configTemplate"] and entry["machineTemplate"] and "setsWithoutTemplates" not in entry
    assert [each["machine"]["metadata"]["name"] for each in workers["machines"]] == ["pool-w1"]
    kept.store.modify(MACHINE_DEPLOYMENT, "default", "aws", lambda it: it["metadata"].update(annotations=record))
    delete_finally(kept.store, stored_workers.CONFIG_TEMPLATE, "default", NAME)
    for held in False, True:
        kept.store.modify(MACHINE_DEPLOYMENT, "default", NAME, lambda it, to=held: it["spec"].update(paused=to))
        found = stored_workers.facts(objects_of(kept), lambda _machine: {})["workers"]["deployments"]
        assert [each["machineDeployment"]["metadata"]["name"] for each in found] == ["aws", NAME]
        assert (found[1].get("setsWithoutTemplates") == [entry["machineSets"][0]["metadata"]["name"]]) is held


def test_infrastructure_of_another_softwares_workers_is_not_read(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run may not be allowed to."""
    listed: list[tuple[str, str]] = []
    read = kept.store.list

    def noted(kind: tuple[str, str], *arguments: Any) -> list[Object]:
        listed.append(kind)
        return read(kind, *arguments)

    machine = copy.deepcopy(made(kept, "pool-w1").workers[0])
    labels = {"cluster.x-k8s.io/cluster-name": "my-cluster", "cluster.x-k8s.io/deployment-name": "aws"}
    machine["metadata"] = {**machine["metadata"], "name": "aws-1", "labels": labels}
    machine["metadata"]["ownerReferences"] = [{"kind": "MachineSet", "name": "aws", "controller": True}]
    machine["spec"]["infrastructureRef"] = {
        "apiGroup": "infrastructure.cluster.x-k8s.io",
        "kind": "AWSMachine",
        "name": "a",
    }
    kept.store.create(machine)
    monkeypatch.setattr(kept.store, "list", noted)
    assert [each["metadata"]["name"] for each in objects_of(kept).workers] == ["aws-1", "pool-w1"]
    assert machine["spec"]["infrastructureRef"]["kind"] not in {kind for _group, kind in listed}


def test_status_is_written_and_an_empty_old_set_goes(kept: Kept) -> None:
    """Replicas of a set are the number of machines that stay."""
    made(kept, "pool-w1")
    changed = documents(version="v1.20.1")
    kept.apply([*kept.documents, *changed])
    objects = made(kept, "pool-w2")
    old, new = (
        machine["metadata"]["labels"]["cluster.x-k8s.io/set-name"]
        for machine in sorted(objects.workers, key=lambda each: str(each["metadata"]["name"]))
    )
    status: Object = {
        "machineDeployments": {NAME: {"replicas": 2}},
        "machineSets": {old: {"replicas": 1}, new: {"replicas": 1}},
        "workers": {"pool-w1": {}, "pool-w2": {}},
    }
    conditions: Object = {"machineDeployments": {}, "machineSets": {}, "workers": {}}
    worker_status.write_status(objects, {"status": status, "conditions": conditions}, NOW)
    assert deployment_of(kept)["status"]["replicas"] == 2
    counted = {each["metadata"]["name"]: each["spec"]["replicas"] for each in kept.store.list(MACHINE_SET)}
    assert counted == {old: 1, new: 1}
    delete_finally(kept.store, MACHINE, "default", "pool-w1")
    del status["workers"]["pool-w1"]
    worker_status.write_status(objects_of(kept), {"status": status, "conditions": conditions}, NOW)
    assert [each["metadata"]["name"] for each in kept.store.list(MACHINE_SET)] == [new]


def test_everything_goes_with_the_cluster(kept: Kept) -> None:
    """Sets, deployments and their templates; one that was shared stays the first cluster's, and goes with the last one that names it."""
    made(kept, "pool-w1")
    shared = {"cluster.x-k8s.io/cluster-name": "gone"}
    kept.store.modify(
        stored_workers.CONFIG_TEMPLATE, "default", NAME, lambda found: found["metadata"].update(labels=shared)
    )
    assert kept.apply([*kept.documents, *documents()]) == []
    for name, group in GROUPS.items():
        delete_finally(kept.store, (group, name), "default", "pool-w1")
    said = stored_deletion.delete_records(objects_of(kept))
    assert f"delete MachineDeployment {NAME}" in said and f"delete KubeadmConfigTemplate {NAME}" in said
    assert kept.store.list(MACHINE_SET) == [] and kept.store.list(MACHINE_DEPLOYMENT) == []


def test_another_clusters_deployment_of_that_name_is_not_taken(kept: Kept) -> None:
    """The other one would find its workers no more."""
    kept.documents += documents()
    kept.store.modify(MACHINE_DEPLOYMENT, "default", NAME, lambda found: found["spec"].update(clusterName="other"))
    assert "has a MachineDeployment of this name for the cluster other" in kept.refused()["spec.clusterName"].rule


def test_no_worker_is_made_of_a_set_that_no_pass_finds(kept: Kept) -> None:
    """It would be missing each time, and another one made, without end."""
    made(kept, "pool-w1")
    [right] = [each["metadata"] for each in kept.store.list(MACHINE_SET)]
    for wrong in {"labels": {"cluster.x-k8s.io/cluster-name": "other"}}, {"labels": {}}, {"ownerReferences": []}:
        to = {key: wrong.get(key, right[key]) for key in ("labels", "ownerReferences")}
        kept.store.modify(MACHINE_SET, "default", right["name"], lambda found, to=to: found["metadata"].update(to))
        before = kept.files()
        with pytest.raises(ControlPlaneFailure, match=r"is not of the MachineDeployment pool .*no worker was made"):
            worker_objects.create_worker(objects_of(kept), entry_of(kept, "pool-w2"))
        assert kept.files() == before
