# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a move carries and how a copy is told from something else; from files to files."""

from __future__ import annotations

import typing as t
from pathlib import Path

import moves
import pytest
from builders import NOW, healthy
from moves import AT, CLUSTER, MACHINE, SECRET, everything, keepers, missing, move, opened
from operator_workspace import NAME

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.base_classes.control_plane_action import (
    ControlPlaneAction,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.plan.document import make_plan
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.move import copied_objects, deletion_marks
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.move import graph as cluster_graph
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects import origin
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.plans import kept_plans
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store import opening
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.base import kind_ref_of
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import FileStore
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.lock import marks

Options = dict[str, t.Any]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Options:
    """A cluster in files, which tests leave as it is."""
    return moves.make(tmp_path_factory.mktemp("moves") / "workspace")


@pytest.fixture
def files(tmp_path: Path) -> Options:
    """A cluster in files."""
    return moves.make(tmp_path / "workspace")


@pytest.fixture
def other(tmp_path: Path) -> Options:
    """An empty store."""
    return {"type": "file", "path": str(tmp_path / "other")}


def test_there_and_back(files: Options, other: Options) -> None:
    """Everything, as old as it was; what was named after it keeps its name."""
    before = everything(opened(files))
    assert not move(files, other).get("failed")
    assert missing(opened(other), before) == [] and everything(opened(files)) == {} and keepers(files, other) == [1]
    after = everything(opened(other))
    for key, obj in before.items():
        assert origin.uid(after[key]) == obj["metadata"]["uid"] != after[key]["metadata"]["uid"]
        assert after[key]["metadata"]["creationTimestamp"] == obj["metadata"]["creationTimestamp"]
    assert not move(files, other)["changed"]
    assert not move(other, files).get("failed")
    assert missing(opened(files), before) == [] and keepers(other, files) == [1]
    assert {key: origin.uid(each) for key, each in everything(opened(files)).items()} == {
        key: each["metadata"]["uid"] for key, each in before.items()
    }


def test_a_kept_plan_moves_with_its_cluster(files: Options, other: Options) -> None:
    """And may be carried out from there; nothing of it is left behind. One that is there already is in no one's way."""
    document, another = (
        {**make_plan(healthy(number).build(), NOW), "namespace": AT[0], "cluster": AT[1]} for number in (3, 1)
    )
    digest, earlier = kept_plans.keep(opened(files), document), kept_plans.keep(opened(other), another)
    assert digest != earlier
    assert not move(files, other).get("failed")
    assert kept_plans.read(opened(other), *AT, digest) == document
    assert kept_plans.read(opened(other), *AT, earlier) == another
    assert kept_plans.of_cluster(opened(files), *AT) == []


@pytest.mark.parametrize("check", [True, False])
def test_a_pause_of_the_namespace_stays_and_is_told(files: Options, other: Options, check: bool) -> None:
    """It is about all clusters there; where the target's namespace has one, that is told instead."""
    metadata = {"name": "kubeadm-control-plane-pause", "namespace": AT[0]}
    pause = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"reason": "storage is moved"}}
    opened(files).create(pause)
    changes = move(files, other, check=check)["changes"]
    [told] = [each for each in changes if "pause of the namespace" in each]
    assert told.startswith("leave the pause of the namespace behind") and told.endswith(": storage is moved")
    assert opened(other).get(("", "ConfigMap"), AT[0], metadata["name"]) is None
    assert opened(files).get(("", "ConfigMap"), AT[0], metadata["name"]) is not None
    if not check:
        [told] = [each for each in move(other, files)["changes"] if "paused by its namespace" in each]
        assert told.startswith("have the cluster paused by its namespace in")


def test_workers_move_with_their_cluster(files: Options, other: Options) -> None:
    """A MachineDeployment, its set, and the templates that it names; one that another cluster's names, too, stays as well, whoever's label it has."""
    store, labels = opened(files), {"cluster.x-k8s.io/cluster-name": AT[1]}
    config = {"apiGroup": "bootstrap.cluster.x-k8s.io", "kind": "KubeadmConfigTemplate", "name": "pool"}
    reference = {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "NspawnMachineTemplate", "name": "pool"}
    template = {"spec": {"bootstrap": {"configRef": config}, "infrastructureRef": reference}}
    core, spec = "cluster.x-k8s.io/v1beta2", {"clusterName": AT[1], "template": template}
    wanted = [
        (core, "MachineDeployment", "pool", spec, labels),
        (core, "MachineSet", "pool-1", spec, labels),
        (core, "MachineDeployment", "elsewhere", {**spec, "clusterName": "elsewhere"}, {}),
        ("bootstrap.cluster.x-k8s.io/v1beta2", "KubeadmConfigTemplate", "pool", {"template": {}}, labels),
        ("infrastructure.cluster.x-k8s.io/v1beta1", "NspawnMachineTemplate", "pool", {"template": {}}, labels),
    ]
    for version, kind, name, content, own in wanted:
        metadata = {"name": name, "namespace": AT[0], "labels": dict(own)}
        store.create({"apiVersion": version, "kind": kind, "metadata": metadata, "spec": content})
    assert not move(files, other).get("failed")
    moved = {(kind, name) for (_group, kind), name in everything(opened(other))}
    assert moved >= {(kind, name) for _version, kind, name, _content, own in wanted if name != "elsewhere"}
    assert store.get(("cluster.x-k8s.io", "MachineDeployment"), AT[0], "pool") is None
    for kind in ((config["apiGroup"], config["kind"]), (reference["apiGroup"], reference["kind"])):
        assert store.get(kind, AT[0], "pool") is not None


def test_owners_come_before_what_they_own(made: Options) -> None:
    """And the Cluster, which says that it is paused, before all others."""
    graph = cluster_graph.Graph(opened(made), *AT)
    placed: set[str] = set()
    for each in graph.objects:
        owners = {str(owner["uid"]) for owner in each["metadata"].get("ownerReferences") or []}
        assert owners <= placed, each["metadata"]["name"]
        placed.add(each["metadata"]["uid"])
    assert kind_ref_of(graph.objects[0]) == CLUSTER


def test_what_belongs_to_a_cluster(made: Options) -> None:
    """By its label, by name, and by who refers to it; nothing of another one."""
    graph = cluster_graph.Graph(opened(made), *AT)
    names = {f"{kind[1]}/{name}" for kind, name in graph.by_key()}
    for each in ("Secret/registry", "MachineHealthCheck/prod-check", "Action/under-way", "Secret/prod-ca"):
        assert each in names
    assert not {"Secret/nobodys", "MachineHealthCheck/other-check", "Cluster/other"} & names
    assert (SECRET, "registry") not in graph.own and (SECRET, "prod-ca") in graph.own


@pytest.mark.parametrize(
    ("wanted", "found", "path"),
    [
        ({"spec": {"a": 1}}, {"spec": {"a": 1, "replicas": 1}}, None),
        ({"data": {"a": "b"}}, {"data": {"a": "b"}, "type": "Opaque"}, None),
        ({"metadata": {"labels": {}}}, {"metadata": {}}, None),
        ({"spec": {"a": [1, 2]}}, {"spec": {"a": [1]}}, "spec.a"),
        ({"spec": {"a": [{"b": 1}]}}, {"spec": {"a": [{"b": 2}]}}, "spec.a[0].b"),
        ({"status": {}}, {"status": {"phase": "Running"}}, "status.phase"),
        ({"metadata": {"labels": {"a": "b"}}}, {"metadata": {"labels": {"a": "b", "c": "d"}}}, "metadata.labels.c"),
        ({"data": {"a": "b"}}, {"data": {"a": "c"}}, "data.a"),
        ({"spec": {"a": False}}, {"spec": {}}, "spec.a"),
    ],
)
def test_where_a_copy_differs(wanted: t.Any, found: t.Any, path: t.Optional[str]) -> None:
    assert copied_objects.difference(wanted, found) == path


def test_an_owner_that_does_not_come_along_is_left_out() -> None:
    """An API's garbage collector would take what it owns for garbage."""
    owners = [{"kind": "Application", "name": "argo", "uid": "u-1"}, {"kind": "Cluster", "name": "prod", "uid": "u-2"}]
    metadata = {"name": "m", "uid": "u-3", "creationTimestamp": moves.OLD, "ownerReferences": owners}
    made = copied_objects.copy_of({"kind": "Machine", "metadata": metadata}, {"u-2": "u-9"})
    assert made["metadata"]["ownerReferences"] == [{"kind": "Cluster", "name": "prod", "uid": "u-9"}]
    assert "uid" not in made["metadata"]


@pytest.mark.parametrize(("seconds", "order"), [((0, 0), (0, 2)), ((0, 1), (2, 0))])
def test_a_removal_goes_on_where_the_cluster_is(
    files: Options, other: Options, seconds: tuple[int, int], order: tuple[int, int]
) -> None:
    """In the order in which the machines were marked, within a second by name; nothing else is deleted there, and nothing is lost."""
    names = sorted(each["metadata"]["name"] for each in opened(files).list(MACHINE, "default"))
    for name, second in zip((names[2], names[0]), seconds):
        at = f"2026-01-01T00:00:0{second}Z"
        moves.mark(FileStore(files["path"], clock=lambda at=at: at), MACHINE, name)
    before = everything(opened(files))
    said = move(files, other, check=True)
    first, last = (f"Machine {names[each]}" for each in order)
    assert said["changes"][-1] == f"continue there with the deletion of {first}, {last}"
    said = move(files, other)
    assert not said.get("failed"), said
    assert moves.marked(opened(other)) == [names[0], names[2]] and missing(opened(other), before) == []
    assert everything(opened(files)) == {} and not move(files, other)["changed"]


def test_a_mark_that_is_taken_back_by_the_move_of_a_copy(files: Options, other: Options) -> None:
    """No store can take one back: the copies are made anew, and what was marked lives."""
    before = everything(opened(files))
    name = opened(files).list(MACHINE, "default")[0]["metadata"]["name"]
    opened(files).modify(MACHINE, "default", name, lambda each: each["metadata"].update(finalizers=["a.b/c"]))
    copies = copied_objects.Copies(opened(other), "default", "there")
    copies.bring(cluster_graph.Graph(opened(files), *AT))
    moves.mark(opened(other), MACHINE, name)
    done = copies.bring(cluster_graph.Graph(opened(files), *AT))
    assert f"delete Machine {name}" in done and f"create Machine {name}" in done
    copies.verify(cluster_graph.Graph(opened(files), *AT))
    assert moves.marked(opened(other)) == [] and everything(opened(other)).keys() == before.keys()


@pytest.mark.parametrize(
    ("marked", "carried"),
    [
        ([("b", "10", "a.b/c"), ("a", "11", "a.b/c")], ["b", "a"]),
        ([("a", "10", "foregroundDeletion")], []),
        ([("a", "10", "foregroundDeletion", "a.b/c")], ["a"]),
        ([("b", "09", "a.b/c"), (NAME, "10", "a.b/c"), ("a", "10", "a.b/c")], ["b"]),
        ([(NAME, "10", "a.b/c"), ("a", "12", "a.b/c")], []),
    ],
)
def test_which_deletions_are_carried(files: Options, marked: t.Any, carried: list[str]) -> None:
    """Those that were begun by themselves, oldest first; not what a cascade marked with the whole, nor what waits for the collector only."""
    machines = [each["metadata"]["name"] for each in opened(files).list(MACHINE, "default")]
    names = {NAME: NAME, **dict(zip("abc", sorted(machines)))}
    for short, second, *finalizers in marked:
        store = FileStore(files["path"], clock=f"2026-01-31T12:00:{second}Z".__str__)
        where = (CLUSTER if short == NAME else MACHINE, "default", names[short])
        store.modify(*where, lambda each, own=finalizers: each["metadata"].update(finalizers=own))  # type: ignore[misc]
        store.delete(*where)
    graph = cluster_graph.Graph(opened(files), *AT)
    assert [each["metadata"]["name"] for each in deletion_marks.carried(graph)] == [names[each] for each in carried]
    behind = {each["metadata"]["name"] for each in deletion_marks.left_behind(graph)}
    assert behind == {names[short] for short, *_rest in marked} - {names[each] for each in carried}


@pytest.mark.parametrize(
    ("host", "endpoint", "same"),
    [
        ("https://192.0.2.10:6443", {"host": "192.0.2.10", "port": 6443}, True),
        ("https://API.example.org", {"host": "api.example.org", "port": 443}, True),
        ("https://[2001:db8::1]:6443/", {"host": "2001:db8::1"}, True),
        ("https://192.0.2.10:6443", {"host": "192.0.2.11", "port": 6443}, False),
        ("https://192.0.2.10:443", {"host": "192.0.2.10", "port": 6443}, False),
        ("https://192.0.2.10:6443", None, False),
    ],
)
def test_a_cluster_that_keeps_itself(host: str, endpoint: t.Any, same: bool) -> None:
    pytest.importorskip("kubernetes")
    store = opening.open_store({"type": "kubernetes", "host": host, "path": "journal"})
    assert opening.keeps_itself(store, {"spec": {"controlPlaneEndpoint": endpoint}}) is same


def test_an_export_of_files_has_no_meaning(made: Options, tmp_path: Path) -> None:
    said = move({**made, "export": str(tmp_path / "export")}, {"type": "file", "path": str(tmp_path / "other")})
    assert said["failed"] and "store's option export has no meaning here" in said["msg"]


def test_a_move_to_where_it_is(made: Options, tmp_path: Path) -> None:
    """Also by another path."""
    link = tmp_path / "link"
    link.symlink_to(made["path"])
    said = move(made, {"type": "file", "path": str(link)})
    assert said["failed"] and "is the store that default/prod is in" in said["msg"]


def note(options: Options, *mark: str) -> None:
    """Write a store's mark: its state, and the other store."""
    locks = opening.open_locks(options)
    locks.take(*AT)
    locks.set_mark(*AT, marks.Mark(mark[0], "a1", mark[1]) if mark else None)
    locks.release_own(*AT)


@pytest.mark.parametrize("check", [True, False])
def test_two_moves_at_once(files: Options, other: Options, tmp_path: Path, check: bool) -> None:
    """Into a store that another move goes to, and on from one that is elsewhere: nothing is begun, and nothing is noted."""
    for state in (marks.ARRIVING, marks.MOVING):
        note(other, state, "/srv/third")
        said = move(files, other, check=check)
        assert said["failed"] and "/srv/third has begun" in said["msg"]
        assert opening.open_locks(files).mark(*AT) is None and keepers(files, other) == [0]
    note(other)
    for state, why in (
        (marks.ARRIVING, "a move from /srv/third has begun"),
        (marks.MOVING, "to /srv/third has begun and not ended, and this one is to"),
        (marks.EXPORT, "this is a copy of what is kept in /srv/third"),
    ):
        note(files, state, "/srv/third")
        said = move(files, other, check=check)
        assert said["failed"] and why in said["msg"]
    note(files)
    assert not move(files, other).get("failed")
    said = move(files, {"type": "file", "path": str(tmp_path / "third")}, check=check)
    assert said["failed"] and f"it was moved to {other['path']}" in said["msg"]


def test_a_killed_move_that_is_only_tidied_up(files: Options, other: Options) -> None:
    """Its target is at work since: what is new there is nobody's leftover, and what is gone there is not missed."""
    before = everything(opened(files))
    assert not move(files, other).get("failed")
    for each in (obj for key, obj in before.items() if key not in everything(opened(files))):
        metadata = {key: value for key, value in each["metadata"].items() if key not in ("uid", "resourceVersion")}
        opened(files).create({**each, "metadata": metadata})
    there = opened(other)
    first, second, *_others = there.list(MACHINE, "default")
    there.create({**first, "metadata": {"name": "new", "namespace": "default", "labels": first["metadata"]["labels"]}})
    there.modify(
        MACHINE, "default", second["metadata"]["name"], lambda each: each["spec"].update(failureDomain="elsewhere")
    )
    working = everything(there)
    would = move(files, other, check=True)
    assert not would.get("failed"), would
    done = move(files, other)
    assert sorted(would["changes"]) == sorted(done["changes"]) and "delete Machine new" not in done["changes"]
    assert everything(opened(other)) == working and would["changed"]


def test_what_is_taken_back(files: Options, other: Options, tmp_path: Path) -> None:
    """Check mode lists it; with other stores than the move's, or without one, it is not said to be done."""
    third = {"type": "file", "path": str(tmp_path / "third")}
    for check in (True, False):
        said = move(files, other, undo=True, check=check)
        assert not said["changed"] and said["msg"].startswith(f"there is no move of default/{NAME} ")
    note(files, marks.MOVING, other["path"])
    note(other, marks.ARRIVING, files["path"])
    copied_objects.Copies(opened(other), "default", "there").bring(cluster_graph.Graph(opened(files), *AT))
    for check in (True, False):
        said = move(files, third, undo=True, check=check)
        assert said["failed"] and f"to {other['path']} has begun and not ended" in said["msg"]
        said = move(other, files, undo=True, check=check)
        assert said["failed"] and f"a move from {files['path']} has begun" in said["msg"]
    copies = everything(opened(other))
    would = move(files, other, undo=True, check=True)
    assert would["changed"] and everything(opened(other)) == copies
    done = move(files, other, undo=True)
    assert done["changes"][:-1] == would["changes"][:-1] and "delete Secret prod-ca" in done["changes"]
    assert everything(opened(other)) == {} and keepers(files, other) == [0, 1]


def test_taken_back_while_the_target_is_dead(files: Options, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of it need be asked, not even for its lock."""
    pytest.importorskip("kubernetes")
    monkeypatch.setattr(ControlPlaneAction, "PATIENCE_SECONDS", 0.0)
    dead = {"type": "kubernetes", "host": "https://127.0.0.1:1", "path": str(tmp_path / "journal"), "api_key": "none"}
    locks = opening.open_locks(files)
    locks.take(*AT)
    locks.set_mark(*AT, marks.Mark(marks.MOVING, "a1", opening.title(dead)))
    locks.release_own(*AT)
    assert keepers(files) == []
    said = move(files, dead, undo=True)
    assert not said.get("failed") and said["changed"] and "the cluster stays" in said["changes"][-1], said
    assert keepers(files) == [0]


def test_a_mark_that_was_left_over_in_a_dead_target_is_taken_off(
    files: Options, other: Options, tmp_path: Path
) -> None:
    """The move was taken back without it, and the cluster went to a third store: what the message says is the way there."""
    copies = copied_objects.Copies(opened(other), "default", "there")
    copies.bring(cluster_graph.Graph(opened(files), *AT))
    note(other, marks.ARRIVING, opening.title(files))
    third = {"type": "file", "path": str(tmp_path / "third")}
    assert not move(files, third).get("failed")
    before, said = everything(opened(third)), move(third, other)
    assert (
        said["failed"]
        and f"kept in a third store by now, this mark is left over: take it off (the file {marks.FILE_NAME}"
        in said["msg"]
    )
    [mark] = Path(other["path"]).rglob(marks.FILE_NAME)
    mark.unlink()
    assert not move(third, other).get("failed")
    assert missing(opened(other), before) == [] and keepers(files, third, other) == [2]


def test_a_template_goes_with_its_cluster_unless_another_one_needs_it(files: Options, other: Options) -> None:
    store = opened(files)
    control_plane = store.list(moves.CONTROL_PLANE, "default")[0]
    reference = control_plane["spec"]["machineTemplate"]["spec"]["infrastructureRef"]
    kind = (reference["apiGroup"], reference["kind"])
    metadata = {
        "name": "other-control-plane",
        "namespace": "default",
        "labels": {"cluster.x-k8s.io/cluster-name": "other"},
    }
    store.create({**control_plane, "metadata": metadata})
    assert not move(files, other).get("failed")
    assert store.get(kind, "default", reference["name"]) and opened(other).get(kind, "default", reference["name"])
    store.delete(moves.CONTROL_PLANE, "default", "other-control-plane")
    assert not move(other, files).get("failed")
    assert opened(other).get(kind, "default", reference["name"]) is None


def test_a_cluster_that_is_not_there(made: Options, other: Options) -> None:
    said = move(other, made)
    assert said["failed"] and f"has no Cluster default/{NAME}" in said["msg"]
    assert opened(made).list(MACHINE, "default")
