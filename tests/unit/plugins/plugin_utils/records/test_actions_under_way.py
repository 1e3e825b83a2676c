# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Actions and reconcile keep out of each other's way."""

from __future__ import annotations

import base64
import typing as t
from pathlib import Path

import pytest
from operator_cases import action, document, facts, group, hub
from operator_workspace import NAME, OperatorWorkspace

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.calls.machine_connection import Answer, Machine
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects import actions, restore_note
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.observe.observation import observe
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator import catalogue, freeze
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.rotate_certificate_authorities.materials import (
    Materials,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.tasks.progress import Executions
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.pki.certificates import KeyPair
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.actions_under_way import (
    COMMANDS,
    amid_rotation,
    left_behind,
    under_way,
    unfinished_rotation,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.cluster_objects import (
    CLUSTER,
    CONTROL_PLANE,
    MACHINE,
    ClusterObjects,
    Object,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import FileStore

PLANE = f"{NAME}-control-plane"
RESTORE = {restore_note.ANNOTATION: '{"state": "Begun"}'}
REMEDIATION = {"controlplane.cluster.x-k8s.io/remediation-in-progress": "{}"}
NOW = "2026-01-01T00:00:00Z"


@pytest.fixture
def store(tmp_path: Path) -> FileStore:
    """A cluster of three machines, of which nothing is under way."""
    workspace = OperatorWorkspace(tmp_path / "workspace")
    workspace.create()
    return FileStore(str(workspace.store))


def read(store: FileStore) -> ClusterObjects:
    found = ClusterObjects.read(store, "default", NAME)
    assert found is not None
    return found


def test_nothing_is_under_way_in_a_cluster_at_rest(store: FileStore) -> None:
    assert under_way(read(store)) == ""


@pytest.mark.parametrize(
    ("kind", "change", "said"),
    [
        (CONTROL_PLANE, lambda each: each["status"].update(rollout={"replicas": 3}), "a rollout is under way"),
        (CONTROL_PLANE, lambda each: each["metadata"].update(annotations=REMEDIATION), "a remediation is under way"),
        (CONTROL_PLANE, lambda each: each["metadata"].update(annotations=RESTORE), "a restore of etcd was started"),
        (CLUSTER, lambda each: each.update(status={}), "was not initialized"),
        (MACHINE, lambda each: each["status"]["bootstrap"].update(state="Running"), "prod-x is being made"),
        (
            MACHINE,
            lambda each: each["status"]["bootstrap"].update(state="Failed"),
            "bootstrap of machine prod-x failed",
        ),
    ],
)
def test_what_reconcile_has_begun_comes_first(
    store: FileStore, kind: tuple[str, str], change: t.Callable[[Object], t.Any], said: str
) -> None:
    name = {CLUSTER: NAME, CONTROL_PLANE: PLANE, MACHINE: "prod-x"}[kind]
    store.modify(kind, "default", name, change)
    if kind == CLUSTER:
        store.modify(CONTROL_PLANE, "default", PLANE, change)
    assert said in under_way(read(store))
    # Where certificates have ended, none of it can go on but a restore, and what makes the first machine.
    stays = "restore" in said or "initialized" in said
    assert (said in under_way(read(store), ended=True)) == stays


def test_a_machine_or_a_cluster_that_goes_comes_first(store: FileStore) -> None:
    store.modify(MACHINE, "default", "prod-y", lambda each: each["metadata"].update(finalizers=["a.b/c"]))
    store.delete(MACHINE, "default", "prod-y")
    assert under_way(read(store)) == "machine prod-y is being removed" and not under_way(read(store), ended=True)
    store.delete(CLUSTER, "default", NAME)
    assert under_way(read(store), ended=True) == under_way(read(store)) == "the cluster is being deleted"


class Nobody:
    """No machine answers."""

    def call(self, machine: Machine, _module: str, _arguments: dict[str, t.Any]) -> Answer:
        return Answer(False, {"msg": f"{machine.name} was not reached"})


def test_the_snapshot_has_the_action_that_has_not_ended(store: FileStore) -> None:
    assert "unfinishedAction" not in observe(read(store), Nobody(), NOW, look_again=False)
    where = Executions(store, "default", NAME)
    root = hub(action(group("a")))
    stored = where.put(root)
    assert "unfinishedAction" not in observe(read(store), Nobody(), NOW, look_again=False), "it has not begun"
    where.begin(stored, freeze.freeze(root, facts(), NOW))
    snapshot = observe(read(store), Nobody(), NOW, look_again=False)
    assert snapshot["unfinishedAction"] == {"name": "Action first", "phase": "Running"}
    store.modify(actions.kind_ref("Action"), "default", "first", lambda each: each["spec"].update(abort=True))
    where.advance(stored)
    assert "unfinishedAction" not in observe(read(store), Nobody(), NOW, look_again=False)


def rotate(store: FileStore, document: t.Optional[bytes] = None) -> None:
    """A rotation that is not over, as its first command keeps it."""
    pairs = {
        (authority, generation): KeyPair("certificate", "key")
        for authority in ("ca", "serviceAccount")
        for generation in ("old", "new")
    }
    data = Materials(pairs, NOW, "rotate-1").document()
    if document is not None:
        data["rotation"] = document
    content = {key: base64.b64encode(value).decode() for key, value in data.items()}
    metadata = {"name": f"{NAME}-authority-rotation", "namespace": "default"}
    store.create({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": content})


def test_the_snapshot_has_the_rotation_that_is_not_over(store: FileStore) -> None:
    assert "unfinishedRotation" not in observe(read(store), Nobody(), NOW, look_again=False)
    rotate(store)
    snapshot = observe(read(store), Nobody(), NOW, look_again=False)
    assert snapshot["unfinishedRotation"] == {"action": "rotate-1", "authorities": ["ca", "serviceAccount"]}


def test_a_rotation_whose_record_was_damaged_is_one_all_the_same(store: FileStore) -> None:
    rotate(store, b"[]")
    found = unfinished_rotation(read(store))
    assert found == {"action": "", "authorities": ["ca", "serviceAccount"]}


@pytest.mark.parametrize("what", ["upgrade", "renewCertificates", "changeConfiguration"])
def test_in_the_middle_of_a_rotation_kubeadm_writes_nothing_of_its_own(store: FileStore, what: str) -> None:
    root = document("Action", "second", {what: {}})
    assert amid_rotation(read(store), root) == ""
    rotate(store)
    said = amid_rotation(read(store), root)
    assert "rotation of ca, serviceAccount, started by the Action rotate-1, is not over" in said and what in said
    assert '"authorities": ["ca", "serviceAccount"]' in said


@pytest.mark.parametrize("command", COMMANDS)
def test_in_the_middle_of_a_rotation_no_command_of_kubeadms_runs_in_a_workflow_of_ones_own(
    store: FileStore, command: str
) -> None:
    """Of an Action as of a TaskGroup and a Task without one. Each is a command that there is; others are let through."""
    rotate(store)
    assert command in catalogue.COMMANDS

    def three(name: str) -> list[Object]:
        template = {"nodeSelector": {}, "commands": ["pass", {name: {}}]}
        task = {"nodeName": "w-1", "commands": ["pass", {name: {}}]}
        custom = action(group("a"), {"name": "b", **template})
        return [hub(custom), hub(document("TaskGroup", "b", template)), hub(document("Task", "b", task))]

    assert all(f"and {command} would" in amid_rotation(read(store), root) for root in three(command))
    assert all(amid_rotation(read(store), root) == "" for root in three("restartComponent"))


def test_a_rotation_is_completed_though_a_rollout_or_a_remediation_waits_for_it(store: FileStore) -> None:
    what = "rotateCertificateAuthorities"
    store.modify(CONTROL_PLANE, "default", PLANE, lambda each: each["status"].update(rollout={"replicas": 3}))
    assert under_way(read(store), what) == "a rollout is under way (status.rollout)"
    rotate(store)
    store.modify(CONTROL_PLANE, "default", PLANE, lambda each: each["metadata"].update(annotations=REMEDIATION))
    assert under_way(read(store), what) == "" == amid_rotation(read(store), document("Action", "second", {what: {}}))
    assert "a rollout is under way" in under_way(read(store), "custom")
    store.modify(MACHINE, "default", "prod-y", lambda each: each["metadata"].update(finalizers=["a.b/c"]))
    store.delete(MACHINE, "default", "prod-y")
    assert under_way(read(store), what) == "machine prod-y is being removed"


def test_an_aborted_rotation_says_what_is_left_to_be_done(store: FileStore) -> None:
    assert left_behind(read(store)) == ""
    rotate(store)
    assert "reconcile makes no machine" in left_behind(read(store)) and "--limit prod" in left_behind(read(store))
