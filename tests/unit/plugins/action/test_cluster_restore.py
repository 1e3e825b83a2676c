# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A restore as a task runs it: consent, the order of its steps, what the store notes, what a second run does; machines give recorded answers."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest
from etcd_database import snapshot
from restore_world import SUCCEEDED, World

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects import kinds, restore_note
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.cluster_objects import (
    CLUSTER,
    CONTROL_PLANE,
    MACHINE,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store import pause

CONSENT = "prod:everythingAfterRevision:90:etcdOf:b,c"
REMOVE = (
    "Run this again once that pause has ended: remove spec.paused, its annotation, or the ConfigMap of its namespace."
)


@pytest.fixture(name="world")
def _world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    return World(tmp_path, monkeypatch)


def test_without_consent_nothing_is_done_and_what_to_type_is_said(world: World) -> None:
    for given in ("", "yes", CONSENT.replace("90", "91")):
        refused = world.run(consent=given)
        assert refused["failed"] and f"-e control_plane_restore_consent={CONSENT}" in refused["msg"]
        assert "the data of machine a's own etcd" in refused["msg"]
    told = world.run(check=True)
    assert not told.get("failed") and told["changed"] and told["consent"] == CONSENT
    # Only the check whether the machine itself would refuse.
    assert set(world.calls) == {("a", "restored 90 wait=None")}
    assert world.marked() == []


def test_the_others_are_marked_and_stopped_before_etcd_is_restored(world: World) -> None:
    """One, too, that Cluster API has made: that keeps no record of its bootstrap."""
    world.change(MACHINE, "b", lambda each: each["spec"].update(bootstrap={"dataSecretName": "b"}))
    world.change(MACHINE, "b", lambda each: each["status"].pop("bootstrap"))
    done = world.run(consent=CONSENT)
    assert not done.get("failed"), done
    assert world.calls[1:] == [("b", "stopped"), ("a", "restored 90 wait=0"), ("a", "settle")]
    assert world.marked() == ["b", "c"] and done["lost"] == ["b", "c"]
    assert "/var/lib/etcd/member-before" in done["msg"]
    # The restored etcd is another cluster, which the next observation must not be surprised by.
    [plane] = world.store.list(CONTROL_PLANE, "default")
    assert plane["status"]["etcdClusterID"] == "00000000000000ff"
    # The same consent again is no second restore; what is in the cluster by now is not lost to it.
    world.calls.clear()
    again = world.run(consent=CONSENT)
    assert (again["changed"], world.calls) == (False, []) and "nothing is restored again" in again["msg"]


def test_the_same_restore_again_has_a_consent_of_its_own(world: World) -> None:
    """However often: no consent of an earlier one fits again, also where the later one broke off, and no machine takes it for that."""
    world.fails = "a settle"
    assert not world.run(consent=CONSENT).get("failed")
    second = f"{CONSENT}:after:2026-07-03T141502Z"
    assert world.run(check=True)["consent"] == second
    world.calls.clear()
    assert "last restore, if any, is done: no room. It" in world.run(consent=second)["msg"] and len(world.calls) == 2
    world.fails = "b"
    assert "machine b was not stopped" in world.run(consent=second)["msg"] and world.note()["state"] == "Begun"
    world.fails = ""
    refused = world.run(consent=CONSENT)
    assert f"To resume it, run again with -e control_plane_restore_consent={second}" in refused["msg"]
    world.calls.clear()
    assert world.run(consent=second)["changed"] and ("a", "restored 90 wait=0") in world.calls
    assert "nothing is restored again" in world.run(consent=second)["msg"]
    assert "is another one" in world.run(consent=CONSENT)["msg"]


def test_a_run_that_broke_off_is_gone_on_with_by_the_same_consent(world: World) -> None:
    world.fails = "a"
    world.calls.clear()
    # The look before the consent fails first: nothing is noted then.
    assert "no room" in world.run(consent=CONSENT)["msg"] and world.marked() == []
    world.fails = "b"
    assert "machine b was not stopped: no room" in world.run(consent=CONSENT)["msg"]
    world.fails = ""
    # It is marked once it has stopped: one that refuses stays healthy.
    assert world.marked() == [] and world.note()["state"] == "Begun"
    other = world.run(consent="prod:everythingAfterRevision:80:etcdOf:a,c")["msg"]
    assert "was started and has not finished" in other
    assert f"To resume it, run again with -e control_plane_restore_consent={CONSENT}" in other
    assert not world.run(consent=CONSENT).get("failed")
    assert world.marked() == ["b", "c"]


def test_an_etcd_that_works_and_clusters_that_are_none_are_left_alone(world: World) -> None:
    world.leader = "00000000000000aa"
    working = world.run(consent=CONSENT)
    assert (working["changed"], world.calls) == (False, []) and "nothing has to be restored" in working["msg"]
    world.change(CONTROL_PLANE, "prod", lambda each: each.update(status={"etcdClusterID": "00aa"}))
    assert "cluster 00000000000000ff, recorded is 00aa. Nothing was done. Wh" in world.run(consent=CONSENT)["msg"]
    world.change(CLUSTER, "prod", lambda each: each.pop("status"))
    assert "has never had a control plane" in world.run(consent=CONSENT)["msg"]


@pytest.mark.parametrize(
    ("how", "why", "fix"),
    [
        ("field", "Cluster spec.paused is true", REMOVE),
        ("adoption", "run the playbook adopt again, which removes it", "Run this again once that pause has ended."),
        ("ConfigMap", f"the ConfigMap {pause.NAME} of the namespace default is there", REMOVE),
    ],
)
def test_a_paused_cluster_is_left_alone(world: World, how: str, why: str, fix: str) -> None:
    if how == "field":
        world.change(CLUSTER, "prod", lambda each: each["spec"].update(paused=True))
    elif how == "adoption":
        flag = {kinds.ANNOTATION_PAUSED: kinds.PAUSED_BY_ADOPTION}
        world.change(CONTROL_PLANE, "prod", lambda each: each["metadata"].update(annotations=flag))
    else:
        metadata = {"name": pause.NAME, "namespace": "default"}
        world.store.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
    assert f"{why}. Nothing was done. {fix}" in world.run(consent=CONSENT)["msg"] and world.calls == []


def test_an_etcd_that_lives_where_nobody_can_stop_it_ends_it_before_anybody_is_asked(world: World) -> None:
    world.members = [
        {"id": "00bb", "name": "b", "listens": "10.0.0.2:2380"},
        {"id": "00cc", "name": "c", "listens": ""},
    ]
    assert not world.run(check=True).get("failed"), "b can be stopped"
    world.members[1]["listens"] = "10.0.0.3:2380"
    refused = world.run(consent=CONSENT)["msg"]
    assert "c listens at 10.0.0.3:2380" in refused and "Make its machine reachable" in refused and world.marked() == []


def test_a_store_that_is_a_step_behind(world: World) -> None:
    """The copy of a run that was killed: a machine that was joining has failed where it was stopped; one that it doesn't know is named."""
    for name in "bc":
        world.change(MACHINE, name, lambda each: each["status"]["bootstrap"].update(state="Running"))
    world.members = [{"id": "00dd", "name": "d", "listens": "10.0.0.4:2380"}]
    refused = world.run(consent=CONSENT)
    assert refused["failed"] and "member d listens" in refused["msg"] and "cut its power" in refused["msg"]
    assert "knows no such machine" in refused["msg"] and world.marked() == [] and world.calls[1:] == []
    world.members[0]["listens"] = ""
    done = world.run(consent=CONSENT)
    assert not done.get("failed") and world.marked() == ["c"] and done["lost"] == ["b", "c"], done
    # kubeadm may go on where no machine ended it, and add its member to the etcd that was restored.
    assert (world.bootstrap("b")["state"], world.bootstrap("c")["state"]) == ("Failed", "Running")


def test_what_an_earlier_restore_left_is_not_taken_for_this_one(world: World) -> None:
    world.restore = {"state": "Succeeded", "snapshot": "", "revision": 90}
    assert not world.run(consent=CONSENT).get("failed")
    assert world.calls[1:] == [("a", "settle"), ("b", "stopped"), ("a", "restored 90 wait=0"), ("a", "settle")]


def test_machines_that_were_replaced_meanwhile_are_none_of_its_business(world: World) -> None:
    world.fails = "b"
    assert world.run(consent=CONSENT)["failed"]
    world.fails = ""
    world.calls.clear()
    world.store.delete(MACHINE, "default", "b")
    assert world.run(consent=CONSENT)["msg"].endswith("prod:everythingAfterRevision:90:etcdOf:c")
    # Where it is under way, nothing has to be asked again.
    world.restore = {"state": "Interrupted", "snapshot": "", "revision": 90}
    world.calls.clear()
    assert not world.run(consent=CONSENT).get("failed")
    assert world.calls == [("a", "restored 90 wait=0"), ("a", "settle")]


def backup(world: World, folder: Path, revision: int) -> Path:
    """Write a snapshot of the stored cluster."""
    authority = b"-----BEGIN CERTIFICATE-----\nb3ducyB0aGlz\n-----END CERTIFICATE-----\n"
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "prod-ca", "namespace": "default"}}
    world.store.create({**secret, "data": {"tls.crt": base64.b64encode(authority).decode()}})
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "home.db"
    path.write_bytes(snapshot(revision, b"/configmaps/kube-public/cluster-info" + authority))
    return path


def test_a_restore_from_a_backup_is_resumed_without_its_folder_being_named_again(world: World, tmp_path: Path) -> None:
    path = backup(world, tmp_path / "backups" / "default" / "prod", 120)
    facts = {"taken_at": "2099-01-01T00:00:00Z", "cluster_id": "ff"}
    path.with_suffix(".json").write_text(json.dumps(facts))
    options = {"directory": str(tmp_path / "backups")}
    consent = world.run(check=True, **options)["consent"]
    assert ":120:" in consent, consent
    world.fails = "b"
    assert "machine b was not stopped" in world.run(consent=consent, **options)["msg"]
    world.fails = ""
    assert not world.run(consent=consent).get("failed")
    assert ("a", "restored 120 wait=0") in world.calls


def test_a_backup_is_verified_on_its_machine_before_any_other_is_stopped(world: World, tmp_path: Path) -> None:
    path = backup(world, tmp_path, 70)
    consent = "prod:everythingForOtherHistoryAtRevision:70:insteadOf:90:etcdOf:b,c"
    assert world.run(snapshot=str(path))["msg"].endswith(consent) and world.calls == []
    world.fails = "a"
    refused = world.run(snapshot=str(path), consent=consent)
    assert "no room" in refused["msg"] and "This run stopped no machine" in refused["msg"]
    assert world.calls == [("a", "restored 70 wait=None")] and world.note() == {}
    world.fails = ""
    assert not world.run(snapshot=str(path), consent=consent).get("failed")
    assert world.calls[1:] == [
        ("a", "restored 70 wait=None"),
        ("b", "stopped"),
        ("a", "restored 70 wait=0"),
        ("a", "settle"),
    ]


@pytest.mark.parametrize("content", [b"", b"x" * 40, b"\0" * 70000])
def test_a_file_that_is_no_whole_snapshot_is_told_as_such(world: World, tmp_path: Path, content: bytes) -> None:
    broken = tmp_path / "broken.db"
    broken.write_bytes(content)
    refused = world.run(snapshot=str(broken), consent=CONSENT)
    assert refused["failed"] and "is truncated or damaged" in refused["msg"] and world.marked() == []


@pytest.mark.parametrize("state", ["Running", "Interrupted", "Succeeded"])
def test_what_is_under_way_on_its_machine_can_not_be_exchanged(world: World, state: str) -> None:
    begin(world)
    world.restore = {"state": state, "snapshot": "/kept/sent.db", "revision": 90}
    # Nothing of this is chosen instead, not even newer data that turned up.
    world.silent, world.known["c"] = set(), 95
    told = world.run(consent="")["msg"]
    assert f"under way on machine a ({state}), so that no other can be chosen" in told and told.endswith(CONSENT)
    for options in ({"machine": "b"}, {"snapshot": "b:data"}):
        other = world.run(consent=CONSENT, **options)
        assert other["failed"] and "names another one" in other["msg"] and world.stopped == set()
    world.calls.clear()
    assert not world.run(consent=CONSENT, machine="a").get("failed")
    # What its machine has of it is what it is called with.
    assert world.calls == [("b", "stopped"), ("c", "stopped"), ("a", "restored 90 wait=0"), ("a", "settle")]
    assert world.note()["state"] == "Done"


def begin(world: World, fails: str = "b") -> None:
    """A run that is killed when it has noted its restore, and before it stopped anything."""
    world.fails = fails
    assert world.run(consent=CONSENT)["failed"] and world.note()["state"] == "Begun"
    world.fails = ""


def mark(world: World, name: str, value: str = "") -> None:
    """A machine gets the annotation remediate-machine; the user's has any value, or none."""
    flag = {kinds.ANNOTATION_REMEDIATE_MACHINE: value}
    world.change(MACHINE, name, lambda each: each["metadata"].setdefault("annotations", {}).update(flag))


def test_a_restore_whose_machine_was_lost_is_chosen_again_with_another_consent(world: World) -> None:
    world.fails = "a"
    begin(world)
    mark(world, "b", kinds.REMEDIATED_BY_RESTORE)
    world.silent, world.stopped = {"a"}, {"b"}
    again = world.run(consent=CONSENT)
    instead = "prod:everythingAfterRevision:85:etcdOf:a,b"
    assert again["failed"] and again["msg"].endswith(f"-e control_plane_restore_consent={instead}")
    assert "on machine a to revision 90" in again["msg"] and "Machine a can't be reached" in again["msg"]
    assert "cut its power: it must never run again" in again["msg"]
    world.silent = {"a", "c"}
    other = "prod:everythingAfterRevision:80:etcdOf:a,c"
    done = world.run(consent=other)
    # It was marked by the restore before; now it is the one that stays.
    assert not done.get("failed") and world.marked() == ["a", "c"], done
    newest = max(each["metadata"]["creationTimestamp"] for each in world.store.list(MACHINE, "default"))
    assert world.note() == {"state": "Done", "consent": other, "at": SUCCEEDED["finishedAt"], "newestMachine": newest}


def test_what_a_machine_refuses_or_undid_is_chosen_again_by_options(world: World) -> None:
    begin(world)
    world.restore = {"state": "Failed", "snapshot": "", "revision": 90}
    chosen = world.run(consent=CONSENT, machine="b")
    other = "prod:everythingAfterRevision:80:insteadOf:90:etcdOf:a,c"
    assert chosen["failed"] and chosen["msg"].endswith(other) and "Nothing of it is under way there" in chosen["msg"]
    assert world.run(consent=CONSENT, check=True)["consent"] == CONSENT
    done = world.run(consent=other, machine="b")
    assert not done.get("failed") and world.marked() == ["a", "c"], done


def test_something_newer_that_turned_up_is_asked_for_again(world: World) -> None:
    begin(world)
    world.silent, world.known["c"] = set(), 95
    again = world.run(consent=CONSENT)
    assert again["failed"] and again["msg"].endswith("prod:everythingAfterRevision:95:etcdOf:a,b")
    # What was asked for when it was started stays asked for by its consent alone.
    world.known["c"] = 85
    assert not world.run(consent=CONSENT).get("failed")


@pytest.mark.parametrize("last", [{}, {"state": "Done", "consent": "another"}])
def test_a_started_restore_ends_where_etcd_works_again(world: World, last: dict[str, str]) -> None:
    note = {restore_note.ANNOTATION: json.dumps(last)}
    world.change(CONTROL_PLANE, "prod", lambda each: each["metadata"].update(annotations=note))
    begin(world)
    world.silent, world.stopped, world.leader = set(), {"b"}, "00000000000000aa"
    told = world.run(check=True)
    assert told["changed"] and "would end" in told["msg"] and world.note()["state"] == "Begun"
    ended = world.run(consent=CONSENT)
    assert ended["changed"] and "has ended with that" in ended["msg"]
    assert world.note() == last and world.marked() == ["b"] and not world.run(consent=CONSENT)["changed"]


def test_a_machine_that_is_silent_when_a_started_restore_ends_is_named(world: World) -> None:
    """Whether it was stopped is not known, so that nothing replaces it by itself; one that is marked is replaced."""
    begin(world)
    world.silent, world.leader = {"b", "c"}, "00000000000000aa"
    ended = world.run(consent=CONSENT, check=True)["msg"]
    assert "not known whether it stopped them: b, c. Have those" in ended and "control_plane_machines=b,c)" in ended
    mark(world, "c")
    ended = world.run(consent=CONSENT)["msg"]
    assert "not known whether it stopped them: b. Have those" in ended and "control_plane_machines=b)" in ended
    assert "Reconcile replaces" not in ended and world.marked() == ["c"]


def begin_without_b(world: World, bootstrap: str) -> None:
    """A run that marked b, which it did not reach, and ended at c."""
    world.change(MACHINE, "b", lambda each: each["status"]["bootstrap"].update(state=bootstrap))
    world.silent = {"b"}
    begin(world, fails="c")


@pytest.mark.parametrize("bootstrap", ["Succeeded", "Running"])
def test_a_machine_that_was_marked_and_works_stays_when_a_started_restore_ends(world: World, bootstrap: str) -> None:
    begin_without_b(world, bootstrap)
    before = world.bootstrap("b")
    assert world.marked() == ["b"] and before["state"] == bootstrap
    world.silent, world.leader = set(), "00000000000000aa"
    assert "No longer marked for replacement" in world.run(consent=CONSENT, check=True)["msg"]
    assert (world.marked(), world.bootstrap("b")) == (["b"], before)
    assert world.run(consent=CONSENT)["msg"].endswith("as their etcd answers and it did not stop them: b.")
    assert (world.marked(), world.bootstrap("b")) == ([], before)


@pytest.mark.parametrize("value", ["", "true"])
def test_a_machine_that_the_user_marked_stays_marked(world: World, value: str) -> None:
    """A restore keeps it, and removes its own marks alone."""
    mark(world, "b", value)
    begin_without_b(world, "Succeeded")
    world.silent, world.leader = set(), "00000000000000aa"
    ended = world.run(consent=CONSENT)["msg"]
    assert "has ended with that" in ended and "No longer marked" not in ended and world.marked() == ["b"]


@pytest.mark.parametrize(("user", "marked"), [(True, ["a", "b", "c"]), (False, ["a", "c"])])
def test_so_does_one_on_which_etcd_is_restored(world: World, user: bool, marked: list[str]) -> None:
    if user:
        mark(world, "b")
    begin_without_b(world, "Succeeded")
    world.silent = {"a", "c"}
    assert not world.run(consent="prod:everythingAfterRevision:80:etcdOf:a,c").get("failed")
    assert world.marked() == marked


def test_one_that_was_joining_and_is_restored_on_has_not_failed(world: World) -> None:
    world.change(MACHINE, "b", lambda each: each["status"]["bootstrap"].update(state="Running"))
    world.silent = set()
    begin(world, fails="c")
    assert world.bootstrap("b")["message"] == "a restore of etcd on a gave it up"
    world.silent = {"a", "c"}
    done = world.run(consent="prod:everythingAfterRevision:80:etcdOf:a,c")
    assert not done.get("failed") and world.bootstrap("b")["state"] == "Running", done


def test_a_way_back_in_time_is_resumed_by_its_consent_after_it_stopped_etcd(world: World, tmp_path: Path) -> None:
    """The consent of an etcd that works names no revision of it: that rises by the second."""
    world.leader = "00000000000000aa"
    kept = {"path": "/kept/50.db", "revision": 50, "taken_at": "2999-01-01T00:00:00Z"}
    world.snapshots = [{**kept, "cluster_id": "00000000000000FF"}]
    consent = world.run(snapshot="a:/kept/50.db")["consent"]
    assert consent == "prod:everythingAfterRevision:50:etcdThatWorks:etcdOf:b,c"
    world.known = {name: known + 7 for name, known in world.known.items()}
    world.fails = "b"
    assert "machine b was not stopped" in world.run(snapshot="a:/kept/50.db", consent=consent)["msg"]
    world.fails, world.leader = "", None
    assert not world.run(consent=consent).get("failed") and world.calls[-2] == ("a", "restored 50 wait=0")


def test_a_member_by_an_earlier_id_is_known_by_its_peer_url(world: World) -> None:
    """A fenced machine's data calls the restored member by the ID that it had before."""
    url = ["https://10.0.0.1:2380"]
    world.members = [
        {"id": "00aa", "name": "a", "listens": "", "peerURLs": url},
        {"id": "0001", "name": "a", "listens": "10.0.0.1:2380", "peerURLs": url},
    ]
    assert not world.run(consent=CONSENT).get("failed")


def test_a_note_that_can_not_be_read_is_no_reason_to_restore(world: World) -> None:
    broken = {restore_note.ANNOTATION: '{"state": "Begun", "choice": 7}'}
    world.change(CONTROL_PLANE, "prod", lambda each: each["metadata"].update(annotations=broken))
    assert "can't be read" in world.run(consent=CONSENT)["msg"] and world.calls == []
