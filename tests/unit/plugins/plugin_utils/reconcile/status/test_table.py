# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The status: verdict and what next come first, and what a person reads at a glance is what the snapshot says."""

from __future__ import annotations

import typing as t

import pytest
from builders import Builder, cluster, healthy, member_id
from rules import external
from worker_snapshots import deployment

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decide import decide
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.reconcile.status.data import status_data
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.reconcile.status.fleet import failing
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.reconcile.status.folded import folded
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.reconcile.status.table import status_lines


def shown(builder: Builder, **more: t.Any) -> tuple[dict[str, t.Any], str]:
    """The data and the table of a snapshot."""
    snapshot = builder.build()
    data = status_data(snapshot, decide(snapshot), **more)
    return data, "\n".join(each.text for each in status_lines(data))


def lost_machine() -> Builder:
    """Three machines, of which nothing is heard of one."""
    return healthy(3).node("m3", ready="Unknown").sick_member("m3")


def test_a_healthy_control_plane() -> None:
    """Counts, version, leader and every component's state."""
    data, table = shown(healthy(3))
    assert data["replicas"] == {"desired": 3, "existing": 3, "ready": 3, "upToDate": 3}
    assert data["etcd"]["leader"] in table and "ok, leader" in table
    assert "3 voters" in table and "no alarms" in table
    first, following, *_rest = table.splitlines()
    assert first == "CLUSTER default/prod   HEALTHY: 3 of 3 machines ready and up to date"
    assert following == "  next       nothing to do: 3 of 3 replicas, all up to date"
    assert data["trouble"] == {"unhealthy": [], "blocked": [], "outdated": []}
    assert "BLOCKED" not in table and "NO" not in table.replace("NODE", "").replace("NOT WORKING", "")


def test_workers_have_a_line_for_each_deployment_and_a_table() -> None:
    """A worker that isn't ready is trouble, one that is missing is something to do."""
    workers = deployment(healthy(3), 2).worker("w1").worker("w2", ready="False")
    data, table = shown(workers.builder)
    [found] = data["machineDeployments"]
    assert found["replicas"] == {"desired": 2, "existing": 2, "ready": 1, "available": 1, "upToDate": 2}
    assert table.splitlines()[0].startswith("CLUSTER default/prod   UNHEALTHY: workers not ready: w2")
    assert "  workers    workers: 2 desired, 2 existing, 1 available, 2 up to date; " in table
    assert any(line.split()[:2] == ["w1", "workers"] for line in table.splitlines())
    for value, going, said in (
        ("adoption", False, "run the playbook adopt again"),
        ("adoption", True, "adopt refuses what is marked for deletion: docs/adoption.md"),
        ("", False, "has the annotation cluster.x-k8s.io/paused)"),
    ):
        of = healthy(3).deleting() if going else healthy(3)
        data, table = shown(deployment(of, 1).annotated(paused=value).worker("w1").builder)
        assert data["machineDeployments"][0]["paused"] is True
        [line] = [each for each in table.splitlines() if each.startswith("  workers    ")]
        assert "v1.20.2 wanted, paused (" in line and said in line
    data, table = shown(deployment(healthy(3), 2).worker("w1").builder)
    assert data["trouble"]["outdated"] == ["workers: 1 of 2 workers exist"]
    _data, table = shown(deployment(healthy(3), 1).worker("w1").builder)
    assert table.splitlines()[0].endswith("HEALTHY: 3 of 3 machines ready and up to date; 1 of 1 workers")


def test_an_alarm_is_shouted() -> None:
    """An etcd alarm is in etcd's line and in what blocks, with what to do."""
    builder = healthy(3)
    name = builder.snapshot["machines"][0]["machine"]["metadata"]["name"]
    builder.workload["etcd"]["alarms"] = [{"memberID": member_id(name), "alarm": "NOSPACE"}]
    _data, table = shown(builder)
    assert f"ALARMS: NOSPACE on {name}" in table
    first, blocked, to_do = table.splitlines()[:3]
    assert first.startswith(f"CLUSTER default/prod   UNHEALTHY, BLOCKED: etcd alarm NOSPACE on {name}")
    assert blocked.startswith("  BLOCKED    etcd alarm NOSPACE") and to_do.startswith("  to do      Make room")


def test_a_sick_member_is_named() -> None:
    """A member that does not answer is marked in etcd's line."""
    builder = healthy(3)
    name = builder.snapshot["machines"][1]["machine"]["metadata"]["name"]
    builder.sick_member(name)
    _data, table = shown(builder)
    assert "NOT HEALTHY" in table


def test_nothing_is_claimed_of_what_was_not_seen() -> None:
    """Where no machine answers, nothing is said to work or not to work."""
    data, table = shown(healthy(3).unreachable("connection refused"))
    assert "UNHEALTHY: no machine's API server answers: connection refused" in table.splitlines()[0]
    assert "add-ons    not known" in table and data["addons"]["kubeProxy"]["works"] is None
    assert data["etcd"]["known"] is False
    assert "seen from  no machine" in table and "connection refused" in table
    assert "NOT WORKING" not in table


def test_an_add_on_that_is_being_updated_says_how_far_it_is() -> None:
    """Reconcile does not wait for kube-proxy's pods: the status tells which image they are brought to."""
    builder = healthy(3)
    proxy = {"present": True, "desired": 3, "ready": 3, "updated": 1, "image": "k8s.gcr.io/kube-proxy:v1.20.2"}
    builder.workload["addons"] = {"kubeProxy": proxy, "dns": {"present": False}}
    assert "kube-proxy: 3 of 3 ready, 1 updated to kube-proxy:v1.20.2;" in shown(builder)[1]
    proxy["updated"] = 3
    assert "kube-proxy: 3 of 3 ready;" in shown(builder)[1]


def test_an_add_on_that_is_not_there_is_no_fault() -> None:
    """kubeadm can leave it out; one that is there and does not run is a fault."""
    builder = healthy(3)
    proxy = {"present": True, "desired": 3, "ready": 2, "updated": 3, "image": "k8s.gcr.io/kube-proxy:v1.20.2"}
    builder.workload["addons"] = {"kubeProxy": proxy, "dns": {"present": False}}
    assert "kube-proxy: 2 of 3 ready (NOT WORKING); cluster DNS: not installed;" in shown(builder)[1]


def test_before_anything_exists() -> None:
    """A cluster that is only a manifest."""
    data, table = shown(cluster(3).bare())
    assert data["replicas"]["existing"] == 0
    assert "nothing yet running" in table and "none yet" in table
    assert table.splitlines()[0] == "CLUSTER default/prod   UNHEALTHY, OUTDATED: no machine exists yet"
    command = "ansible-playbook -i INVENTORY kubeadm.control_plane.reconcile --limit prod"
    assert f"  to do      {command}" in table.splitlines() and data["next"]["command"] == command


def test_gates_and_window_are_shown_where_they_are_set() -> None:
    """One line each, and one for each gate that is not met; nothing where there are none."""
    _data, table = shown(healthy(3))
    assert "gates" not in table and "window" not in table
    builder = healthy(3)
    builder.snapshot["readinessGates"] = [
        {"name": "web", "status": "True", "message": ""},
        {"name": "shop", "status": "False", "message": "Deployment shop/web does not exist"},
        {"name": "freeze", "status": "Unknown", "message": "x\n" * 1000},
    ]
    builder.snapshot["maintenance"] = {
        "open": False,
        "message": "0 2 * * 6 Europe/Berlin for 4 h",
        "opensAt": "2026-02-07T01:00:00Z",
        "closesAt": "2026-02-07T05:00:00Z",
    }
    data, table = shown(builder)
    assert "gates      1 of 3 met" in table and "shop: NOT MET: Deployment shop/web does not exist" in table
    assert "freeze: unknown" in table and max(map(len, table.splitlines())) < 500
    assert "window     closed, opens 2026-02-07T01:00:00Z" in table
    assert data["maintenance"]["open"] is False and len(data["readinessGates"]) == 3


def test_an_open_and_an_unreadable_window() -> None:
    """Open until when; or why that can't be told."""
    builder = healthy(3)
    window = {"open": True, "message": "m", "opensAt": "2026-01-31T11:00:00Z", "closesAt": "2026-01-31T13:00:00Z"}
    builder.snapshot["maintenance"] = window
    assert "window     open until 2026-01-31T13:00:00Z (m)" in shown(builder)[1]
    builder.snapshot["maintenance"] = {"open": None, "message": "no time zone", "opensAt": None, "closesAt": None}
    assert "window     unknown: no time zone" in shown(builder)[1]


def test_an_external_etcd() -> None:
    """Whether it answers, and if not why; it has no members of ours."""
    _data, table = shown(external(healthy(3), {"reachable": True, "message": ""}))
    assert "etcd       external: it answers" in table
    _data, table = shown(external(healthy(3), {"reachable": False, "message": "https://etcd:2379 does not answer"}))
    assert "etcd       external: NOT WORKING: https://etcd:2379 does not answer" in table
    _data, table = shown(external(healthy(3)))
    assert "etcd       not known: not asked" in table


def test_nodes_without_a_network_plugin_are_named_with_the_way_out() -> None:
    """For as long as their kubelets say so, whatever is next."""
    builder = healthy(3, replicas=5).node("m2", ready="False")
    assert "NO NETWORK PLUGIN" not in shown(builder)[1]
    builder.workload["nodes"][-1]["networkReady"] = False
    data, table = shown(builder)
    assert data["withoutNetworkPlugin"] == ["m2"]
    assert "network    NO NETWORK PLUGIN on m2: no pod can run there" in table and "ClusterResourceSet" in table


def test_drift_is_shown_whatever_is_next() -> None:
    """Also while something else is to be done."""
    builder = healthy(3, replicas=5)
    found = {"node": "m1", "component": "kube-scheduler", "flag": "v", "kind": "changed"}
    builder.workload["staticPodDrift"] = [found]
    _data, table = shown(builder)
    assert "drift      kube-scheduler of m1: --v has another value" in table


def test_what_to_type_names_the_host_of_the_inventory() -> None:
    """Which another namespace's cluster of the same name has in front; a name that no command takes is not in one."""
    assert "--limit team-a.prod" in shown(healthy(3, replicas=5), host="team-a.prod")[1]
    assert "--limit CLUSTER" in shown(healthy(3, replicas=5), host="evil;id")[1]
    deleted = shown(healthy(3).deleting())[0]["next"]["command"]
    assert deleted.startswith("ansible-playbook -i INVENTORY kubeadm.control_plane.delete -e control_plane_delete=prod")


def test_what_is_not_known_of_one_machine_is_one_line() -> None:
    """Whatever each condition says of it; so is the wait for it, and what to look at."""
    data, table = shown(lost_machine())
    lines = table.splitlines()
    unknown = [each for each in data["machines"][2]["conditions"] if each["status"] == "Unknown" and each["message"]]
    assert len(unknown) == 7
    found = [line for line in lines if line.startswith("    m3: ")]
    assert found[0].startswith("    m3: 7 conditions Unknown: Node's Ready condition is Unknown: ")
    assert found[1:] == ["    m3: EtcdMemberHealthy False: Etcd member is not healthy: context deadline exceeded"]
    waits = "  waits for  kube-apiserver, kube-controller-manager, kube-scheduler, etcd on machine m3: Node's Ready"
    assert lines[1].startswith(waits) and lines[1].count("Node's Ready") == 1
    assert [line for line in lines if line.startswith("  to do")] == [
        "  to do      On m3 look at crictl ps -a, crictl logs and journalctl -u kubelet.",
        "  to do      Look at etcd on m3 (crictl logs). Where its host was lost or installed again, have it replaced "
        "(playbook remediate with --limit CLUSTER -e control_plane_machines=m3).",
    ]


def test_machines_with_the_same_trouble_share_a_line() -> None:
    """And of very many different ones the rest is counted."""
    lines = shown(healthy(3).wants(version="v1.20.5"))[1].splitlines()
    assert lines[0] == "CLUSTER default/prod   OUTDATED: not up to date: m1, m2, m3"
    assert [line for line in lines if line.startswith("    m")] == [
        "    m1, m2, m3: UpToDate False: * Version v1.20.2, v1.20.5 required"
    ]
    condition = {"type": "X", "status": "False", "reason": "Y"}
    many = [{"name": f"m{each}", "conditions": [{**condition, "message": f"why {each}"}]} for each in range(25)]
    assert folded(many)[-1] == "and 5 more" and len(folded(many)) == 21
    # What only the summary says is shown.
    alone = [{"name": "m1", "conditions": [{**condition, "type": "Ready", "message": "why"}]}]
    assert folded(alone) == ["m1: Ready False: why"]


def test_the_step_that_failed_last_is_one_line_while_it_matters() -> None:
    """In a healthy cluster only until another step was taken."""
    failure = {"at": "2026-01-31T11:00:00Z", "action": "join", "target": "m3", "message": "x" * 999, "isLast": True}
    assert (
        f"  failed     2026-01-31T11:00:00Z (1 h ago) join m3: {'x' * 239}…"
        in shown(healthy(3), last_failure=failure)[1]
    )
    failure["isLast"] = False
    assert "  failed " not in shown(healthy(3), last_failure=failure)[1]
    data, table = shown(lost_machine(), last_failure=failure)
    assert "  failed     2026-01-31T11:00:00Z (1 h ago) join m3" in table and data["lastFailure"] == failure


@pytest.mark.parametrize(
    ("changed", "said"), [({"etcd": {"leader": None}}, "no leader"), ({"endpoint": {}}, "not known")]
)
def test_what_a_run_waits_for_is_not_healthy(changed: t.Mapping[str, t.Any], said: str) -> None:
    builder = healthy(3)
    for key, value in changed.items():
        builder.workload[key] = {**builder.workload[key], **value} if value else value
    data, table = shown(builder)
    assert data["decision"]["action"] == "wait" and "UNHEALTHY" in table.splitlines()[0], table
    assert said in data["trouble"]["unhealthy"][0]


def test_a_cluster_in_which_something_is_waited_for_is_not_settled() -> None:
    snapshot = healthy(3).build()
    waits = {**decide(snapshot), "action": "wait", "blockedOn": [{"reason": "X", "message": "it is not there yet"}]}
    data = status_data(snapshot, waits)
    assert data["trouble"] == {"unhealthy": [], "blocked": [], "outdated": ["it is not there yet"]}


def test_trouble_is_told_apart() -> None:
    """A machine that has not joined yet is no unhealthy one; a machine that is deleted neither; one whose kubeadm failed is."""
    assert shown(healthy(3, replicas=4).machine("m4", state="Running"))[0]["trouble"]["unhealthy"] == []
    assert shown(healthy(3, replicas=2).deleting("m3"))[0]["trouble"]["unhealthy"] == []
    assert shown(healthy(3, replicas=4).machine("m4", state="Failed"))[0]["trouble"]["unhealthy"] == ["not ready: m4"]
    assert shown(healthy(3).endpoint(False))[0]["trouble"]["unhealthy"] == [
        "the endpoint 10.0.0.100:6443 does not answer"
    ]
    paused = healthy(3, replicas=5)
    paused.snapshot["cluster"]["spec"]["paused"] = True
    data, table = shown(paused)
    assert (
        table.splitlines()[0].startswith("CLUSTER default/prod   OUTDATED, PAUSED: 3 of 5")
        and not data["next"]["command"]
    )


@pytest.mark.parametrize(
    ("key", "what", "said", "to_do"),
    [
        (
            "unfinishedAction",
            {"name": "Action up-1", "phase": "Failed"},
            "Action up-1 has not ended (Failed)",
            ".abort -e operator_action=up-1",
        ),
        (
            "unfinishedAction",
            {"name": "Action up-1", "phase": "Running"},
            "Action up-1 has not ended (Running)",
            "Let its run end. Where none",
        ),
        ("unfinishedRotation", {"authorities": ["ca"]}, "a rotation of ca is not over", "Complete the rotation: "),
    ],
)
def test_a_cluster_that_is_changed_in_part_is_not_healthy(
    key: str, what: dict[str, t.Any], said: str, to_do: str
) -> None:
    """Nothing is to be done, and a machine that fails now would not be replaced; a pause or a deletion is about all of it."""
    builder = healthy(3)
    builder.snapshot[key] = what
    data, table = shown(builder)
    assert [*map(bool, data["trouble"].values())] == [False, False, True] and said in data["trouble"]["outdated"][0]
    first, following, third = table.splitlines()[:3]
    assert first.startswith(f"CLUSTER default/prod   OUTDATED: {said}") and said in following
    assert third.startswith("  to do      ") and to_do in third
    [fails] = failing([data], ["outdated"])
    assert fails.startswith(f"prod is outdated ({said}")
    assert not failing([data], ["unhealthy", "blocked"])
    builder.snapshot["cluster"]["spec"]["paused"] = True
    data, table = shown(builder)
    assert not any(data["trouble"].values()) and to_do not in table and "PAUSED" in table


def test_lines_have_the_kinds_that_colours_follow() -> None:
    """The verdict's, and those of machines that something is wrong with."""
    snapshot = lost_machine().build()
    lines = status_lines(status_data(snapshot, decide(snapshot)))
    kinds = {each.text.split()[0]: each.kind for each in lines if each.text}
    assert kinds["CLUSTER"] == "bad" and kinds["m1"] == "plain" and kinds["m3"] == "bad" and kinds["etcd"] == "plain"
    snapshot = healthy(3).build()
    assert status_lines(status_data(snapshot, decide(snapshot)))[0].kind == "good"
