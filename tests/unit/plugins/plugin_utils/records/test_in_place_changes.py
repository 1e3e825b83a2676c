# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an Action changed on running machines is recorded everywhere, so that no rollout follows it."""

from __future__ import annotations

import shutil
import typing as t
from pathlib import Path

import pytest
import yaml
from acme_workspace import ROLE
from mortal_store import every_end, killed_after
from operator_workspace import NAME, OperatorWorkspace

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.violations import ManifestError
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects import kinds
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.manifest.reader import (
    ClusterManifest,
    read_cluster,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.tasks import (
    manifest_update as operator_manifest,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records import in_place_changes
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.cluster_objects import (
    CONTROL_PLANE,
    KUBEADM_CONFIG,
    ClusterObjects,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.stored_cluster import apply_manifest
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import FileStore

Object = dict[str, t.Any]
PATCH = {"apiServer": {"certSANs": ["api.example.org"]}}


@pytest.fixture
def workspace(tmp_path: Path) -> OperatorWorkspace:
    """A cluster of three machines."""
    made = OperatorWorkspace(tmp_path / "workspace")
    made.create()
    return made


def objects_of(workspace: OperatorWorkspace) -> ClusterObjects:
    found = ClusterObjects.read(FileStore(str(workspace.store)), "default", NAME)
    assert found is not None
    return found


def manifest(workspace: OperatorWorkspace, **options: t.Any) -> ClusterManifest:
    path = workspace.manifest(NAME, **options)
    providers = {"AcmeMachineTemplate": str(ROLE), "AcmeCluster": str(ROLE)}
    return read_cluster([str(path)], "default", NAME, providers)


def test_a_machine_is_what_it_runs(workspace: OperatorWorkspace) -> None:
    name = workspace.control_planes[0]
    key = kinds.ANNOTATION_CERTIFICATES_EXPIRY
    FileStore(str(workspace.store)).modify(
        KUBEADM_CONFIG, "default", name, lambda each: each["metadata"].update(annotations={key: "2026-02-01T00:00:00Z"})
    )
    first = in_place_changes.record_on_machine(objects_of(workspace), name, "v1.21.0", PATCH, True)
    assert len(first) == 2
    objects = objects_of(workspace)
    assert [each["spec"]["version"] for each in objects.machines] == ["v1.21.0", "v1.20.2", "v1.20.2"]
    config = objects.kubeadm_configs[name]
    assert config["spec"]["clusterConfiguration"] == PATCH and key not in (config["metadata"].get("annotations") or {})
    assert in_place_changes.record_on_machine(objects, name, "v1.21.0", PATCH, True) == []


def test_the_control_plane_follows_and_the_old_manifest_is_refused(workspace: OperatorWorkspace) -> None:
    """Reconcile must never replace every machine to take back what an Action did."""
    changed = in_place_changes.record_on_control_plane(objects_of(workspace), "v1.21.0", PATCH, "prod-change-1")
    assert changed == ["spec.version is v1.21.0", "spec.kubeadmConfigSpec.clusterConfiguration has the change"]
    stored = t.cast(Object, objects_of(workspace).control_plane)
    assert stored["spec"]["version"] == "v1.21.0"
    assert stored["spec"]["kubeadmConfigSpec"]["clusterConfiguration"] == PATCH
    store = FileStore(str(workspace.store))
    with pytest.raises(ManifestError, match="before the Action prod-change-1 changed it in place"):
        apply_manifest(store, manifest(workspace, version="v1.21.0"))
    assert t.cast(Object, objects_of(workspace).control_plane)["spec"] == stored["spec"]
    apply_manifest(store, manifest(workspace, version="v1.21.0", kubeadm={"clusterConfiguration": PATCH}))
    assert in_place_changes.ANNOTATION not in t.cast(Object, objects_of(workspace).control_plane)["metadata"].get(
        "annotations", {}
    )
    apply_manifest(store, manifest(workspace, version="v1.21.0"))


FLAGS = [{"name": "profiling", "value": "false"}, {"name": "audit-log-path", "value": "-"}]
REWRITTEN: list[Object] = [
    {"apiServer": {"extraArgs": FLAGS[::-1]}},
    {"apiServer": {"extraArgs": FLAGS}, "certificatesDir": "/etc/kubernetes/pki"},
    {"apiServer": {"extraArgs": FLAGS, "extraVolumes": []}, "etcd": {"local": {"dataDir": "/var/lib/etcd"}}},
    {"apiServer": {"extraArgs": FLAGS}, "clusterName": NAME, "networking": {"dnsDomain": "cluster.local"}},
    {"apiServer": {"extraArgs": FLAGS}, "controlPlaneEndpoint": "198.51.100.1:6443"},
]


@pytest.mark.parametrize("rewritten", REWRITTEN, ids=["order", "default", "empty", "Cluster", "endpoint"])
def test_an_old_manifest_in_other_words_is_refused(workspace: OperatorWorkspace, rewritten: Object) -> None:
    """Its words are not stored, since they mean the same; and accepted, it would take the change back on every machine."""
    store = FileStore(str(workspace.store))
    apply_manifest(store, manifest(workspace, kubeadm={"clusterConfiguration": {"apiServer": {"extraArgs": FLAGS}}}))
    assert apply_manifest(store, manifest(workspace, kubeadm={"clusterConfiguration": rewritten})) == []
    in_place_changes.record_on_control_plane(objects_of(workspace), None, PATCH, "prod-change-1")
    before = objects_of(workspace).control_plane
    with pytest.raises(ManifestError, match="before the Action prod-change-1 changed it in place"):
        apply_manifest(store, manifest(workspace, kubeadm={"clusterConfiguration": rewritten}))
    assert objects_of(workspace).control_plane == before
    followed = {**rewritten, "apiServer": {**rewritten["apiServer"], **PATCH["apiServer"]}}
    apply_manifest(store, manifest(workspace, kubeadm={"clusterConfiguration": followed}))
    assert "changed-in-place" not in str(objects_of(workspace).control_plane)
    assert apply_manifest(store, manifest(workspace, kubeadm={"clusterConfiguration": followed})) == []


def test_an_action_that_spells_a_default_out_leaves_the_manifest_as_it_is(workspace: OperatorWorkspace) -> None:
    """Nothing would be replaced for it."""
    in_place_changes.record_on_control_plane(
        objects_of(workspace), None, {"encryptionAlgorithm": "RSA-2048"}, "prod-change-1"
    )
    assert apply_manifest(FileStore(str(workspace.store)), manifest(workspace)) == []


def test_a_new_wish_is_no_step_back(workspace: OperatorWorkspace) -> None:
    in_place_changes.record_on_control_plane(objects_of(workspace), None, PATCH, "prod-change-1")
    wish = {"clusterConfiguration": {"apiServer": {"certSANs": ["other.example.org"]}}}
    apply_manifest(FileStore(str(workspace.store)), manifest(workspace, kubeadm=wish))
    config = t.cast(Object, objects_of(workspace).control_plane)["spec"]["kubeadmConfigSpec"]
    assert config["clusterConfiguration"] == wish["clusterConfiguration"]


@pytest.mark.parametrize("aborted", [True, False])
def test_a_record_that_was_interrupted_is_completed(
    workspace: OperatorWorkspace, tmp_path: Path, aborted: bool
) -> None:
    """By the Action's next run, or by reconcile after it was given up: no machine is replaced for what it has already."""
    old, new = manifest(workspace), manifest(workspace, kubeadm={"clusterConfiguration": PATCH})

    def ends(writes: int) -> tuple[bool, t.Any]:
        folder = tmp_path / str(writes)
        shutil.copytree(workspace.store, folder)
        own = FileStore(str(folder))

        def recorded(store: FileStore) -> None:
            objects = ClusterObjects.read(store, "default", NAME)
            assert objects is not None
            in_place_changes.record_configuration(objects, PATCH, True, "prod-change-1")

        killed = killed_after(writes, folder, recorded)
        if not aborted or not writes:
            recorded(own)
        with pytest.raises(ManifestError, match="before the Action prod-change-1 changed it in place"):
            apply_manifest(own, old)
        apply_manifest(own, new)
        assert apply_manifest(own, new) == []
        found = ClusterObjects.read(own, "default", NAME)
        assert found is not None and "changed-in-place" not in str(found.control_plane)
        return killed, {
            name: each["spec"]["clusterConfiguration"] for name, each in sorted(found.kubeadm_configs.items())
        }

    assert every_end(ends) == dict.fromkeys(workspace.control_planes, PATCH)


@pytest.mark.parametrize("stated", [PATCH["apiServer"], {"extraArgs": [{"name": "v", "value": "2"}]}])
def test_what_a_manifest_states_beside_it_stays_a_rollout(
    workspace: OperatorWorkspace, tmp_path: Path, stated: Object
) -> None:
    """Its rollout has not begun: the machines get what the Action changed and no more, wherever its record was interrupted."""
    apply_manifest(
        FileStore(str(workspace.store)), manifest(workspace, kubeadm={"clusterConfiguration": {"apiServer": stated}})
    )
    both = manifest(workspace, kubeadm={"clusterConfiguration": {"apiServer": {**stated, **PATCH["apiServer"]}}})

    def ends(writes: int) -> tuple[bool, t.Any]:
        folder = tmp_path / str(writes)
        shutil.copytree(workspace.store, folder)

        def recorded(store: FileStore) -> None:
            objects = ClusterObjects.read(store, "default", NAME)
            assert objects is not None
            in_place_changes.record_configuration(objects, PATCH, False, "prod-change-1")

        killed = killed_after(writes, folder, recorded)
        if not writes:
            recorded(FileStore(str(folder)))
        apply_manifest(FileStore(str(folder)), both)
        found = ClusterObjects.read(FileStore(str(folder)), "default", NAME)
        assert found is not None
        return killed, [each["spec"]["clusterConfiguration"] for each in found.kubeadm_configs.values()]

    assert every_end(ends) == [PATCH] * 3


def test_a_newer_wish_replaces_machines_after_a_record_that_was_interrupted(
    workspace: OperatorWorkspace, tmp_path: Path
) -> None:
    """They don't have it, so their objects don't state it."""

    def recorded(store: FileStore) -> None:
        objects = ClusterObjects.read(store, "default", NAME)
        assert objects is not None
        in_place_changes.record_configuration(objects, PATCH, True, "prod-change-1")

    assert killed_after(1, workspace.store, recorded)
    wish = {"clusterConfiguration": {"apiServer": {"certSANs": ["other.example.org"]}}}
    apply_manifest(FileStore(str(workspace.store)), manifest(workspace, kubeadm=wish))
    stored = objects_of(workspace)
    assert [each["spec"]["clusterConfiguration"] for each in stored.kubeadm_configs.values()] == [{}, {}, {}]
    assert "changed-in-place" not in str(stored.control_plane)


def test_recording_twice_changes_nothing(workspace: OperatorWorkspace) -> None:
    in_place_changes.record_on_control_plane(objects_of(workspace), "v1.21.0", PATCH, "a")
    assert in_place_changes.record_on_control_plane(objects_of(workspace), "v1.21.0", PATCH, "a") == []


@pytest.mark.parametrize("asked", ["v1.22.0", "v1.21.1"])
def test_a_newer_version_of_the_control_plane_stays(workspace: OperatorWorkspace, asked: str) -> None:
    """Somebody asked for it while the Action ran, even after the objects were read; without a manifest it stands nowhere else."""
    read_before = objects_of(workspace)
    name = str(t.cast(Object, read_before.control_plane)["metadata"]["name"])
    read_before.store.modify(CONTROL_PLANE, "default", name, lambda each: each["spec"].update(version=asked))
    first, *more = in_place_changes.record_on_control_plane(read_before, "v1.21.0", PATCH, "a")
    assert f"spec.version is {asked}, which is newer than v1.21.0, and stays" in first and len(more) == 1
    assert "where a manifest states another, reconcile brings that one" in first
    assert in_place_changes.record_on_control_plane(objects_of(workspace), "v1.21.0", PATCH, "a") == [first]
    spec = t.cast(Object, objects_of(workspace).control_plane)["spec"]
    assert spec["version"] == asked and spec["kubeadmConfigSpec"]["clusterConfiguration"] == PATCH


def arguments(workspace: OperatorWorkspace) -> Object:
    return {"manifests": [str(workspace.folder / "clusters" / f"{NAME}.yaml")], "namespace": "default", "cluster": NAME}


def test_the_manifest_gets_the_version(workspace: OperatorWorkspace) -> None:
    path = workspace.folder / "clusters" / f"{NAME}.yaml"
    before = path.read_text()
    assert "was set to v1.21.0" in operator_manifest.follow_version(arguments(workspace), "v1.21.0")
    assert path.read_text() == before.replace("version: v1.20.2", "version: v1.21.0")
    assert "is v1.21.0 already" in operator_manifest.follow_version(arguments(workspace), "v1.21.0")
    assert "there is no manifest" in operator_manifest.follow_version(
        {**arguments(workspace), "manifests": []}, "v1.21.0"
    )


@pytest.mark.parametrize("written", ["v1.22.1", '"v1.22.1"'])
def test_a_newer_version_in_the_manifest_stays(workspace: OperatorWorkspace, written: str) -> None:
    path = workspace.folder / "clusters" / f"{NAME}.yaml"
    path.write_text(path.read_text().replace("version: v1.20.2", f"version: {written}"))
    before = path.read_text()
    said = operator_manifest.follow_version(arguments(workspace), "v1.21.0")
    assert "is v1.22.1, which is newer than v1.21.0, and stays" in said and path.read_text() == before


def test_a_manifest_in_a_work_tree_is_somebody_elses_to_write(workspace: OperatorWorkspace) -> None:
    (workspace.folder / ".git").mkdir()
    path = workspace.folder / "clusters" / f"{NAME}.yaml"
    before = path.read_text()
    said = operator_manifest.follow_version(arguments(workspace), "v1.21.0")
    assert "NOTHING WAS WRITTEN" in said and "+  version: v1.21.0" in said and path.read_text() == before


def test_a_version_that_can_not_be_edited_is_told(workspace: OperatorWorkspace) -> None:
    path = workspace.folder / "clusters" / f"{NAME}.yaml"
    path.write_text(path.read_text().replace("version: v1.20.2", 'version: "{{ version }}"'))
    said = operator_manifest.follow_version(arguments(workspace), "v1.21.0")
    assert "set spec.version to v1.21.0 in the manifest yourself" in said and "template" in said


def test_a_changed_configuration_is_printed(workspace: OperatorWorkspace) -> None:
    said = operator_manifest.configuration_to_follow(arguments(workspace), PATCH)
    assert "api.example.org" in said and yaml.safe_load(said.partition(":\n")[2]) == PATCH
    assert operator_manifest.configuration_to_follow({"manifests": []}, PATCH) == ""
