# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A cluster that has no manifest is what is stored of it; a file store holds the same objects as an API."""

from __future__ import annotations

import base64
import typing as t
from pathlib import Path

import pytest
from workspace import cluster_documents

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.violations import ManifestError
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects import kinds
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records import stored_desired_state
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.cluster_objects import (
    CLUSTER,
    CONTROL_PLANE,
    MACHINE_DEPLOYMENT,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.base import Conflict
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import FileStore

Object = dict[str, t.Any]
NAME = "prod-control-plane"


class EditedStore(FileStore):
    """A store beside which somebody edits the control plane, right before as many writes as are given."""

    edits = 0

    def update(self, obj: Object) -> Object:
        """Let the other be faster."""
        if self.edits:
            self.edits -= 1
            stored = self.get(CONTROL_PLANE, "default", NAME)
            assert stored is not None
            stored["spec"]["replicas"] += 2
            super().update(stored)
        return super().update(obj)


@pytest.fixture
def store(tmp_path: Path) -> EditedStore:
    """What a person applied."""
    made = EditedStore(str(tmp_path / "store"))
    for each in cluster_documents("prod", version="1.20.2"):
        made.create({**each, "metadata": {**each["metadata"]}})
    return made


def control_plane(store: FileStore) -> Object:
    found = store.get(CONTROL_PLANE, "default", NAME)
    assert found is not None
    return found


def settle(store: FileStore) -> t.Optional[list[str]]:
    return stored_desired_state.settle(store, "default", "prod")


def test_completed_once(store: EditedStore) -> None:
    changes = settle(store)
    assert changes is not None and [line.split(":")[0] for line in changes] == [
        "complete NspawnCluster default/prod",
        f"complete KubeadmControlPlane default/{NAME}",
        "complete Cluster default/prod",
    ]
    stored = control_plane(store)
    assert stored["spec"]["version"] == "v1.20.2" and stored["metadata"]["finalizers"] == [
        kinds.FINALIZER_CONTROL_PLANE
    ]
    assert settle(store) == []


def test_what_runs_noted_is_no_fault_and_what_a_person_misspelled_is(store: EditedStore) -> None:
    def annotate(key: str, value: str = "x") -> None:
        note = {f"kubeadm.control-plane/{key}": value}
        store.modify(
            CONTROL_PLANE, "default", NAME, lambda found: found["metadata"].setdefault("annotations", {}).update(note)
        )

    annotate("external-etcd-began", "true")
    annotate("from-manifest")
    settle(store)
    assert settle(store) == []
    annotate("min-redy-seconds")
    with pytest.raises(ManifestError, match="min-ready-seconds"):
        settle(store)


def test_an_edit_meanwhile_is_another_wish(store: EditedStore) -> None:
    store.edits = 3
    settle(store)
    assert control_plane(store)["spec"]["replicas"] == 9
    assert settle(store) == []


def test_edits_without_an_end(store: EditedStore) -> None:
    store.edits = 1000
    with pytest.raises(Conflict):
        settle(store)


def test_what_another_cluster_names_is_refused(store: EditedStore) -> None:
    """The other one's machines would follow both."""
    settle(store)
    other = store.get(CLUSTER, "default", "prod") or {}
    store.create({**other, "metadata": {"name": "copy", "namespace": "default"}})
    with pytest.raises(ManifestError) as refused:
        stored_desired_state.settle(store, "default", "copy")
    assert {each.rule for each in refused.value.violations} == {
        f"the store has a {kind} of this name for the cluster prod" for kind in ("NspawnCluster", "KubeadmControlPlane")
    }
    assert all("are to be copy again: kubectl edit" in each.fix for each in refused.value.violations)
    control_plane = (store.get(CLUSTER, "default", "prod") or {})["spec"]["controlPlaneRef"]["name"]
    told = [(CLUSTER, "copy"), (CONTROL_PLANE, control_plane), (CLUSTER, "prod")]
    statuses = [(store.get(kind, "default", name) or {}).get("status") or {} for kind, name in told]
    assert ["failureReason" in each for each in statuses] == [True, False, False]
    assert settle(store) == []


def test_no_such_cluster_and_one_that_goes(store: EditedStore) -> None:
    assert stored_desired_state.settle(store, "default", "other") is None
    settle(store)
    store.delete(CLUSTER, "default", "prod")
    store.modify(CONTROL_PLANE, "default", NAME, lambda found: found["spec"].update(replicas=2))
    assert settle(store) == []


def test_templates_in_secrets_are_refused(store: EditedStore) -> None:
    """A machine would be removed for one that can't be started."""
    data = {"k": base64.b64encode(b"{{ topsecret }}").decode()}
    metadata = {"name": "own", "namespace": "default"}
    store.create({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "Opaque", "data": data})
    file = {"path": "/a", "contentFrom": {"secret": {"name": "own", "key": "k"}}}
    store.modify(
        CONTROL_PLANE, "default", NAME, lambda stored: stored["spec"]["kubeadmConfigSpec"].update(files=[file])
    )
    with pytest.raises(ManifestError) as error:
        settle(store)
    assert "Secret own, key k" in str(error.value) and "topsecret" not in str(error.value)


def test_what_a_manifest_would_be_warned_of_is_told_once(store: EditedStore) -> None:
    """Of the objects and of their Secrets; also where another edit makes the first try void."""
    metadata = {"name": "own", "namespace": "default"}
    data = {"k": base64.b64encode(b"{# topsecret #}").decode()}
    store.create({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "Opaque", "data": data})
    files = [
        {"path": "/a", "content": "{# a #}"},
        {"path": "/b", "contentFrom": {"secret": {"name": "own", "key": "k"}}},
    ]
    store.modify(CONTROL_PLANE, "default", NAME, lambda stored: stored["spec"]["kubeadmConfigSpec"].update(files=files))
    store.edits = 1
    told: list[str] = []
    stored_desired_state.settle(store, "default", "prod", warn=told.append)
    assert [each.partition(": the comment")[0].partition(", the comment")[0] for each in told] == [
        f"KubeadmControlPlane default/{NAME}: spec.kubeadmConfigSpec.files[0].content",
        f"KubeadmControlPlane default/{NAME}: spec.kubeadmConfigSpec.files[1].contentFrom: Secret own, key k",
    ]


def test_a_machine_deployment_that_was_applied_is_completed(store: EditedStore) -> None:
    """With what it names; one of another provider is left alone, and one that breaks a rule is refused. A template stays the first cluster's that named it."""
    config = {"apiGroup": "bootstrap.cluster.x-k8s.io", "kind": "KubeadmConfigTemplate", "name": "pool"}
    reference = control_plane(store)["spec"]["machineTemplate"]["spec"]["infrastructureRef"]
    template: Object = {"clusterName": "prod", "version": "1.20.2", "infrastructureRef": reference}
    template["bootstrap"] = {"configRef": config}
    spec: Object = {"clusterName": "prod", "template": {"spec": template}}
    made = {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineDeployment"}
    store.create({**made, "metadata": {"name": "pool", "namespace": "default"}, "spec": spec})
    talos = {**template, "bootstrap": {"configRef": {**config, "kind": "TalosConfigTemplate"}}}
    other = {"clusterName": "prod", "template": {"spec": talos}}
    store.create({**made, "metadata": {"name": "other", "namespace": "default"}, "spec": other})
    store.create(
        {
            "apiVersion": "bootstrap.cluster.x-k8s.io/v1beta2",
            "kind": "KubeadmConfigTemplate",
            "metadata": {"name": "pool", "namespace": "default", "labels": {"cluster.x-k8s.io/cluster-name": "first"}},
            "spec": {"template": {"spec": {}}},
        }
    )
    changes = settle(store) or []
    assert any(line.startswith("complete MachineDeployment default/pool: ") for line in changes), changes
    found = store.get(MACHINE_DEPLOYMENT, "default", "pool")
    assert found is not None and found["spec"]["replicas"] == 1
    assert found["spec"]["template"]["spec"]["version"] == "v1.20.2"
    assert found["metadata"]["labels"]["cluster.x-k8s.io/cluster-name"] == "prod" and found["metadata"]["finalizers"]
    shared = store.get(("bootstrap.cluster.x-k8s.io", "KubeadmConfigTemplate"), "default", "pool")
    assert shared is not None and shared["metadata"]["labels"]["cluster.x-k8s.io/cluster-name"] == "first"
    left = store.get(MACHINE_DEPLOYMENT, "default", "other")
    assert left is not None and "replicas" not in left["spec"]
    assert settle(store) == []
    # Whoever takes the number away asks for none to go.
    store.modify(MACHINE_DEPLOYMENT, "default", "pool", lambda each: each.update(spec={**spec}, status={"replicas": 3}))
    assert settle(store)
    found = store.get(MACHINE_DEPLOYMENT, "default", "pool")
    assert found is not None and found["spec"]["replicas"] == 3
    store.modify(MACHINE_DEPLOYMENT, "default", "pool", lambda each: each["spec"].update(replicas=-1))
    with pytest.raises(ManifestError, match="not negative"):
        settle(store)
