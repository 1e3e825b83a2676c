# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Machines without a controller are taken over: all or nobody, again after a kill, and with what belongs to them."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
import yaml
from actions import run_action
from workspace import cluster_documents

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.cluster_objects import (
    CONTROL_PLANE,
    KUBEADM_CONFIG,
    MACHINE,
    SECRET,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import FileStore

Object = dict[str, t.Any]
LABELS = {"cluster.x-k8s.io/cluster-name": "prod", "cluster.x-k8s.io/control-plane": ""}
CLUSTER_CONFIGURATION: Object = {"apiServer": {"extraArgs": [{"name": "audit-log-maxage", "value": "7"}]}}


class Folder:
    """A store with a cluster's objects as Cluster API v1alpha2 left them: three Machines and nobody who controls them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.arguments: Object = {"cluster": "prod", "store": {"path": str(path / "store")}}
        self.manifest = path / "prod.yaml"
        documents = cluster_documents("prod")
        documents[1]["spec"].pop("kubeadmConfigSpec")
        self.manifest.write_text(yaml.safe_dump_all(documents, sort_keys=False))
        self.apply()
        self.store = FileStore(str(path / "store"))
        self.names = ["cp0", "cp1", "cp2"]
        for number, name in enumerate(self.names):
            self.machine(name, number)

    def apply(self) -> Object:
        """Bring the manifest into the store."""
        result = run_action("cluster", manifests=[str(self.manifest)], **self.arguments)
        assert not result.get("failed"), result
        return result

    def machine(self, name: str, number: int) -> None:
        """A Machine with its KubeadmConfig and the Secrets that this owns; no InfraMachine is needed."""
        spec: Object = {"joinConfiguration": {"controlPlane": {}, "nodeRegistration": {"name": name}}}
        if number == 0:
            spec = {
                "clusterConfiguration": CLUSTER_CONFIGURATION,
                "initConfiguration": {"nodeRegistration": {"name": name}},
            }
        config = self.store.create(
            _object("bootstrap.cluster.x-k8s.io/v1beta2", "KubeadmConfig", f"{name}-config", spec)
        )
        owner = {
            "apiVersion": config["apiVersion"],
            "kind": "KubeadmConfig",
            "name": f"{name}-config",
            "uid": config["metadata"]["uid"],
        }
        for secret in ("prod-ca", "prod-kubeconfig") if number == 0 else ():
            self.store.create(_secret(secret, [{**owner, "controller": True}]))
        self.store.create(_secret(f"{name}-config", [{**owner, "controller": True}]))
        machine = _object(
            "cluster.x-k8s.io/v1beta2",
            "Machine",
            name,
            {
                "clusterName": "prod",
                "version": "v1.20.2",
                "bootstrap": {
                    "configRef": {"kind": "KubeadmConfig", "name": f"{name}-config"},
                    "dataSecretName": f"{name}-config",
                },
                "infrastructureRef": {
                    "apiGroup": "infrastructure.cluster.x-k8s.io",
                    "kind": "NspawnMachine",
                    "name": name,
                },
            },
        )
        machine["metadata"]["labels"] = dict(LABELS)
        self.store.create(machine)

    def adopt(self, *names: str, check: bool = False) -> Object:
        """Adopt these machines, by default all."""
        return run_action("machine_adoption", check, machines=list(names or self.names), **self.arguments)

    def controllers(self) -> list[str]:
        """The machines' controllers, "" for none."""
        found = []
        for name in self.names:
            owners = self.get(MACHINE, name)["metadata"].get("ownerReferences") or []
            found.append(next((str(each["name"]) for each in owners if each.get("controller")), ""))
        return found

    def get(self, kind: tuple[str, str], name: str) -> Object:
        """A stored object."""
        found = self.store.get(kind, "default", name)
        assert found is not None
        return found

    def files(self) -> dict[str, bytes]:
        """Every file of the store."""
        return {str(path): path.read_bytes() for path in sorted((self.path / "store").rglob("*.yaml"))}


def _object(api_version: str, kind: str, name: str, spec: Object) -> Object:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": "default"}, "spec": spec}


def _secret(name: str, owners: list[Object]) -> Object:
    metadata = {"name": name, "namespace": "default", "ownerReferences": owners}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "cluster.x-k8s.io/secret",
        "metadata": metadata,
        "data": {"value": "eA=="},
    }


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def test_all_machines_are_taken_over(folder: Folder) -> None:
    result = folder.adopt()
    assert result["changed"], result
    assert folder.controllers() == ["prod-control-plane"] * 3
    metadata = folder.get(MACHINE, "cp1")["metadata"]
    assert metadata["labels"]["cluster.x-k8s.io/control-plane-name"] == "prod-control-plane"
    assert "pre-terminate.delete.hook.machine.cluster.x-k8s.io/kcp-cleanup" in metadata["annotations"]
    assert metadata["finalizers"] == ["machine.cluster.x-k8s.io"]
    # Without a record of its bootstrap it would count as never started, and go without etcd being asked.
    assert folder.get(MACHINE, "cp1")["status"]["bootstrap"]["state"] == "Succeeded"
    assert folder.get(KUBEADM_CONFIG, "cp1-config")["metadata"]["labels"]["cluster.x-k8s.io/cluster-name"] == "prod"


def test_a_second_time_changes_nothing(folder: Folder) -> None:
    folder.adopt()
    before = folder.files()
    assert folder.adopt()["changed"] is False
    assert folder.files() == before


def test_certificates_and_kubeconfig_follow_and_bootstrap_data_stays(folder: Folder) -> None:
    folder.adopt()
    uid = folder.get(CONTROL_PLANE, "prod-control-plane")["metadata"]["uid"]
    for name in ("prod-ca", "prod-kubeconfig"):
        [owner] = folder.get(SECRET, name)["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["uid"], owner["controller"]) == ("KubeadmControlPlane", uid, True)
        assert folder.get(SECRET, name)["metadata"]["labels"]["cluster.x-k8s.io/cluster-name"] == "prod"
    [owner] = folder.get(SECRET, "cp0-config")["metadata"]["ownerReferences"]
    assert owner["kind"] == "KubeadmConfig"


def test_the_spec_is_rebuilt_and_the_next_run_keeps_it(folder: Folder) -> None:
    """A manifest that gives no kubeadmConfigSpec does not take away what was rebuilt: every machine would be outdated."""
    folder.adopt()
    rebuilt = folder.get(CONTROL_PLANE, "prod-control-plane")["spec"]["kubeadmConfigSpec"]
    assert rebuilt["clusterConfiguration"] == CLUSTER_CONFIGURATION
    assert rebuilt["joinConfiguration"] == {"controlPlane": {}, "nodeRegistration": {}}
    # The infrastructure machines that these Machines lack are made again once.
    assert not [each for each in folder.apply()["changes"] if "KubeadmControlPlane" in each]
    assert folder.apply()["changed"] is False
    assert folder.get(CONTROL_PLANE, "prod-control-plane")["spec"]["kubeadmConfigSpec"] == rebuilt


def test_a_manifest_that_gives_a_spec_wins(folder: Folder) -> None:
    folder.adopt()
    documents = cluster_documents("prod", kubeadm={"clusterConfiguration": {"apiServer": {"certSANs": ["a.example"]}}})
    folder.manifest.write_text(yaml.safe_dump_all(documents, sort_keys=False))
    assert folder.apply()["changed"] is True
    spec = folder.get(CONTROL_PLANE, "prod-control-plane")["spec"]["kubeadmConfigSpec"]
    assert spec["clusterConfiguration"] == {"apiServer": {"certSANs": ["a.example"]}}


def test_check_mode_writes_nothing(folder: Folder) -> None:
    before = folder.files()
    result = folder.adopt(check=True)
    assert result["changed"] and "adopt Machine cp2" in result["changes"]
    assert folder.files() == before


def test_a_killed_run_is_completed(folder: Folder) -> None:
    folder.adopt("cp0")
    assert folder.controllers() == ["prod-control-plane", "", ""]
    assert folder.adopt("cp1", "cp2")["changes"][-2:] == ["adopt Machine cp1", "adopt Machine cp2"]
    assert folder.controllers() == ["prod-control-plane"] * 3


def skewed(folder: Folder) -> None:
    folder.store.modify(MACHINE, "default", "cp2", lambda stored: stored["spec"].update(version="v1.18.0"))


def without_config(folder: Folder) -> None:
    folder.store.delete(KUBEADM_CONFIG, "default", "cp2-config")


def somebody_elses(folder: Folder) -> None:
    owner = {"kind": "KubeadmControlPlane", "name": "other", "uid": "1", "controller": True}
    folder.store.modify(MACHINE, "default", "cp2", lambda stored: stored["metadata"].update(ownerReferences=[owner]))


def gone(folder: Folder) -> None:
    folder.store.delete(MACHINE, "default", "cp2")


def deleting(folder: Folder) -> None:
    folder.store.delete(CONTROL_PLANE, "default", "prod-control-plane")


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (skewed, "more than one minor version apart"),
        (without_config, "has no KubeadmConfig"),
        (somebody_elses, "is controlled by KubeadmControlPlane other"),
        (gone, "not in the store any more"),
        (deleting, "has just been marked for deletion"),
    ],
)
def test_all_or_nobody(folder: Folder, spoil: t.Callable[[Folder], None], words: str) -> None:
    """What has changed since it was decided is seen before anything is written."""
    spoil(folder)
    before = folder.files()
    result = folder.adopt()
    assert result["failed"] and words in result["msg"] and "nothing was written" in result["msg"]
    assert folder.files() == before
