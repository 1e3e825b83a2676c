# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wrong when nothing else is to be done: waited for, or a person's.

Source: docs/reference/cluster_api.md, "Order of one pass".
"""

from __future__ import annotations

from typing import Optional

import pytest
from builders import at, healthy, member_id
from decisions import Change, changed, step
from rules import condition, lasting, reasons, seen

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decide import decide

# What is wrong, what it is called, and whether it is waited for when it is new and when it has lasted.
TROUBLES: list[tuple[str, str, str, str, Change, Optional[Change]]] = [
    (
        "nobody answers",
        "APIUnreachable",
        "wait",
        "blocked",
        lambda b: b.unreachable(),
        lambda b: b.stored("RemoteConnectionProbe", "False", 61, "cluster"),
    ),
    (
        "endpoint does not lead here",
        "EndpointNotReachable",
        "wait",
        "blocked",
        lambda b: b.endpoint(False),
        lambda b: b.stored("ControlPlaneEndpointReachable", "False", 61, "cluster"),
    ),
    (
        "endpoint unknown",
        "EndpointUnknown",
        "wait",
        "blocked",
        lambda b: b.endpoint(None),
        lambda b: b.stored("ControlPlaneEndpointReachable", "Unknown", 61, "cluster"),
    ),
    (
        "a Node that lost its label",
        "NodeNotLabelled",
        "blocked",
        "blocked",
        lambda b: b.unlabelled("m2"),
        None,
    ),
    (
        "crash loop",
        "ComponentFailed",
        "wait",
        "blocked",
        lambda b: b.pod("m2", "kube-scheduler", waitingReason="CrashLoopBackOff", lastExitCode=1),
        lambda b: b.stored("SchedulerPodHealthy", "False", 61, "m2"),
    ),
    (
        "no pod",
        "ComponentMissing",
        "wait",
        "blocked",
        lambda b: b.pod("m2", "kube-apiserver"),
        lambda b: b.stored("APIServerPodHealthy", "False", 61, "m2"),
    ),
    (
        "pending",
        "ComponentProvisioning",
        "wait",
        "wait",
        lambda b: b.pod("m2", "kube-apiserver", phase="Pending"),
        lambda b: b.stored("APIServerPodHealthy", "False", 61, "m2"),
    ),
    (
        "pending for ten minutes",
        "ComponentProvisioning",
        "wait",
        "blocked",
        lambda b: b.pod("m2", "kube-apiserver", phase="Pending"),
        lambda b: b.stored("APIServerPodHealthy", "False", 601, "m2"),
    ),
    (
        "node unknown",
        "ComponentUnknown",
        "wait",
        "blocked",
        lambda b: b.node("m2", ready="Unknown"),
        lambda b: [
            b.stored(kind, "Unknown", 61, "m2") for kind in ("APIServerPodHealthy", "ControllerManagerPodHealthy")
        ],
    ),
    (
        "node deleted",
        "NodeNotFound",
        "wait",
        "blocked",
        lambda b: b.workload["nodes"].pop(1),
        lambda b: b.stored("NodeReady", "False", 61, "m2"),
    ),
    (
        "member sick",
        "EtcdMemberUnhealthy",
        "wait",
        "blocked",
        lambda b: b.sick_member("m2"),
        lambda b: b.stored("EtcdMemberHealthy", "False", 61, "m2"),
    ),
    (
        "no etcd",
        "EtcdUnreachable",
        "wait",
        "blocked",
        lambda b: b.workload["etcd"].update(reachable=False),
        lambda b: b.stored("EtcdClusterHealthy", "Unknown", 61),
    ),
    (
        "quorum lost",
        "EtcdQuorumLost",
        "wait",
        "blocked",
        lambda b: b.sick_member("m2").sick_member("m3"),
        lambda b: b.stored("EtcdClusterHealthy", "False", 61),
    ),
    (
        "no leader",
        "EtcdNoLeader",
        "wait",
        "blocked",
        lambda b: b.workload["etcd"].update(leader=None),
        lambda b: b.stored("EtcdClusterHealthy", "False", 61),
    ),
    (
        "list not confirmed",
        "ViewsDisagree",
        "wait",
        "blocked",
        lambda b: b.workload["etcd"].update(memberListAgrees=None),
        lambda b: b.stored("EtcdClusterHealthy", "False", 61),
    ),
    (
        "lists differ",
        "ViewsDisagree",
        "blocked",
        "blocked",
        lambda b: b.workload["etcd"].update(memberListAgrees=False),
        None,
    ),
    (
        "no space",
        "EtcdAlarm",
        "blocked",
        "blocked",
        lambda b: b.workload["etcd"]["alarms"].append({"memberID": member_id("m2"), "alarm": "NOSPACE"}),
        None,
    ),
    (
        "corrupt",
        "EtcdAlarm",
        "blocked",
        "blocked",
        lambda b: b.workload["etcd"]["alarms"].append({"memberID": member_id("m2"), "alarm": "CORRUPT"}),
        None,
    ),
    ("stray node", "UnmanagedNode", "blocked", "blocked", lambda b: b.node("stray"), None),
    (
        "other host",
        "NodeIdentityDiffers",
        "blocked",
        "blocked",
        lambda b: b.workload["nodes"][1].update(machineID="x"),
        None,
    ),
    (
        "dead machine",
        "InfrastructureGone",
        "blocked",
        "blocked",
        lambda b: b.entry("m2")["infrastructureMachine"]["status"].update(state="dead"),
        None,
    ),
    (
        "other etcd",
        "EtcdClusterIDDiffers",
        "blocked",
        "blocked",
        lambda b: b.snapshot["controlPlane"]["status"].update(etcdClusterID="00000000000000dd"),
        None,
    ),
    ("clocks", "ClockSkew", "blocked", "blocked", lambda b: b.workload.update(clockSkewSeconds=-31), None),
]


NAMES = [case[0] for case in TROUBLES]


@pytest.mark.parametrize(("what", "reason", "new", "lasting", "change", "stored"), TROUBLES, ids=NAMES)
@pytest.mark.parametrize("replicas", [3, 5])
class TestTrouble:
    """With all replicas there, and before the next join, the same trouble is waited for, or blocks."""

    def test_one_sample_proves_nothing(
        self, what: str, reason: str, new: str, lasting: str, change: Change, stored: Optional[Change], replicas: int
    ) -> None:
        decision = decide(changed(healthy(3, replicas), change).build())
        assert decision["action"] == new
        assert reason in [each["reason"] for each in decision["blockedOn"]]

    def test_what_lasts_needs_a_person(
        self, what: str, reason: str, new: str, lasting: str, change: Change, stored: Optional[Change], replicas: int
    ) -> None:
        builder = changed(healthy(3, replicas), change)
        if stored is not None:
            stored(builder)
        decision = decide(builder.build())
        assert decision["action"] == lasting
        found = [each for each in decision["blockedOn"] if each["reason"] == reason]
        assert found
        assert found[0]["fix"]

    def test_while_a_machine_settles_in_what_may_pass_is_waited_for(
        self, what: str, reason: str, new: str, lasting: str, change: Change, stored: Optional[Change], replicas: int
    ) -> None:
        builder = changed(healthy(3, replicas), change)
        if stored is not None and "ten minutes" not in what:
            stored(builder)
        builder.entry("m3")["machine"]["status"]["bootstrap"]["startedAt"] = at(60)
        assert decide(builder.build())["action"] == new


@pytest.mark.parametrize(("seconds", "action"), [(59, "wait"), (60, "blocked")])
def test_patience_ends_after_a_minute(seconds: int, action: str) -> None:
    builder = healthy(3).pod("m2", "kube-scheduler").stored("SchedulerPodHealthy", "False", seconds, "m2")
    assert decide(builder.build())["action"] == action
    builder = healthy(3).unreachable().stored("RemoteConnectionProbe", "False", seconds, "cluster")
    assert decide(builder.build())["action"] == action


class TestNodesThatAreNotReady:
    def test_new_ones_are_waited_for_at_the_end_only(self) -> None:
        assert step(healthy(3).node("m2", ready="False", age=119)) == ("wait", "NodeNotReady")
        assert step(healthy(3, replicas=5).node("m2", ready="False", age=119))[0] == "join"

    def test_without_a_network_plugin_it_says_so_and_what_to_do(self) -> None:
        builder = healthy(3).node("m2", ready="False", age=120)
        builder.workload["nodes"][-1]["networkReady"] = False
        decision = decide(builder.build())
        assert [each["reason"] for each in decision["reasons"]] == ["UpToDate", "NoNetworkPlugin"]
        assert "Node m2 is not Ready (no network plugin: KubeletNotReady)" in decision["reasons"][1]["message"]
        waiting = healthy(3).node("m2", ready="False", age=119)
        waiting.workload["nodes"][-1]["networkReady"] = False
        assert "ClusterResourceSet" in decide(waiting.build())["blockedOn"][0]["fix"]

    def test_later_it_is_said_and_nothing_is_blocked(self) -> None:
        decision = decide(healthy(3).node("m2", ready="False", age=120).build())
        assert decision["action"] == "none"
        assert [each["reason"] for each in decision["reasons"]] == ["UpToDate", "NodeNotReady"]


def test_a_machine_without_a_node_yet_is_waited_for_ten_minutes() -> None:
    builder = healthy(2, replicas=3).without_member("m2")
    builder.entry("m2")["machine"]["status"].pop("nodeRef")
    builder.workload["nodes"].pop(1)
    for seconds, action in ((599, "wait"), (600, "blocked")):
        builder.entry("m2")["machine"]["status"]["bootstrap"]["startedAt"] = at(seconds)
        decision = decide(builder.build())
        assert (decision["action"], decision["blockedOn"][0]["reason"]) == (action, "NodeNotFound")
        assert "kubeadm never ran there, have it replaced" in decision["blockedOn"][0]["fix"]


@pytest.mark.parametrize(
    ("action", "change"),
    [
        ("remove", lambda b: b.marked("m2")),
        ("remove", lambda b: b.deleting("m2")),
        ("remove", lambda b: b.entry("m2")["machine"]["status"]["bootstrap"].update(state="Failed")),
        ("removeMember", lambda b: seen(b.member("stray"), 60, "stray")),
    ],
)
def test_no_removal_follows_from_the_member_list_of_another_etcd(action: str, change: Change) -> None:
    builder = changed(healthy(3), change)
    assert step(builder)[0] == action
    builder.snapshot["controlPlane"]["status"]["etcdClusterID"] = "00000000000000dd"
    assert step(builder) == ("blocked", "EtcdClusterIDDiffers")
    decision = decide(builder.build())
    fix = decision["blockedOn"][0]["fix"]
    assert "gave m1 up and it runs again as before, cut its power" in fix
    assert "by hand on m1, take status.etcdClusterID out" in fix
    told = {each["type"]: each["status"] for each in decision["conditions"]["controlPlane"]}
    assert told["EtcdClusterHealthy"] == told["EtcdClusterAvailable"] == "Unknown" and told["Available"] == "False"


def test_a_full_database_is_told_with_the_command_that_makes_room() -> None:
    """The machines by their names: a group's is another one where two namespaces have a cluster of that name."""
    builder = healthy(3)
    builder.workload["etcd"]["alarms"].append({"memberID": member_id("m2"), "alarm": "NOSPACE"})
    [why] = decide(builder.build())["blockedOn"]
    assert "etcd alarm NOSPACE on member m2" in why["message"]
    command = "ansible -i INVENTORY m1,m2,m3 -b --private-key FILE -f 1 -m kubeadm.control_plane.etcd_alarm -a "
    assert f'{command}"state=disarmed compact=true' in why["fix"] and "FILE is the SSH key of prod-ssh" in why["fix"]


@pytest.mark.parametrize("named", [member_id("m2"), "00000000000000ff", "0000000000000000"])
def test_a_corrupt_member_is_removed_and_the_alarm_disarmed_before_a_run_replaces_its_machine(named: str) -> None:
    """Etcd refuses every write of a run while the alarm is raised, and the alarm stays when its member goes."""
    builder = healthy(3)
    builder.workload["etcd"]["alarms"].append({"memberID": named, "alarm": "CORRUPT"})
    [why] = decide(builder.build())["blockedOn"]
    assert f"({named})" in why["message"]
    steps = [
        "hashkv",
        "-m kubeadm.control_plane.etcd_member -a ",
        "corrupt_member=ID",
        "control_plane_machines=NAME",
    ]
    found = [why["fix"].index(each) for each in steps]
    assert found == sorted(found)


@pytest.mark.parametrize(
    ("count", "full", "sick", "corrupt", "first"),
    [
        (1, 1, (), (), "Make room"),
        (2, 2, (), (), "Make room"),
        (3, 1, (), (), "Make room"),
        (3, 3, (), (), "Make room"),
        (3, 2, ("m3",), (), "Bring etcd back on m3 first"),
        (3, 3, ("m3",), (), "Bring etcd back on m3 first"),
        (3, 1, (), ("m3",), "Bring etcd back on m3 first"),
        (5, 4, ("m5",), (), "Make room"),
        (5, 3, ("m4", "m5"), (), "Bring etcd back on m4, m5 first"),
    ],
)
def test_the_command_that_makes_room_is_one_that_is_not_refused(
    count: int, full: int, sick: tuple[str, ...], corrupt: tuple[str, ...], first: str
) -> None:
    """The module refuses a pause that costs the quorum, and takes consent for it where no other member could keep it."""
    builder = healthy(count, replicas=count | 1)
    for name in sick:
        builder.sick_member(name)
    etcd = builder.workload["etcd"]
    raised = [(f"m{number}", "NOSPACE") for number in range(1, full + 1)] + [(name, "CORRUPT") for name in corrupt]
    for name, alarm in raised:
        etcd["alarms"].append({"memberID": member_id(name), "alarm": alarm})
        if name not in sick:
            # As the machines say it (module_utils/etcd/view.py).
            own = etcd["statuses"][member_id(name)]
            own.update(healthy=False, message=f"alarm {alarm}", leader=etcd["leader"])
    fix = next(each["fix"] for each in decide(builder.build())["blockedOn"] if "alarm NOSPACE" in each["message"])
    assert fix.startswith(first)
    assert ("defragment=true allow_interruption=true" in fix) is (count <= 2)
    assert ("all but the last may say" in fix) is (count > 1)


def test_existing_hosts_are_named_as_the_users_inventory_has_them() -> None:
    """User and bastion are variables of these hosts; the group of the cluster's machines has none of them."""
    builder = healthy(3)
    for number, name in enumerate(["m1", "m2", "m3"], 1):
        builder.entry(name)["infrastructureMachine"]["status"]["claim"] = {"inventoryHost": f"cp-{number}"}
    builder.workload["etcd"]["alarms"].append({"memberID": member_id("m2"), "alarm": "NOSPACE"})
    [why] = decide(builder.build())["blockedOn"]
    assert " cp-1,cp-2,cp-3 -b -f 1 -m kubeadm.control_plane.etcd_alarm " in why["fix"] and "FILE" not in why["fix"]


@pytest.mark.parametrize("taints", [None, []])
def test_a_node_without_labels_is_told_with_the_commands_that_put_back_what_kubeadm_did(
    taints: Optional[list[str]],
) -> None:
    builder = healthy(3)
    if taints is not None:
        config = builder.entry("m2")["kubeadmConfig"]["spec"]
        config.setdefault("joinConfiguration", {})["nodeRegistration"] = {"taints": taints}
    [why] = decide(builder.unlabelled("m2").build())["blockedOn"]
    assert "kubectl label node m2 node-role.kubernetes.io/master= node-role.kubernetes.io/control-plane=" in why["fix"]
    assert ("kubectl taint node m2 node-role.kubernetes.io/" in why["fix"]) is (taints is None)


@pytest.mark.parametrize("names", [("m1", "m2"), ("m1", "m2", "m3")])
def test_a_full_database_is_no_lost_quorum(names: tuple[str, ...]) -> None:
    """Every member answers and one leads: making room helps, and no snapshot is needed."""
    builder = lasting(healthy(3))
    etcd = builder.workload["etcd"]
    etcd["alarms"] = [{"memberID": member_id(name), "alarm": "NOSPACE"} for name in names]
    for name in names:
        etcd["statuses"][member_id(name)].update(healthy=False, message="alarm NOSPACE", leader=etcd["leader"])
    decision = decide(builder.build())
    assert decision["action"] == "blocked"
    assert {each["reason"] for each in decision["blockedOn"]} == {"EtcdAlarm"}
    for kind in ("Available", "EtcdClusterAvailable"):
        found = condition(decision, kind)
        assert found["status"] == "False" and "an alarm keeps etcd from taking writes" in found["message"], kind
    etcd["leader"] = None
    assert "EtcdNoLeader" in reasons(decide(builder.build()))
    for name in ("m2", "m3"):
        builder.sick_member(name)
        etcd["statuses"][member_id(name)]["leader"] = None
    assert "EtcdQuorumLost" in reasons(decide(builder.build()))
