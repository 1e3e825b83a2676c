# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The modules about etcd as a playbook calls them: options, check mode, diff, refusals."""

from __future__ import annotations

import hashlib
import json
import os
import typing as t
from pathlib import Path

import pytest
from etcd_cluster import EtcdCluster, until
from tasks import Playbook

SNAPSHOT, LEADER = "kubeadm.control_plane.etcd_snapshot", "kubeadm.control_plane.etcd_leader"
ALARM = "kubeadm.control_plane.etcd_alarm"


@pytest.fixture(name="run")
def _run(cluster: EtcdCluster, tmp_path: Path) -> t.Callable[..., list[dict[str, t.Any]]]:
    """Runs tasks, each a module with its options and ``check``; returns their results."""
    playbook = Playbook(tmp_path, "", "kubectl")
    files = cluster.credentials
    given = {"ca_file": files.ca_file, "certificate_file": files.certificate_file, "key_file": files.key_file}

    def run(*tasks: tuple[str, dict[str, t.Any]]) -> list[dict[str, t.Any]]:
        steps: list[dict[str, t.Any]] = []
        for index, (module, options) in enumerate(tasks):
            check = options.pop("check", False)
            steps.append(
                {
                    "name": f"Task {index}",
                    module: {**given, **options},
                    "check_mode": check,
                    "diff": True,
                    "register": f"result_{index}",
                    "ignore_errors": True,
                }
            )
        found = tmp_path / "results.json"
        names = "[" + ", ".join(f"result_{index}" for index in range(len(tasks))) + "]"
        copy = {"content": "{{ " + names + " | to_json }}", "dest": str(found), "mode": "0600"}
        playbook.play([*steps, {"name": "Keep", "ansible.builtin.copy": copy, "diff": False}])
        return list(json.loads(found.read_text()))

    return run


def test_a_snapshot_as_a_playbook_takes_it(cluster: EtcdCluster, run: t.Any, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    options = {"name": "prod", "directory": str(kept), "endpoint": cluster.members[0].client_url}
    told, taken, again, none, wrong = run(
        (SNAPSHOT, {**options, "check": True}),
        (SNAPSHOT, dict(options)),
        (SNAPSHOT, {**options, "max_age": 3600}),
        (SNAPSHOT, {**options, "keep": 0}),
        (SNAPSHOT, {**options, "machine_id": "0" * 32}),
    )
    assert told["changed"] and "would be kept in" in told["msg"]
    assert taken["changed"] and taken["removed"] == []
    content = Path(taken["path"]).read_bytes()
    assert (taken["bytes"], taken["sha256"]) == (len(content), hashlib.sha256(content).hexdigest())
    # This host runs no etcd of kubeadm's, so it has no image with a tool.
    assert (taken["verified_by"], taken["revision"]) == ("hash", None)
    assert "not a static pod" in taken["verify_note"] and taken["verify_note"] in taken["msg"]
    assert (again["changed"], again["path"]) == (False, taken["path"])
    assert none["failed"] and "Give 1 or more" in none["msg"]
    assert wrong["failed"] and "Wrong machine" in wrong["msg"]
    assert len([name for name in os.listdir(kept) if name.endswith(".db")]) == 1


def test_leadership_as_a_playbook_moves_it(cluster: EtcdCluster, run: t.Any) -> None:
    leader = cluster.leader().name
    other = next(member.name for member in cluster.members if member.name != leader)
    options = {"name": leader, "to": [other], "endpoints": [member.client_url for member in cluster.members]}
    told, moved, again, refused = run(
        (LEADER, {**options, "check": True}),
        (LEADER, dict(options)),
        (LEADER, dict(options)),
        (LEADER, {**options, "name": other, "to": ["nobody"]}),
    )
    assert told["changed"] and told["leader"]["name"] == leader
    assert moved["changed"] and moved["leader"]["name"] == other == cluster.leader().name
    assert moved["diff"] == {"before": {"leader": leader}, "after": {"leader": other}}
    assert not again["changed"]
    assert (refused["reason"], refused["failed"]) == ("LeadershipNotMoved", True)
    assert "nobody: etcd has no member of that name" in refused["msg"]


def test_alarms_as_a_playbook_lists_and_disarms_them(cluster: EtcdCluster, run: t.Any) -> None:
    bad = cluster.id_of("m3")
    with cluster.gateway(cluster.members[0]) as gateway:
        gateway._post(
            "alarm", "/v3/maintenance/alarm", {"action": "ACTIVATE", "memberID": str(bad), "alarm": "CORRUPT"}
        )
    options = {"endpoints": [cluster.members[0].client_url], "alarm": "CORRUPT"}
    consent = {**options, "state": "disarmed", "corrupt_member": f"{bad:016x}"}
    seen, refused, told, done, again = run(
        (ALARM, dict(options)),
        (ALARM, {**options, "state": "disarmed"}),
        (ALARM, {**consent, "check": True}),
        (ALARM, dict(consent)),
        (ALARM, dict(consent)),
    )
    raised = [{"memberID": f"{bad:016x}", "alarm": "CORRUPT"}]
    assert (seen["changed"], seen["alarms"], len(seen["sizes"])) == (False, raised, 3)
    assert (refused["failed"], refused["reason"]) == (True, "ConsentMissing")
    assert told["changed"] and done["changed"] and not again["changed"]
    assert told["diff"] == done["diff"] == {"before": {"alarms": raised}, "after": {"alarms": []}}
    assert done["alarms"] == again["alarms"] == []


def test_a_learner_as_a_playbook_promotes_it(make_cluster: t.Callable[..., EtcdCluster], tmp_path: Path) -> None:
    own = make_cluster(1)
    late = own.add("late", learner=True)
    with own.gateway(own.members[0]) as gateway:
        until("the learner has its name", lambda: "late" in [each.name for each in gateway.member_list().members])
    files = own.credentials
    options = {
        "endpoints": [own.members[0].client_url],
        "ca_file": files.ca_file,
        "certificate_file": files.certificate_file,
        "key_file": files.key_file,
        "name": "late",
        "state": "promoted",
        "wait": 30,
    }
    results = []
    for number, check in enumerate((True, False, False)):
        found = tmp_path / f"{number}.json"
        keep = {"content": "{{ result | to_json }}", "dest": str(found), "mode": "0600"}
        task = {"name": "Promote", "kubeadm.control_plane.etcd_member": options, "register": "result"}
        kept = {"name": "Keep", "ansible.builtin.copy": keep, "check_mode": False}
        until("the learner has its name", lambda: own.id_of("late"))
        Playbook(tmp_path, "", "kubectl").play([{**task, "check_mode": check, "diff": True}, kept])
        results.append(json.loads(found.read_text()))
    told, done, again = results
    assert told["changed"] and done["changed"] and not again["changed"]
    assert done["quorum"]["before"]["voters"] == 1 and done["quorum"]["after"]["voters"] == 2
    assert done["diff"]["after"]["voters"] == [f"{own.id_of('late'):016x} late"] and late.process is not None
    assert not done["etcd"]["members"][1]["isLearner"]
