# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A Node drained against a real API server with a real kubectl; the tests play the kubelet and the controllers."""

from __future__ import annotations

import os
import typing as t
from pathlib import Path

import pytest
from drained_node import DAEMONS, NAME, NODES, PODS, Lab
from etcd_cluster import until

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.guard import NodeError


def test_a_node_without_pods_is_cordoned_and_that_is_all(lab: Lab) -> None:
    told = lab.look()
    assert (told.state, told.changed, told.message) == ("Drained", True, f"Node {NAME} would be cordoned")
    assert not lab.cordoned()
    done = lab.drain(wait=20)
    assert (done.state, done.changed) == ("Drained", True)
    assert lab.cordoned() and lab.systemd.started == []
    again = lab.drain()
    assert (again.state, again.changed) == ("Drained", False)
    assert lab.look().changed is False


def test_a_pod_that_the_scheduler_binds_before_it_sees_the_cordon_is_evicted_too(lab: Lab) -> None:
    """Whether the Node had no pod when it was cordoned, or kubectl had listed its pods already."""
    report = lab.drain()
    assert (report.state, report.message) == ("Running", f"Node {NAME} has just been cordoned, and is checked again")
    lab.pod("web")
    assert lab.drain().pods == ("default/web",)
    until("the pod is evicted", lambda: lab.ending("web"))
    lab.kubelet_ends("web")
    assert lab.drain(wait=20).state == "Drained"
    lab.workload.patch(f"{NODES}/{NAME}", {"spec": {"unschedulable": None}})
    lab.pod("db")
    lab.drain()
    until("the pod is evicted", lambda: lab.ending("db"))
    lab.kubelet_ends("db")
    until("kubectl has ended", lambda: all(each.poll() == 0 for each in lab.systemd.processes.values()))
    lab.pod("late")
    assert lab.drain().state == "Running"
    until("the pod is evicted", lambda: lab.ending("late"))
    lab.kubelet_ends("late")
    assert lab.drain(wait=20).state == "Drained"


def test_another_machines_node_of_that_name_is_left_alone(lab: Lab) -> None:
    lab.workload.patch(f"{NODES}/{NAME}/status", {"status": {"nodeInfo": {"machineID": "id-2"}}})
    lab.identity = {"machine_id": "id-1"}
    assert lab.drain().state == "Absent" and not lab.cordoned()
    lab.identity = {"machine_id": "id-2"}
    assert lab.drain().uid == lab.workload.there(f"{NODES}/{NAME}")["metadata"]["uid"] and lab.cordoned()


def test_pods_are_evicted_by_one_unit_and_waited_for(lab: Lab) -> None:
    lab.pod("web")
    lab.pod("static", metadata={"annotations": {"kubernetes.io/config.mirror": "x"}})
    owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "agent", "uid": "u", "controller": True}
    template = {"metadata": {"labels": {"app": "agent"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    lab.workload.put(
        DAEMONS,
        {"metadata": {"name": "agent"}, "spec": {"selector": {"matchLabels": {"app": "agent"}}, "template": template}},
    )
    lab.pod("agent-1", metadata={"ownerReferences": [owner]})
    assert lab.look().pods == ("default/web",)
    first = lab.drain()
    assert (first.state, first.changed, first.pods) == ("Running", True, ("default/web",))
    until("the pod is evicted", lambda: lab.ending("web"))
    second = lab.drain()
    assert (second.state, second.changed) == ("Running", False)
    assert "default/web (is ending)" in second.message
    lab.kubelet_ends("web")
    last = lab.drain(wait=20)
    assert (last.state, last.pods) == ("Drained", ())
    assert len(lab.systemd.started) == 1
    assert not lab.ending("static") and not lab.ending("agent-1")
    lab.workload.delete(f"{DAEMONS}/agent")


def test_the_budget_that_refuses_is_named_and_tried_again_until_it_allows(lab: Lab) -> None:
    lab.pod("db")
    lab.budget("db", 0)
    assert "The disruption budget db needs 1 healthy pods and has 1 currently" in lab.look().message
    report = lab.drain(wait=1)
    assert report.state == "Running"
    assert "default/db (Cannot evict pod as it would violate the pod's disruption budget." in report.message
    assert not lab.ending("db")
    lab.budget("db", 1)
    until("kubectl tries again", lambda: lab.ending("db"))
    lab.kubelet_ends("db")
    assert lab.drain(wait=20).state == "Drained"


def test_the_bound_is_counted_over_calls_and_ends_the_unit(lab: Lab) -> None:
    lab.pod("db")
    lab.budget("db", 0)
    assert lab.drain(timeout=100).state == "Running"
    lab.seconds += 99
    assert lab.drain(timeout=100).state == "Running"
    lab.seconds += 1
    late = lab.drain(timeout=100)
    assert (late.state, late.pods) == ("TimedOut", ("default/db",))
    assert "was not empty in time (timeout 100 s" in late.message and "disruption budget db" in late.message
    assert lab.systemd.processes == {}
    again = lab.drain(timeout=100)
    assert (again.state, again.changed) == ("TimedOut", False)
    # More patience: it goes on, by the same clock.
    assert lab.drain(timeout=200).state == "Running"
    assert len(lab.systemd.started) == 2


def test_an_earlier_begin_is_counted(lab: Lab) -> None:
    lab.pod("db")
    lab.seconds = 1_800_000_600.0
    assert lab.drain(timeout=601, started_at="2027-01-15T08:00:00Z").state == "Running"
    assert lab.drain(timeout=600, started_at="2027-01-15T08:00:00Z").state == "TimedOut"
    with pytest.raises(NodeError, match="the start 'yesterday'"):
        lab.drain(timeout=1, started_at="yesterday")


def test_a_new_node_of_the_same_name_begins_anew(lab: Lab) -> None:
    lab.pod("db")
    lab.drain(timeout=10)
    lab.seconds += 60
    assert lab.drain(timeout=10).state == "TimedOut"
    lab.workload.put(NODES, {"metadata": {"name": NAME}, "spec": {"unschedulable": True}})
    assert lab.drain(timeout=10).state == "Running"


def test_a_drain_that_was_taken_back_by_hand_begins_anew(lab: Lab) -> None:
    lab.pod("db")
    lab.drain(timeout=10)
    lab.seconds += 60
    lab.workload.patch(f"{NODES}/{NAME}", {"spec": {"unschedulable": None}})
    assert lab.drain(timeout=10).state == "Running"
    assert lab.cordoned()


def test_a_drain_that_ended_says_nothing_of_pods_that_came_since(lab: Lab) -> None:
    """It was uncordoned, used for months and cordoned again, with nobody looking in between."""
    lab.pod("web")
    lab.drain(timeout=600)
    until("the pod is evicted", lambda: lab.ending("web"))
    lab.kubelet_ends("web")
    assert lab.drain(wait=20, timeout=600).state == "Drained"
    assert lab.drain(timeout=600).state == "Drained"
    lab.seconds += 90 * 86400
    lab.pod("db")
    report = lab.drain(timeout=600)
    assert (report.state, report.pods) == ("Running", ("default/db",))
    until("the pod is evicted", lambda: lab.ending("db"))
    lab.kubelet_ends("db")
    assert lab.drain(wait=20, timeout=600).state == "Drained"
    assert len(lab.systemd.started) == 2


def test_pods_of_an_unreachable_node_are_asked_and_not_waited_for(lab: Lab) -> None:
    lab.pod("web", terminationGracePeriodSeconds=3600)
    report = lab.drain(wait=20, unreachable=True)
    assert (report.state, report.pods) == ("Drained", ())
    assert lab.ending("web")
    found = lab.workload.there(f"{PODS}/web")["metadata"]
    assert found["deletionGracePeriodSeconds"] == 1
    assert "drained" not in report.message and "were not waited for" in report.message


def test_a_node_whose_kubelet_is_silent_tells_it_itself(lab: Lab) -> None:
    lab.pod("web")
    condition = {"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown"}
    lab.workload.patch(f"{NODES}/{NAME}/status", {"status": {"conditions": [condition]}})
    assert lab.drain(unreachable=False).state == "Running"
    report = lab.drain(wait=20)
    assert report.state == "Drained" and "its kubelet is silent" in report.message
    lab.kubelet_ends("web")
    lab.pod("db")
    lab.workload.patch(f"{NODES}/{NAME}/status", {"status": {"conditions": None}})
    assert lab.drain().state == "Running"
    taint = {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}
    lab.workload.patch(f"{NODES}/{NAME}", {"spec": {"taints": [taint]}})
    assert lab.drain(wait=20).state == "Drained"


def test_a_node_that_is_not_to_be_drained_keeps_its_pods(lab: Lab) -> None:
    lab.pod("web")
    report = lab.drain(skip_drain=True)
    assert (report.state, report.changed) == ("Drained", False)
    assert not lab.cordoned() and lab.systemd.started == []


def test_an_absent_node_is_no_failure_and_leaves_nothing(lab: Lab) -> None:
    lab.pod("db")
    lab.drain()
    lab.workload.delete(f"{NODES}/{NAME}")
    report = lab.drain()
    assert (report.state, report.changed, report.message) == ("Absent", False, f"Node {NAME} does not exist")
    assert lab.systemd.processes == {}
    assert os.listdir(lab.directory) == ["lock"]


def test_a_drain_is_taken_back(lab: Lab) -> None:
    lab.pod("db")
    lab.budget("db", 0)
    lab.drain()
    assert lab.cancel(check=True).changed and lab.cordoned()
    assert lab.cancel().changed
    assert not lab.cordoned() and lab.systemd.processes == {}
    assert not lab.cancel().changed


def test_a_unit_that_was_killed_is_started_again(lab: Lab) -> None:
    lab.pod("db")
    lab.budget("db", 0)
    lab.drain()
    lab.systemd.end()
    lab.systemd.processes.clear()
    assert lab.drain().changed
    assert len(lab.systemd.started) == 2


def test_what_kubectl_could_not_do_is_told_and_tried_again_by_the_same_unit(lab: Lab, tmp_path: Path) -> None:
    shut = f'[ -e {tmp_path}/well ] || {{ echo "error: the door is shut"; exit 1; }}'
    lab.kubectl_that(tmp_path, drain=shut)
    lab.pod("web")
    lab.drain()
    until("it is told", lambda: "kubectl said: error: the door is shut" in lab.drain().message)
    (tmp_path / "well").touch()
    until("the pod is evicted", lambda: lab.ending("web"))
    assert len(lab.systemd.started) == 1


SILENT = {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}


@pytest.mark.parametrize(
    ("silent", "meanwhile", "left"),
    [
        (False, "uncordon cp-2", False),
        (True, "uncordon cp-2", False),
        (True, "taint node cp-2 node.kubernetes.io/unreachable-", True),
        (False, "delete node cp-2", None),
    ],
)
def test_a_drain_ends_by_itself_where_it_is_no_longer_what_the_node_needs(
    lab: Lab, tmp_path: Path, silent: bool, meanwhile: str, left: t.Optional[bool]
) -> None:
    """Nobody asks again: the run was ended, and its machine's unit alone is left. What the API doesn't answer says nothing."""
    real = " ".join(lab.kubectl)
    asked = lab.kubectl_that(
        tmp_path,
        drain=f'{lab.kubectl[0]} "$@" --timeout=1s; kcp_rc=$?; {real} {meanwhile}; exit $kcp_rc',
        get=f'[ -e {tmp_path}/asked ] || {{ touch {tmp_path}/asked; echo "error: no answer" >&2; exit 1; }}',
    )
    if silent:
        lab.workload.patch(f"{NODES}/{NAME}", {"spec": {"taints": [SILENT]}})
    lab.pod("db")
    lab.budget("db", 0)
    lab.drain()
    until("the unit ends", lambda: all(each.poll() == 0 for each in lab.systemd.processes.values()))
    node = lab.workload.get(f"{NODES}/{NAME}")
    assert (node and bool(node["spec"].get("unschedulable"))) == left
    assert (asked("drain"), asked("get")) == (1, 2)
    assert not lab.ending("db")


@pytest.mark.parametrize("silent", [False, True])
def test_a_drain_is_repeated_while_the_node_needs_it(lab: Lab, tmp_path: Path, silent: bool) -> None:
    asked = lab.kubectl_that(tmp_path, drain=f'exec {lab.kubectl[0]} "$@" --timeout=1s')
    if silent:
        lab.workload.patch(f"{NODES}/{NAME}", {"spec": {"taints": [SILENT]}})
    lab.pod("db")
    lab.budget("db", 0)
    lab.drain()
    until("it was asked again", lambda: asked("drain") > 1)
    lab.budget("db", 1)
    until("the pod is evicted", lambda: lab.ending("db"))


def test_a_kubelet_that_reports_again_gives_pods_their_own_time(lab: Lab) -> None:
    lab.workload.patch(f"{NODES}/{NAME}", {"spec": {"taints": [SILENT]}})
    for name in ("db", "web"):
        lab.pod(name, terminationGracePeriodSeconds=3600)
    lab.budget("db", 0)
    lab.drain()
    until("the other pod is evicted", lambda: lab.ending("web"))
    lab.workload.patch(f"{NODES}/{NAME}", {"spec": {"taints": None}})
    assert lab.drain().changed and not lab.drain().changed
    lab.budget("db", 1)
    until("the pod is evicted", lambda: lab.ending("db"))
    assert lab.workload.there(f"{PODS}/db")["metadata"]["deletionGracePeriodSeconds"] == 3600


def test_pods_of_a_kubelet_that_reports_again_are_waited_for(lab: Lab) -> None:
    """They were asked to end while it was silent, which counts as drained for a silent one alone."""
    lab.workload.patch(f"{NODES}/{NAME}", {"spec": {"taints": [SILENT], "unschedulable": True}})
    lab.pod("web")
    lab.drain()
    until("kubectl has ended", lambda: all(each.poll() == 0 for each in lab.systemd.processes.values()))
    lab.workload.patch(f"{NODES}/{NAME}", {"spec": {"taints": None}})
    report = lab.drain()
    assert (report.state, report.pods) == ("Running", ("default/web",))
    lab.kubelet_ends("web")
    assert lab.drain(wait=20).state == "Drained"


def test_a_name_that_is_none_is_refused(lab: Lab) -> None:
    with pytest.raises(NodeError, match="no Node's name"):
        lab.drain(name="../etc")
