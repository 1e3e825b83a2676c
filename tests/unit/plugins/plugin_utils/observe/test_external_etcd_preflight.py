# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Before a machine is started on an external etcd: what its answer means, and whose data is there."""

from __future__ import annotations

import base64
import typing as t
from pathlib import Path

import pytest
from stored_cluster import stored_cluster

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.calls.failure import ControlPlaneFailure
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.calls.machine_connection import Answer, Machine
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.removal import deleted_control_plane
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects import kinds
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.observe import external_etcd_preflight
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.cluster_objects import (
    CLUSTER,
    CONTROL_PLANE,
    ClusterObjects,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import FileStore

Object = dict[str, t.Any]
EXTERNAL: Object = {"etcd": {"external": {"endpoints": ["https://etcd-1:2379"], "caFile": "/x/ca.crt"}}}


class StandInMachine:
    """Stands in for a machine: gives the answer that the module external_etcd_info would give there."""

    def __init__(
        self, reachable: bool = True, message: str = "", version: str = "3.5.24", keys: t.Optional[int] = 0
    ) -> None:
        endpoint = {"url": "https://etcd-1:2379", "healthy": reachable, "version": version, "message": message}
        self._result = {
            "etcd": {"reachable": reachable, "message": message, "endpoints": [endpoint]},
            "key_count": keys,
        }
        self.calls: list[Object] = []

    def call(self, machine: Machine, module: str, arguments: Object) -> Answer:
        assert (machine.name, module) == ("m1", "external_etcd_info")
        self.calls.append(arguments)
        return Answer(True, self._result)


def objects(tmp_path: Path, configuration: t.Optional[Object] = None, version: str = "v1.36.0") -> ClusterObjects:
    """A stored cluster with one machine, and etcd's certificates as Secrets."""
    if not (tmp_path / "store").exists():
        stored_cluster(
            tmp_path / "store", version, EXTERNAL if configuration is None else configuration, {}, {"m1": "host1"}
        )
        store = FileStore(str(tmp_path / "store"))
        for purpose, data in (
            ("etcd", {"tls.crt": "CA"}),
            ("apiserver-etcd-client", {"tls.crt": "CRT", "tls.key": "KEY"}),
        ):
            encoded = {name: base64.b64encode(text.encode()).decode() for name, text in data.items()}
            metadata = {"name": f"prod-{purpose}", "namespace": "default"}
            store.create({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": encoded})
    found = ClusterObjects.read(FileStore(str(tmp_path / "store")), "default", "prod")
    assert found is not None
    return found


def test_nothing_is_asked_where_etcd_runs_on_the_machines(tmp_path: Path) -> None:
    machine = StandInMachine()
    external_etcd_preflight.require(objects(tmp_path, {}), machine, "m1", first=True)
    assert machine.calls == []


def test_it_is_asked_with_the_clusters_own_certificates(tmp_path: Path) -> None:
    machine = StandInMachine()
    external_etcd_preflight.require(objects(tmp_path), machine, "m1", first=False)
    [call] = machine.calls
    assert (call["endpoints"], call["ca"], call["certificate"], call["key"]) == (
        ["https://etcd-1:2379"],
        "CA",
        "CRT",
        "KEY",
    )
    assert call["names"]["certificate"] == "of Secret prod-apiserver-etcd-client"


def test_what_is_wrong_is_said_with_what_to_look_at(tmp_path: Path) -> None:
    with pytest.raises(ControlPlaneFailure) as failure:
        external_etcd_preflight.require(
            objects(tmp_path), StandInMachine(False, "the client certificate expired"), "m1", first=False
        )
    for words in ("machine m1", "the client certificate expired", "prod-apiserver-etcd-client", "Nothing was started"):
        assert words in str(failure.value)


def test_an_etcd_that_kubeadm_finds_too_old(tmp_path: Path) -> None:
    with pytest.raises(ControlPlaneFailure, match=r"is etcd 3\.4\.3, and kubeadm v1\.36\.0 wants 3\.5\.24"):
        external_etcd_preflight.require(objects(tmp_path), StandInMachine(version="3.4.3"), "m1", first=False)


def test_somebodys_data_is_not_written_over(tmp_path: Path) -> None:
    with pytest.raises(ControlPlaneFailure, match="holds 812 keys below /registry: a Kubernetes cluster's data"):
        external_etcd_preflight.require(objects(tmp_path), StandInMachine(keys=812), "m1", first=True)
    # A join finds its own cluster's data there.
    external_etcd_preflight.require(objects(tmp_path), StandInMachine(keys=812), "m1", first=False)


def test_it_is_not_said_to_empty_what_may_be_a_deleted_control_planes_data(tmp_path: Path) -> None:
    """The annotation that the message names is what lets the first machine be begun."""
    with pytest.raises(ControlPlaneFailure) as failure:
        external_etcd_preflight.require(objects(tmp_path), StandInMachine(keys=812), "m1", first=True)
    assert "empty" not in str(failure.value) and f'{external_etcd_preflight.BEGAN}: "true"' in str(failure.value)
    for value in ("false", "no", ""):
        annotate(tmp_path, CONTROL_PLANE, external_etcd_preflight.BEGAN, value)
        with pytest.raises(ControlPlaneFailure, match="holds 812 keys"):
            external_etcd_preflight.require(objects(tmp_path), StandInMachine(keys=812), "m1", first=True)
    annotate(tmp_path, CONTROL_PLANE, external_etcd_preflight.BEGAN, "true")
    external_etcd_preflight.require(objects(tmp_path), StandInMachine(keys=812), "m1", first=True)


def annotate(folder: Path, kind_ref: tuple[str, str], name: str, value: str) -> None:
    store = FileStore(str(folder / "store"))
    store.modify(
        kind_ref, "default", "prod", lambda found: found["metadata"].setdefault("annotations", {}).update({name: value})
    )


SECOND_PREFIX: Object = {"apiServer": {"extraArgs": [{"name": "etcd-prefix", "value": "/second"}]}}
ELSEWHERE: Object = {"etcd": {"external": {"endpoints": ["https://etcd-9:2379"]}}}


def after_deletion_of(folder: Path, former: t.Optional[Object]) -> ClusterObjects:
    """The stored cluster, whose Cluster has the record of a deleted control plane of this configuration; None: of an earlier release."""
    objects(folder)
    document = {
        "metadata": {"name": "prod", "uid": "former"},
        "spec": {"kubeadmConfigSpec": {"clusterConfiguration": former}},
    }
    annotate(
        folder,
        CLUSTER,
        kinds.ANNOTATION_DELETED_CONTROL_PLANE,
        deleted_control_plane.record(document, "2026-01-31T11:00:00Z"),
    )
    return objects(folder)


def test_a_new_control_plane_serves_the_data_of_the_deleted_ones_etcd(tmp_path: Path) -> None:
    found = after_deletion_of(tmp_path, EXTERNAL)
    machine = StandInMachine(keys=812)

    def ask(module: str, call: Object) -> Answer:
        return machine.call(found.reach("m1"), module, call)

    annotate(tmp_path, CONTROL_PLANE, external_etcd_preflight.BEGAN, "false")
    found = objects(tmp_path)
    # What is asked of hosts is asked before the consent is used.
    assert external_etcd_preflight.obstacle(found, ask, "host h1") is None
    assert external_etcd_preflight.take_over(found)
    assert external_etcd_preflight.take_over(found) == []
    # The record goes before the first machine is begun.
    annotate(tmp_path, CLUSTER, kinds.ANNOTATION_DELETED_CONTROL_PLANE, "")
    external_etcd_preflight.require(objects(tmp_path), machine, "m1", first=True)


@pytest.mark.parametrize("former", [ELSEWHERE, {**EXTERNAL, **SECOND_PREFIX}, {}, None])
def test_another_etcd_than_the_deleted_ones_is_somebodys(tmp_path: Path, former: t.Optional[Object]) -> None:
    found = after_deletion_of(tmp_path, former)
    machine = StandInMachine(keys=812)
    problem = external_etcd_preflight.obstacle(
        found, lambda module, call: machine.call(found.reach("m1"), module, call), "host h1"
    )
    assert problem is not None and "holds 812 keys" in problem["message"]
    assert external_etcd_preflight.take_over(found) == []
    with pytest.raises(ControlPlaneFailure, match="holds 812 keys"):
        external_etcd_preflight.require(objects(tmp_path), machine, "m1", first=True)


def test_what_an_earlier_attempt_wrote_is_its_own(tmp_path: Path) -> None:
    """A first machine that failed and is made again finds the keys of the first attempt."""
    objects(tmp_path)
    # While etcd is empty, a "no" is a no to the data of another cluster, and there are none.
    annotate(tmp_path, CONTROL_PLANE, external_etcd_preflight.BEGAN, "false")
    external_etcd_preflight.require(objects(tmp_path), StandInMachine(keys=0), "m1", first=True)
    external_etcd_preflight.require(objects(tmp_path), StandInMachine(keys=40), "m1", first=True)


def test_another_prefix_is_the_one_that_is_looked_at(tmp_path: Path) -> None:
    configuration = {**EXTERNAL, "apiServer": {"extraArgs": [{"name": "etcd-prefix", "value": "/second"}]}}
    machine = StandInMachine()
    external_etcd_preflight.require(objects(tmp_path, configuration), machine, "m1", first=True)
    assert machine.calls[0]["prefix"] == "/second"
