# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A snapshot that breaks its schema or contradicts itself is refused with the path of the field; machines find their parts."""

from __future__ import annotations

from typing import Any, Callable

import pytest
from builders import NOW, at, cluster, healthy, member_id
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.values import clip, host_of
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.snapshot.typed_snapshot import (
    check_snapshot,
    read_snapshot,
)

Break = Callable[[Any], Any]


def machine(snapshot: Any, index: int) -> Any:
    return snapshot["machines"][index]["machine"]


def action(moment: str) -> Any:
    """A journal's last action of that time."""
    return {"at": moment, "action": "join", "target": "m1", "outcome": "succeeded"}


def witnessed(snapshot: Any, times: int = 1, **changes: Any) -> None:
    """Put m2's own view beside m1's, with changed fields."""
    good = {"machine": "m2", "reachable": True, "message": "", "etcd": snapshot["workload"]["etcd"]}
    snapshot["workload"]["witnesses"] = [{**good, **changes}] * times


def looked(snapshot: Any, **counts: Any) -> None:
    """How often m1's member was looked at."""
    snapshot["workload"]["etcd"]["statuses"][member_id("m1")].update(counts)


BREAKS: list[tuple[str, Break]] = [
    ("snapshotVersion", lambda s: s.update(snapshotVersion="v9")),
    ("now", lambda s: s.update(now="yesterday")),
    ("now", lambda s: s.update(now="2026-13-31T12:00:00Z")),
    ("now", lambda s: s.update(now=at(7200))),
    ("cluster", lambda s: s.update(cluster=[])),
    ("cluster.metadata.name", lambda s: s["cluster"].update(metadata={})),
    ("controlPlane.spec", lambda s: s["controlPlane"].update(spec="x")),
    ("certificates", lambda s: s.update(certificates=[])),
    ("certificates.ca.present", lambda s: s["certificates"]["ca"].update(present="yes")),
    ("certificates.ca.notAfter", lambda s: s["certificates"]["ca"].update(notAfter="soon")),
    ("machines", lambda s: s.update(machines=None)),
    ("machines[1]", lambda s: s["machines"].__setitem__(1, "m2")),
    ("machines[0].machine.spec", lambda s: machine(s, 0).pop("spec")),
    ("machines[1].machine.metadata.name", lambda s: machine(s, 1)["metadata"].update(name="m1")),
    ("machines[1].machine.status.nodeRef.name", lambda s: machine(s, 1)["status"].update(nodeRef={"name": "m1"})),
    ("machines[1].machine.spec.providerID", lambda s: machine(s, 1)["spec"].update(providerID="nspawn:///prod/m1")),
    ("machines[0].machine.status.bootstrap.state", lambda s: machine(s, 0)["status"]["bootstrap"].update(state="Odd")),
    ("machines[0].machine.metadata.creationTimestamp", lambda s: machine(s, 0)["metadata"].update(creationTimestamp=5)),
    (
        "machines[0].machine.status.conditions[0].status",
        lambda s: machine(s, 0)["status"].update(conditions=[{"type": "A"}]),
    ),
    ("workload", lambda s: s.update(workload=None)),
    ("workload.reachable", lambda s: s["workload"].update(reachable=None)),
    ("workload.initialized", lambda s: s["workload"].update(initialized="no")),
    ("workload.initialized", lambda s: s["workload"].update(reachable=False)),
    ("workload.via", lambda s: s["workload"].update(via="stranger")),
    ("workload.endpoint.answers", lambda s: s["workload"]["endpoint"].update(answers="yes")),
    ("workload.nodes[1].name", lambda s: s["workload"]["nodes"][1].update(name="m1")),
    ("workload.nodes[0].ready", lambda s: s["workload"]["nodes"][0].update(ready=True)),
    ("workload.pods[m1]", lambda s: s["workload"]["pods"].update(m1=[])),
    ("workload.pods[m1].etcd", lambda s: s["workload"]["pods"]["m1"].update(etcd="up")),
    ("workload.workerNodes", lambda s: s["workload"].update(workerNodes="w1")),
    ("workload.etcd", lambda s: s["workload"].update(etcd=[])),
    ("workload.etcd.members[1].id", lambda s: s["workload"]["etcd"]["members"][1].update(id=member_id("m1"))),
    ("workload.etcd.members[1].name", lambda s: s["workload"]["etcd"]["members"][1].update(name="m1")),
    ("workload.etcd.members[0].id", lambda s: s["workload"]["etcd"]["members"][0].update(id="0xzz")),
    ("workload.etcd.leader", lambda s: s["workload"]["etcd"].update(leader="ff")),
    ("workload.etcd.statuses[ff]", lambda s: s["workload"]["etcd"]["statuses"].update(ff={"healthy": True})),
    ("workload.etcd.memberListAgrees", lambda s: s["workload"]["etcd"].update(memberListAgrees="yes")),
    ("observedAt", lambda s: s.update(observedAt="now")),
    ("observedAt", lambda s: s.update(observedAt=at(10), lastAction=action(at(9)))),
    ("lastAction.at", lambda s: s.update(lastAction={**action(NOW), "at": "then"})),
    ("lastAction.action", lambda s: s.update(lastAction={"at": NOW})),
    ("lastAction.target", lambda s: s.update(lastAction={**action(NOW), "target": 5})),
    ("policy", lambda s: s.update(policy="ask")),
    ("policy.replace", lambda s: s.update(policy={"replace": "sometimes"})),
    ("policy.approved", lambda s: s.update(policy={"replace": "ask", "approved": "yes"})),
    ("readinessGates[0].name", lambda s: s.update(readinessGates=[{"status": "True"}])),
    ("readinessGates[0].name", lambda s: s.update(readinessGates=[{"name": "", "status": "True"}])),
    ("readinessGates[0].status", lambda s: s.update(readinessGates=[{"name": "a", "status": True}])),
    ("readinessGates[1].name", lambda s: s.update(readinessGates=[{"name": "a", "status": "True"}] * 2)),
    ("maintenance.open", lambda s: s.update(maintenance={"open": "yes"})),
    ("maintenance.opensAt", lambda s: s.update(maintenance={"open": True, "opensAt": "Saturday"})),
    ("maintenance.closesAt", lambda s: s.update(maintenance={"open": True, "opensAt": NOW, "closesAt": NOW})),
    ("workload.workerVersions", lambda s: s["workload"].update(workerVersions=["v1.20.2"])),
    ("workload.workerVersions[v1.20.2]", lambda s: s["workload"].update(workerVersions={"v1.20.2": "3"})),
    ("workload.workerVersions[v1.20.2]", lambda s: s["workload"].update(workerVersions={"v1.20.2": 0})),
    ("workload.workerVersions", lambda s: s["workload"].update(workerNodes=["w"], workerVersions={"v1.20.2": 2})),
    ("workload.witnesses[0].machine", lambda s: witnessed(s, machine=None)),
    ("workload.witnesses[0].machine", lambda s: witnessed(s, machine="stranger")),
    ("workload.witnesses[0].machine", lambda s: witnessed(s, machine="m1")),
    ("workload.witnesses[1].machine", lambda s: witnessed(s, times=2)),
    ("workload.witnesses[0].reachable", lambda s: witnessed(s, reachable="yes")),
    ("workload.witnesses[0].etcd", lambda s: witnessed(s, etcd=None)),
    ("workload.witnesses[0].etcd", lambda s: witnessed(s, etcd={"reachable": False})),
    ("workload.witnesses[0].etcd.members", lambda s: witnessed(s, etcd={"reachable": True, "members": "m"})),
    ("workload.witnesses[0].etcd.leader", lambda s: witnessed(s, etcd={"reachable": True, "leader": "ff"})),
    ("workload.etcd.statuses[" + member_id("m1") + "].looks", lambda s: looked(s, looks=-1)),
    ("workload.etcd.statuses[" + member_id("m1") + "].failedLooks", lambda s: looked(s, failedLooks=1.5)),
    ("workload.etcd.statuses[" + member_id("m1") + "].failedLooks", lambda s: looked(s, looks=3, failedLooks=4)),
    ("controlPlane.spec.kubeadmConfigSpec", lambda s: s["controlPlane"]["spec"].update(kubeadmConfigSpec=[])),
    ("controlPlane.spec.replicas", lambda s: s["controlPlane"]["spec"].update(replicas="3")),
    ("machines[0].kubeadmConfig.spec", lambda s: s["machines"][0]["kubeadmConfig"].update(spec="x")),
    ("machines[0].machine.metadata.annotations[a]", lambda s: machine(s, 0)["metadata"].update(annotations={"a": 1})),
]


def full() -> Any:
    """A snapshot with everything in it."""
    snapshot = healthy(3).build()
    witnessed(snapshot)
    looked(snapshot, looks=3, failedLooks=1)
    snapshot.update(
        observedAt=NOW,
        lastAction=action(NOW),
        policy={"replace": "ask", "approved": False},
        readinessGates=[{"name": "a", "status": "Unknown", "message": "{{ x }}" * 1000}],
        maintenance={"open": None, "message": "", "opensAt": None, "closesAt": None},
    )
    snapshot["workload"].update(workerNodes=["w1", "w2"], workerVersions={"v1.20.2": 1})
    return snapshot


def test_a_good_snapshot_has_no_problem() -> None:
    assert check_snapshot(full()) == []
    assert check_snapshot(healthy(3).build()) == []
    assert check_snapshot(cluster(3).bare().build()) == []


@pytest.mark.parametrize(("path", "break_it"), BREAKS)
def test_a_broken_snapshot_is_refused_with_the_path(path: str, break_it: Break) -> None:
    snapshot = healthy(3).build()
    break_it(snapshot)
    assert path in [problem.path for problem in check_snapshot(snapshot)]


def test_texts_of_hosts_are_data_of_any_length() -> None:
    long = "\x1b[31m{{ lookup('env') }}\n" * 5000
    snapshot = full()
    snapshot["workload"]["message"] = snapshot["workload"]["witnesses"][0]["message"] = long
    assert check_snapshot(snapshot) == []
    snapshot["workload"]["via"] = snapshot["workload"]["witnesses"][0]["machine"] = long
    snapshot["workload"]["pods"][long] = 5
    snapshot["workload"]["workerVersions"][long] = -(10**400)
    problems = check_snapshot(snapshot)
    assert len(problems) == 2
    assert all(len(str(problem)) < 400 and "\n" not in str(problem) for problem in problems)
    del snapshot["workload"]["pods"][long], snapshot["workload"]["workerVersions"][long]
    problems = check_snapshot(snapshot)
    assert [problem.path for problem in problems] == ["workload.via", "workload.witnesses[0].machine"]
    assert all(len(str(problem)) < 400 and "\n" not in str(problem) for problem in problems)


def test_no_more_problems_are_told_than_anybody_reads() -> None:
    snapshot = full()
    snapshot["workload"]["workerNodes"] = [5] * 1000
    assert len(check_snapshot(snapshot)) == 50


def test_a_clock_that_went_back_behind_a_stored_condition_is_refused() -> None:
    snapshot = healthy(3).stored("Available", "True", -31).build()
    assert [problem.path for problem in check_snapshot(snapshot)] == ["now"]
    assert check_snapshot(healthy(3).stored("Available", "True", -30).build()) == []


@pytest.mark.parametrize("document", [None, [], "text", 5, {}, {"snapshotVersion": "v1"}])
def test_anything_else_is_refused_without_raising(document: Any) -> None:
    assert check_snapshot(document)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)


@given(
    value=JSON,
    path=st.sampled_from(
        [
            "cluster",
            "controlPlane",
            "machines",
            "workload",
            "certificates",
            "now",
            "preparedMachines",
            "observedAt",
            "lastAction",
            "policy",
            "readinessGates",
            "maintenance",
            "infrastructureCluster",
            "machineTemplate",
        ]
    ),
)
def test_the_check_never_raises(value: Any, path: str) -> None:
    snapshot = healthy(2).build()
    snapshot[path] = value
    check_snapshot(snapshot)


@given(value=JSON, path=st.sampled_from(["nodes", "pods", "etcd", "endpoint", "workerNodes", "via", "initialized"]))
def test_the_check_never_raises_inside_the_workload(value: Any, path: str) -> None:
    snapshot = healthy(2).build()
    snapshot["workload"][path] = value
    check_snapshot(snapshot)


def test_a_machine_finds_its_node_by_machine_id_before_it_is_recorded() -> None:
    builder = healthy(1)
    entry = builder.entry("m1")
    del entry["machine"]["status"]["nodeRef"]
    builder.workload["nodes"][0]["name"] = "other-name"
    view = read_snapshot(builder.build())
    assert view.machines[0].node_name == "other-name"


def test_a_host_with_another_machine_id_is_not_the_machine() -> None:
    builder = healthy(2)
    builder.workload["nodes"][1]["machineID"] = "reinstalled"
    view = read_snapshot(builder.build())
    assert view.machines[1].node is None
    assert view.machines[1].impostor == "m2"


def test_a_member_without_a_name_is_found_by_its_peer_address() -> None:
    builder = healthy(2, replicas=3).machine("m3", "Failed").member("m3", unnamed=True, address="10.0.0.3")
    view = read_snapshot(builder.build())
    found = next(machine for machine in view.machines if machine.name == "m3").member
    assert found is not None
    assert found.id == member_id("m3")


def test_member_names_are_compared_whole() -> None:
    builder = healthy(1).machine("m10", "Failed")
    builder.member("m1")
    view = read_snapshot(builder.build())
    assert next(machine for machine in view.machines if machine.name == "m10").member is None


def test_initialized_is_unknown_while_no_api_answers() -> None:
    assert read_snapshot(healthy(3).unreachable().build()).initialized is None


def test_reading_does_not_change_the_snapshot() -> None:
    snapshot = healthy(3).build()
    read_snapshot(snapshot)
    assert snapshot == healthy(3).build()


def test_text_from_hosts_becomes_one_short_line() -> None:
    assert clip("a\nb\x1b[31m{{ x }}\u2028c") == "a b\\x1b[31m{{ x }}\\u2028c"
    assert len(clip("x" * 10000)) == 240
    assert clip(None) == ""


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://10.0.0.1:2380", "10.0.0.1"),
        ("https://[fd00::1]:2380", "fd00::1"),
        ("https://name/path", "name"),
        ("nonsense", ""),
    ],
)
def test_hosts_of_urls(url: str, host: str) -> None:
    assert host_of(url) == host
