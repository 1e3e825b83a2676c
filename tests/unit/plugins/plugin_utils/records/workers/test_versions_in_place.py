# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An Action's upgrade of workers is recorded on all of their objects, so that no rollout follows it."""

from __future__ import annotations

import itertools
import shutil
import typing as t
from pathlib import Path

import pytest
from mortal_store import MortalStore, every_end, killed_after
from stored_manifest import Kept

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.values import parse_time
from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.violations import ManifestError
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.workers.template_hash import free_name
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.pki.secrets import controller_reference
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.cluster_objects import (
    MACHINE,
    MACHINE_DEPLOYMENT,
    MACHINE_SET,
    ClusterObjects,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.workers import (
    machine_sets,
    versions_in_place,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import FileStore

Object = dict[str, t.Any]
OLD, NEW, ACTION = "v1.20.1", "v1.20.2", "prod-upgrade-1"
CLUSTER = "my-cluster"


def documents(version: str = OLD) -> list[Object]:
    """A MachineDeployment and its KubeadmConfigTemplate, on the example's machine template."""
    config = {"apiGroup": "bootstrap.cluster.x-k8s.io", "kind": "KubeadmConfigTemplate", "name": "pool"}
    machine = {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "NspawnMachineTemplate"}
    spec = {
        "clusterName": CLUSTER,
        "version": version,
        "bootstrap": {"configRef": config},
        "infrastructureRef": {**machine, "name": "my-nspawnmachinetemplate"},
    }
    metadata = {"name": "pool", "namespace": "default"}
    return [
        {
            "apiVersion": "cluster.x-k8s.io/v1beta2",
            "kind": "MachineDeployment",
            "metadata": metadata,
            "spec": {"clusterName": CLUSTER, "replicas": 2, "template": {"spec": spec}},
        },
        {
            "apiVersion": "bootstrap.cluster.x-k8s.io/v1beta2",
            "kind": "KubeadmConfigTemplate",
            "metadata": metadata,
            "spec": {"template": {"spec": {"joinConfiguration": {"nodeRegistration": {}}}}},
        },
    ]


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    """A store with two workers of a MachineDeployment, and a MachineSet of it without any."""
    found = Kept(tmp_path)
    found.apply([*found.documents, *documents()])
    deployment = found.store.get(MACHINE_DEPLOYMENT, "default", "pool")
    assert deployment is not None
    owner = machine_sets.ensure_set(objects_of(found), deployment, "pool-aaaaaaaaaa")
    machine_sets.ensure_set(objects_of(found), deployment, "pool-bbbbbbbbbb")
    for name in ("w-1", "w-2"):
        labels = {**owner["metadata"]["labels"], "cluster.x-k8s.io/set-name": owner["metadata"]["name"]}
        reference = controller_reference(owner, "MachineSet")
        spec = {**owner["spec"]["template"]["spec"], "infrastructureRef": {**MACHINE_KIND, "name": name}}
        found.store.create(
            {
                "apiVersion": "cluster.x-k8s.io/v1beta2",
                "kind": "Machine",
                "metadata": {"name": name, "namespace": "default", "labels": labels, "ownerReferences": [reference]},
                "spec": spec,
                "status": {"nodeRef": {"name": f"node-{name}"}},
            }
        )
    return found


MACHINE_KIND = {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "NspawnMachine"}


def objects_of(kept: Kept) -> ClusterObjects:
    objects = ClusterObjects.read(kept.store, "default", CLUSTER)
    assert objects is not None
    return objects


@pytest.mark.parametrize("free", [0, 1])
def test_a_set_that_a_rollout_asks_for_says_so_after_the_upgrade(kept: Kept, free: int) -> None:
    """Its name tells it only while it has the template that it was made from."""
    after = "2026-01-31T10:00:00Z"
    note = {"kubeadm.control-plane/made-for-rollout-after": after}
    kept.store.modify(MACHINE_DEPLOYMENT, "default", "pool", lambda each: each["spec"].update(rollout={"after": after}))
    deployment = kept.store.get(MACHINE_DEPLOYMENT, "default", "pool")
    assert deployment is not None
    template, objects = deployment["spec"]["template"], objects_of(kept)
    names = [free_name("pool", template, {}, when) for when in (parse_time(after), None)]
    if free:
        upgraded = {**template, "spec": {**template["spec"], "version": NEW}}
        former = machine_sets.ensure_set(objects, deployment, names[0])
        kept.store.modify(MACHINE_SET, "default", names[0], lambda each: each["spec"].update(template=upgraded))
        assert former["metadata"]["annotations"] == note
        names[0] = free_name("pool", template, {names[0]: upgraded}, parse_time(after))
    made = [machine_sets.ensure_set(objects, deployment, name)["metadata"] for name in names]
    assert [each.get("annotations") for each in made] == [note, None]


def pool(kept: Kept) -> Object:
    """The stored MachineDeployment."""
    found = kept.store.get(MACHINE_DEPLOYMENT, "default", "pool")
    assert found is not None
    return found


def stored(kept: Kept) -> dict[str, str]:
    """The version that each object has."""
    found = {}
    for kind in (MACHINE_DEPLOYMENT, MACHINE_SET):
        for each in kept.store.list(kind, "default"):
            found[str(each["metadata"]["name"])] = str(each["spec"]["template"]["spec"]["version"])
    for each in kept.store.list(MACHINE, "default"):
        found[str(each["metadata"]["name"])] = str(each["spec"]["version"])
    return found


def test_machines_then_all_of_the_deployment(kept: Kept) -> None:
    """While one has another version, its deployment keeps its own. What is recorded says so, also where that was interrupted."""
    before = stored(kept)
    assert set(before.values()) == {OLD} and versions_in_place.recorded(objects_of(kept)) == {"pool": OLD}
    changed, left = versions_in_place.record_machines(objects_of(kept), NEW, {"node-w-1"})
    assert changed == [f"Machine w-1: spec.version is {NEW}"] and left == {"pool": ["w-2"]}
    assert stored(kept) == {**before, "w-1": NEW}
    changed, left = versions_in_place.record_machines(objects_of(kept), NEW, {"node-w-1", "node-w-2"})
    assert changed == [f"Machine w-2: spec.version is {NEW}"] and left == {"pool": []}
    assert versions_in_place.recorded(objects_of(kept)) == {"pool": OLD}

    assert len(versions_in_place.record_deployment(objects_of(kept), "pool", NEW, ACTION)) == 2
    assert stored(kept) == {name: OLD if name == "pool-bbbbbbbbbb" else NEW for name in before}
    assert versions_in_place.recorded(objects_of(kept)) == {"pool": NEW}
    assert versions_in_place.record_deployment(objects_of(kept), "pool", NEW, ACTION) == []
    assert versions_in_place.record_deployment(objects_of(kept), "pool", OLD, ACTION) == [], "nothing goes back"
    kept.store.modify(
        MACHINE_SET, "default", "pool-aaaaaaaaaa", lambda each: each["spec"]["template"]["spec"].update(version=OLD)
    )
    assert versions_in_place.recorded(objects_of(kept)) == {"pool": OLD}


def test_a_manifest_that_would_take_it_back_is_refused(kept: Kept) -> None:
    """It would replace every worker; one that follows, or that says something new, is taken."""
    versions_in_place.record_deployment(objects_of(kept), "pool", NEW, ACTION)
    before = stored(kept)
    with pytest.raises(ManifestError, match=f"before the Action {ACTION} upgraded its workers in place"):
        kept.apply([*kept.documents, *documents()])
    assert stored(kept) == before
    assert kept.apply([*kept.documents, *documents(NEW)]) == []
    kept.apply([*kept.documents, *documents()])
    assert stored(kept)["pool"] == OLD, "once the manifest has followed, an older version is the user's own wish"


@pytest.mark.parametrize("newer", ["", "v1.20.3"])
@pytest.mark.parametrize("aborted", [True, False])
def test_a_record_that_was_interrupted_is_completed(kept: Kept, tmp_path: Path, aborted: bool, newer: str) -> None:
    """By the Action's next run, or by reconcile after it was given up: no worker is replaced for it, and a newer version stays a rollout."""
    machine_sets.ensure_set(objects_of(kept), pool(kept), "pool-cccccccccc")
    owner = kept.store.get(MACHINE_SET, "default", "pool-cccccccccc")
    assert owner is not None
    reference = controller_reference(owner, "MachineSet")
    kept.store.modify(MACHINE, "default", "w-2", lambda each: each["metadata"].update(ownerReferences=[reference]))
    sets = ("pool-aaaaaaaaaa", "pool-cccccccccc")
    before, numbers = stored(kept), itertools.count()

    def ends(writes: int) -> tuple[bool, t.Any]:
        folder = tmp_path / str(next(numbers))
        shutil.copytree(kept.folder, folder)
        own = Kept(tmp_path)
        own.store, own.folder = FileStore(str(folder)), folder

        def recorded(store: MortalStore) -> None:
            objects = ClusterObjects.read(store, "default", CLUSTER)
            assert objects is not None
            versions_in_place.record_deployment(objects, "pool", NEW, ACTION)

        killed = killed_after(writes, folder, recorded)
        if not writes:
            assert stored(own) == before
        if not aborted or not writes:
            versions_in_place.record_deployment(objects_of(own), "pool", NEW, ACTION)
        with pytest.raises(ManifestError, match=f"before the Action {ACTION} upgraded its workers in place"):
            own.apply([*own.documents, *documents()])
        own.spec["version"] = newer or own.spec["version"]
        own.apply([*own.documents, *documents(newer or NEW)])
        assert own.apply([*own.documents, *documents(newer or NEW)]) == []
        assert "changed-in-place" not in str(pool(own)["metadata"])
        return killed, stored(own)

    found = every_end(ends)
    assert found == {**before, "pool": newer or NEW, **dict.fromkeys(sets, NEW)}


@pytest.mark.parametrize("paused", [True, False])
def test_what_is_paused_or_is_being_deleted_is_left_alone(kept: Kept, paused: bool) -> None:
    if paused:
        flag = {"cluster.x-k8s.io/paused": ""}
        kept.store.modify(
            MACHINE_DEPLOYMENT, "default", "pool", lambda each: each["metadata"]["annotations"].update(flag)
        )
    else:
        kept.store.delete(MACHINE_DEPLOYMENT, "default", "pool")
    assert versions_in_place.recorded(objects_of(kept)) == {}
    assert versions_in_place.record_machines(objects_of(kept), NEW, {"node-w-1", "node-w-2"}) == ([], {})
