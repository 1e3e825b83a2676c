# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What several clusters use, while one after another is moved, or two at once; from files to files."""

from __future__ import annotations

import typing as t
from pathlib import Path

import moves
import pytest
from actions import run_action
from moves import AT, CLUSTER, CONTROL_PLANE, SECRET, everything, missing, move, opened
from operator_workspace import NAME

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.move import copied_objects
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.move.graph import Graph, Key
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.resource_sets import stored_resource_sets
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store import opening
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.base import Object, Store, StoreError
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import FileStore
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.lock import marks

Options = dict[str, t.Any]
OTHER = "other"
TEMPLATE = ("infrastructure.cluster.x-k8s.io", "AcmeMachineTemplate")
SHARED: t.Mapping[str, tuple[Key, dict[str, t.Any]]] = {
    "Secret": ((SECRET, "registry"), {"data": {"a": "bmV3"}}),
    "ConfigMap": ((stored_resource_sets.CONFIG_MAP, "flannel"), {"data": {"a": "new"}}),
    "ConfigMap's binaryData": ((stored_resource_sets.CONFIG_MAP, "flannel"), {"binaryData": {"b": "AAAA"}}),
    "ClusterResourceSet": ((stored_resource_sets.RESOURCE_SET, "cni"), {"spec": {"strategy": "ApplyOnce"}}),
    "template": ((TEMPLATE, ""), {"spec": {"size": "big"}}),
}


@pytest.fixture
def files(tmp_path: Path) -> Options:
    """Two clusters in files that use the same template, Secret, ConfigMap and set."""
    options = moves.make(tmp_path / "workspace")
    store, labels = opened(options), {"cni": "flannel"}
    store.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": _metadata("flannel"), "data": {"a": "old"}})
    spec = {
        "clusterSelector": {"matchLabels": labels},
        "resources": [{"kind": "ConfigMap", "name": "flannel"}],
        "strategy": "Reconcile",
    }
    kind = stored_resource_sets.RESOURCE_SET
    store.create({"apiVersion": f"{kind[0]}/v1beta2", "kind": kind[1], "metadata": _metadata("cni"), "spec": spec})
    control_plane = store.list(CONTROL_PLANE, "default")[0]
    metadata = {**_metadata("other-control-plane"), "labels": {"cluster.x-k8s.io/cluster-name": OTHER}}
    store.create({**control_plane, "metadata": metadata})
    for name in (NAME, OTHER):
        store.modify(CLUSTER, "default", name, lambda each: each["metadata"].update(labels=labels))
    reference = {"apiGroup": CONTROL_PLANE[0], "kind": CONTROL_PLANE[1], "name": metadata["name"]}
    store.modify(CLUSTER, "default", OTHER, lambda each: each["spec"].update(controlPlaneRef=reference))
    return options


@pytest.fixture
def target(tmp_path: Path) -> Options:
    """An empty store."""
    return {"type": "file", "path": str(tmp_path / "target")}


def _metadata(name: str) -> Object:
    return {"name": name, "namespace": "default"}


def move_other(source: Options, to: Options, **more: t.Any) -> Object:
    """Move the second cluster as a task does."""
    return run_action("cluster_move", cluster=OTHER, store=dict(source), to=dict(to), **more)


def key_in(store: Store, what: str) -> tuple[str, str, str]:
    """Where a shared object is."""
    (kind_ref, name), _change = SHARED[what]
    return kind_ref, "default", name or store.list(kind_ref, "default")[0]["metadata"]["name"]  # type: ignore[return-value]


def change(store: Store, what: str) -> Object:
    """Give a shared object other contents."""

    def write(stored: Object) -> None:
        for part, content in SHARED[what][1].items():
            stored[part] = {**stored.get(part, {}), **content}

    return store.modify(*key_in(store, what), write)  # type: ignore[arg-type]


@pytest.mark.parametrize("what", SHARED)
def test_what_a_cluster_that_was_moved_before_uses_is_not_written_over(
    files: Options, target: Options, what: str
) -> None:
    """It may have been changed there since; made equal, in either store, the second one goes as well."""
    assert not move(files, target).get("failed")
    here, there = opened(files), opened(target)
    newer, before = change(there, what), [Graph(store, "default", OTHER).by_key() for store in (here, there)]
    for check in (True, False):
        said = move_other(files, target, check=check)
        kind, name = newer["kind"], newer["metadata"]["name"]
        assert said.get("failed") and f"{kind} default/{name} is there already with other contents" in said["msg"], said
        assert f"the cluster {NAME}, which is kept there, uses it" in said["msg"]
        assert [Graph(store, "default", OTHER).by_key() for store in (here, there)] == before
        assert opening.open_locks(files).mark("default", OTHER) is None
    change(here, what)
    assert not move_other(files, target).get("failed")
    assert there.get(*key_in(there, what)) == newer and Graph(here, "default", OTHER).by_key() == {}  # type: ignore[arg-type]


def test_a_move_that_had_begun_does_not_write_over_it_either(files: Options, target: Options) -> None:
    """Neither before nor after the one write that decides; made equal, it comes to its end."""
    assert not move(files, target).get("failed")
    for state, copied in ((marks.MOVING, False), (marks.MOVED, True)):
        for options, own, other in ((files, state, target), (target, marks.ARRIVING, files)):
            locks = opening.open_locks(options)
            locks.take("default", OTHER)
            locks.set_mark("default", OTHER, marks.Mark(own, "a1", other["path"]))
            locks.release_own("default", OTHER)
        if copied:
            copied_objects.Copies(opened(target), "default", "there").bring(Graph(opened(files), "default", OTHER))
        newer = change(opened(target), "ConfigMap")
        assert "with other contents" in move_other(files, target).get("msg", "")
        assert opened(target).get(*key_in(opened(target), "ConfigMap")) == newer  # type: ignore[arg-type]
        found = opening.open_locks(files).mark("default", OTHER)
        assert found is not None and found.state == state
    change(opened(files), "ConfigMap")
    assert not move_other(files, target).get("failed")
    assert opening.open_locks(target).mark("default", OTHER) is None


def test_of_what_is_one_clusters_alone_no_other_is_asked(files: Options, target: Options) -> None:
    """A kept cluster may have what can't be read there: it keeps no move from being resumed after a change."""
    assert not move_other(files, target).get("failed")
    here, there = opened(files), opened(target)
    copies = copied_objects.Copies(there, "default", "there", locks=opening.open_locks(target))
    copies.bring(Graph(here, *AT))
    infrastructure = {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "OtherCluster", "name": OTHER}
    there.modify(CLUSTER, "default", OTHER, lambda each: each["spec"].update(infrastructureRef=infrastructure))
    folder = Path(target["path"]) / "default" / "othermachine.infrastructure.cluster.x-k8s.io"
    folder.mkdir()
    (folder / "m.yaml").write_text("{")
    here.modify(CONTROL_PLANE, "default", f"{NAME}-control-plane", lambda each: each["spec"].update(replicas=5))
    copies.bring(Graph(here, *AT))
    assert there.get(CONTROL_PLANE, "default", f"{NAME}-control-plane")["spec"]["replicas"] == 5  # type: ignore[index]
    change(here, "Secret")
    with pytest.raises(StoreError, match=r"m\.yaml"):
        copies.bring(Graph(here, *AT))


def test_a_template_that_a_kept_clusters_machine_alone_names_is_not_written_over(
    files: Options, target: Options
) -> None:
    """Its control plane names a newer one already, and the machine is compared with the one that it was made from."""
    assert not move_other(files, target).get("failed")
    here, there = opened(files), opened(target)
    machine = here.list((TEMPLATE[0], "AcmeMachine"), "default")[0]
    template = key_in(here, "template")
    cloned = {
        "cluster.x-k8s.io/cloned-from-groupkind": f"{TEMPLATE[1]}.{TEMPLATE[0]}",
        "cluster.x-k8s.io/cloned-from-name": template[2],
    }
    there.create(
        {
            **machine,
            "metadata": {**_metadata("m"), "labels": {"cluster.x-k8s.io/cluster-name": OTHER}, "annotations": cloned},
        }
    )
    newer = {**there.get(*template), "metadata": _metadata("newer")}  # type: ignore[arg-type,dict-item]
    there.create(newer)
    reference = {"apiGroup": TEMPLATE[0], "kind": TEMPLATE[1], "name": "newer"}
    there.modify(
        CONTROL_PLANE,
        "default",
        "other-control-plane",
        lambda each: each["spec"]["machineTemplate"]["spec"].update(infrastructureRef=reference),
    )
    change(here, "template")
    with pytest.raises(copied_objects.NotTheSame, match="with other contents"):
        copied_objects.Copies(there, "default", "there", locks=opening.open_locks(target)).bring(Graph(here, *AT))


@pytest.mark.parametrize("mark", [marks.EXPORT, marks.ARRIVING, marks.MOVED])
def test_what_only_a_copy_of_a_cluster_uses_is_brought_up_to_date(files: Options, target: Options, mark: str) -> None:
    """The store that this one goes by has the newer one."""
    copied_objects.Copies(opened(target), "default", "there").bring(Graph(opened(files), *AT))
    locks = opening.open_locks(target)
    locks.take(*AT)
    locks.set_mark(*AT, marks.Mark(mark, "a1", files["path"]))
    locks.release_own(*AT)
    newer = change(opened(files), "Secret")
    assert not move_other(files, target).get("failed")
    assert opened(target).get(SECRET, "default", "registry")["data"] == newer["data"]  # type: ignore[index]


def test_what_was_left_behind_is_brought_up_to_date(files: Options, target: Options) -> None:
    """There and back, with a Secret that was changed in between, and that no other cluster uses."""
    opened(files).delete(CONTROL_PLANE, "default", "other-control-plane")
    assert not move(files, target).get("failed")
    newer = change(opened(target), "Secret")
    assert not move(target, files).get("failed")
    assert opened(files).get(SECRET, "default", "registry")["data"] == newer["data"]  # type: ignore[index]


class Overtaken(FileStore):
    """A store in which other runs write between two requests of this one."""

    others: t.ClassVar[list[t.Callable[[], t.Any]]] = []

    def _let_others(self) -> None:
        for each in [self.others.pop(0)] if self.others else []:
            each()

    def create(self, obj: Object) -> Object:
        """Store a new object, after another run's turn."""
        self._let_others()
        return super().create(obj)

    def update(self, obj: Object) -> Object:
        """Replace an object, after another run's turn."""
        self._let_others()
        return super().update(obj)


def test_two_at_once(files: Options, target: Options) -> None:
    """Whichever makes or changes what both use, the other takes it for its own copy."""
    here, there = opened(files), Overtaken(target["path"])

    def bring(cluster: str, store: Store) -> None:
        copies = copied_objects.Copies(store, "default", "there")
        copies.bring(Graph(here, "default", cluster))
        copies.verify(Graph(here, "default", cluster))

    for _round in ("created", "changed"):
        there.others[:] = [lambda: bring(OTHER, opened(target))]
        bring(NAME, there)
        assert there.others == [] and missing(opened(target), everything(here)) == []
        change(here, "Secret")
        change(here, "ConfigMap")


def test_what_somebody_else_makes_meanwhile_is_not_taken_for_a_copy(files: Options, target: Options) -> None:
    """A Secret of that name that is no copy stays as it is."""
    there = Overtaken(target["path"])
    theirs = {"apiVersion": "v1", "kind": "Secret", "metadata": _metadata("registry"), "data": {"a": "dGhlaXJz"}}
    there.others[:] = [lambda: opened(target).create(theirs)]
    with pytest.raises(copied_objects.NotTheSame, match="is there already, and is not this one"):
        copied_objects.Copies(there, "default", "there").bring(Graph(opened(files), *AT))
    assert opened(target).get(SECRET, "default", "registry")["data"] == theirs["data"]  # type: ignore[index]
