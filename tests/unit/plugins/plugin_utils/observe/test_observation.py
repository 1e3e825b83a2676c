# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Observing: one call where all is well, a second machine's view where it is not, and what the controller adds."""

from __future__ import annotations

import copy
import json
import typing as t
from pathlib import Path

import pytest
from builders import NOW, Builder, at, cluster, healthy, member_id
from observed import Machines, Node, answers, dead, objects_of
from rules import external, upgrade

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.snapshot.typed_snapshot import (
    check_snapshot,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.observe.observation import observe
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.journal import Journal

Object = dict[str, t.Any]


def seen(builder: Builder, tmp_path: Path, **nodes: Node) -> tuple[dict[str, t.Any], Machines]:
    """The snapshot, and who was asked for it; machines that are not given see what was built."""
    names = [entry["machine"]["metadata"]["name"] for entry in builder.snapshot["machines"]]
    machines = Machines({name: nodes.get(name) or answers(builder) for name in names})
    snapshot = observe(objects_of(builder, tmp_path / "store"), machines, NOW)
    assert check_snapshot(snapshot) == []
    return snapshot, machines


def other_view(builder: Builder, **healthy_: bool) -> dict[str, t.Any]:
    """The built view of etcd, with other members healthy."""
    view: dict[str, t.Any] = copy.deepcopy(builder.workload["etcd"])
    for name, value in healthy_.items():
        view["statuses"][member_id(name)]["healthy"] = value
    return view


def test_a_healthy_cluster_takes_one_call(tmp_path: Path) -> None:
    snapshot, machines = seen(healthy(3), tmp_path)
    assert machines.asked == ["m3"]
    assert machines.calls[0][1] == {"look_again": False, "endpoint": "10.0.0.100:6443"}
    assert snapshot["workload"]["witnesses"] == []
    assert snapshot["now"] == NOW and snapshot["observedAt"] == NOW
    assert (snapshot["readinessGates"], snapshot["maintenance"], snapshot["lastAction"]) == ([], None, None)
    assert "policy" not in snapshot


def _timeout(builder: Builder) -> None:
    for part in ("initConfiguration", "joinConfiguration"):
        timeouts = {"controlPlaneComponentHealthCheckSeconds": 600}
        builder.spec["kubeadmConfigSpec"].setdefault(part, {})["timeouts"] = timeouts


# As kubeadm writes it down, with its own values spelled out; @ is the version of its API.
KUBEADM_CONFIG = """\
apiVersion: kubeadm.k8s.io/@
controllerManager: {}
dns: {}
etcd: {local: {dataDir: /var/lib/etcd}}
imageRepository: registry.k8s.io
kind: ClusterConfiguration
"""
V1BETA2 = KUBEADM_CONFIG.replace("@", "v1beta2") + "kubernetesVersion: v1.20.2\napiServer: {extraArgs: {v: '2'}}\n"
V1BETA4 = KUBEADM_CONFIG.replace("@", "v1beta4") + (
    "kubernetesVersion: v1.32.0\ncertificateValidityPeriod: 8760h0m0s\nencryptionAlgorithm: RSA-2048\n"
    "featureGates: {ControlPlaneKubeletLocalMode: true}\napiServer: {extraArgs: [{name: v, value: '2'}]}\n"
)
_EXTERNAL: Object = {"etcd": {"external": {"endpoints": ["https://10.0.9.1:2379"]}}}


@pytest.mark.parametrize(
    ("text", "change", "expected"),
    [
        (V1BETA2, lambda b: None, True),
        (V1BETA2.replace("v1.20.2", "v1.20.9"), lambda b: None, False),
        (V1BETA2.replace("v1beta2", "v1beta3").replace("v1.20.2", "v1.22.3"), lambda b: None, False),
        (V1BETA2.replace("{v: '2'}", "{v: '4'}"), lambda b: None, False),
        (V1BETA2, _timeout, False),
        (V1BETA4, lambda b: upgrade(b, "v1.32.0"), True),
        (V1BETA4, lambda b: _timeout(upgrade(b, "v1.32.0")), True),
        (
            V1BETA2.replace("local: {dataDir: /var/lib/etcd}", "external: {endpoints: ['https://10.0.9.1:2379']}"),
            lambda b: b.spec["kubeadmConfigSpec"]["clusterConfiguration"].update(_EXTERNAL),
            True,
        ),
        (": no YAML", lambda b: None, False),
        ("", lambda b: None, None),
    ],
)
def test_whether_kubeadm_config_is_as_a_join_needs_it(
    tmp_path: Path, text: str, change: t.Callable[[Builder], t.Any], expected: t.Optional[bool]
) -> None:
    builder = healthy(1)
    change(builder)
    machine = answers(builder, kubeadmConfig={"data": {"ClusterConfiguration": text}})
    snapshot, _machines = seen(builder, tmp_path, m1=machine)
    assert snapshot["workload"]["kubeadmConfig"]["asWanted"] is expected


def test_a_sick_member_is_asked_of_a_second_machine(tmp_path: Path) -> None:
    builder = healthy(3).sick_member("m2")
    snapshot, machines = seen(builder, tmp_path)
    assert machines.asked == ["m3", "m3", "m1"]
    assert [arguments["look_again"] for _name, arguments in machines.calls] == [False, True, False]
    [witness] = snapshot["workload"]["witnesses"]
    assert (witness["machine"], witness["reachable"]) == ("m1", True)
    assert witness["etcd"]["statuses"][member_id("m2")]["healthy"] is False


def test_views_that_differ_are_looked_at_again(tmp_path: Path) -> None:
    builder = healthy(3).sick_member("m2")
    snapshot, machines = seen(builder, tmp_path, m1=answers(builder, other_view(builder, m2=True)))
    assert machines.asked == ["m3", "m3", "m1", "m1"]
    assert machines.calls[-1][1]["look_again"] is True
    [witness] = snapshot["workload"]["witnesses"]
    assert witness["etcd"]["statuses"][member_id("m2")]["healthy"] is True


def test_one_look_that_differs_is_no_other_view(tmp_path: Path) -> None:
    builder = healthy(3).sick_member("m2")
    first, second = answers(builder, other_view(builder, m3=False)), answers(builder)
    snapshot, _machines = seen(builder, tmp_path, m1=lambda given: (second if given["look_again"] else first)(given))
    [witness] = snapshot["workload"]["witnesses"]
    assert witness["etcd"]["statuses"][member_id("m3")]["healthy"] is True


def test_a_witness_that_is_not_reached_is_followed_by_the_next(tmp_path: Path) -> None:
    builder = healthy(5).sick_member("m2")
    snapshot, machines = seen(builder, tmp_path, m4=dead)
    assert machines.asked[-2:] == ["m4", "m3"]
    first, second = snapshot["workload"]["witnesses"]
    assert (first["machine"], first["reachable"], first["etcd"]) == ("m4", False, None)
    assert "timed out" in first["message"]
    assert (second["machine"], second["reachable"]) == ("m3", True)


def test_no_more_than_three_witnesses_are_tried(tmp_path: Path) -> None:
    builder = healthy(7).sick_member("m1")
    snapshot, _machines = seen(builder, tmp_path, **dict.fromkeys(("m2", "m3", "m4", "m5", "m6"), dead))
    assert [each["machine"] for each in snapshot["workload"]["witnesses"]] == ["m6", "m5", "m4"]


def test_a_witness_without_etcd_gives_no_view(tmp_path: Path) -> None:
    builder = healthy(3).sick_member("m2")
    silent = {"reachable": False, "message": "etcd does not answer", "members": [], "statuses": {}}
    snapshot, _machines = seen(builder, tmp_path, m1=answers(builder, silent))
    [witness] = snapshot["workload"]["witnesses"]
    assert (witness["reachable"], witness["message"]) == (False, "etcd does not answer")


def test_the_suspected_machine_is_asked_only_where_there_is_no_other(tmp_path: Path) -> None:
    builder = healthy(2, replicas=3).sick_member("m1")
    snapshot, _machines = seen(builder, tmp_path)
    assert [each["machine"] for each in snapshot["workload"]["witnesses"]] == ["m1"]


CAUSES: list[tuple[str, t.Callable[[Builder], t.Any]]] = [
    ("an alarm", lambda b: b.workload["etcd"]["alarms"].append({"memberID": member_id("m2"), "alarm": "NOSPACE"})),
    ("a learner", lambda b: b.member("m2", learner=True)),
    ("a member that is not listed", lambda b: b.without_member("m2")),
    ("a failed health check", lambda b: b.marked("m2")),
    ("a machine that is being deleted", lambda b: b.deleting("m2")),
]


@pytest.mark.parametrize(("what", "cause"), CAUSES)
def test_every_cause_calls_for_a_witness(tmp_path: Path, what: str, cause: t.Callable[[Builder], t.Any]) -> None:
    builder = healthy(3)
    cause(builder)
    snapshot, _machines = seen(builder, tmp_path)
    assert [each["machine"] for each in snapshot["workload"]["witnesses"]] == ["m1"], what


def test_lists_that_differ_call_for_the_newest_other_machine(tmp_path: Path) -> None:
    builder = healthy(3)
    builder.workload["etcd"]["memberListAgrees"] = False
    snapshot, _machines = seen(builder, tmp_path)
    assert [each["machine"] for each in snapshot["workload"]["witnesses"]] == ["m2"]


@pytest.mark.parametrize("state", ["", "Failed"])
def test_a_machine_that_never_joined_calls_for_nothing(tmp_path: Path, state: str) -> None:
    builder = healthy(3, replicas=5).machine("m4", state).deleting("m4")
    snapshot, machines = seen(builder, tmp_path)
    assert machines.asked == ["m3"]
    assert not any("bootstrapUnit" in each for each in snapshot["machines"])


@pytest.mark.parametrize("state", ["Running", "Succeeded", "Absent", "Unknown"])
def test_a_bootstrap_that_is_not_known_to_have_ended_is_asked_for_on_its_machine(tmp_path: Path, state: str) -> None:
    builder = healthy(3, replicas=5).machine("m4", "Running")
    said: Object = {"machine": {"bootstrap": {"state": state, "message": "so"}}}
    snapshot, machines = seen(builder, tmp_path, m4=lambda _arguments: said)
    assert machines.asked == ["m3", "m4"]
    # One that can't read its own record says as little as one that is silent.
    told = {"answers": False, "state": ""} if state == "Unknown" else {"answers": True, "state": state}
    assert snapshot["machines"][3]["bootstrapUnit"] == {**told, "message": "so"}
    snapshot, _machines = seen(builder, tmp_path, m4=dead)
    unit = snapshot["machines"][3]["bootstrapUnit"]
    assert (unit["answers"], unit["state"]) == (False, "") and "timed out" in unit["message"]


def test_nodes_of_removed_machines_are_asked_for(tmp_path: Path) -> None:
    """By their names, in the same call; what is not there is not told."""
    record = '{"machine": "%s", "timestamp": "2026-01-31T11:00:00Z", "retryCount": 0}'
    builder = healthy(3)
    for name, gone in (("m2", "gone"), ("m3", "away")):
        builder.annotate("controlplane.cluster.x-k8s.io/remediation-for", record % gone, name)
    condition = {"type": "Ready", "status": "Unknown", "lastTransitionTime": NOW}
    node = {"metadata": {"name": "gone"}, "status": {"conditions": [condition]}}
    found = [{"found": False, "object": None, "message": ""}, {"found": True, "object": node, "message": ""}]
    snapshot, machines = seen(builder, tmp_path, m3=answers(builder, wanted=found))
    asked = machines.calls[0][1]["objects"]
    assert asked == [{"apiVersion": "v1", "kind": "Node", "name": name} for name in ("away", "gone")]
    [left] = snapshot["workload"]["leftBehind"]
    assert (left["name"], left["ready"], left["conditions"][0]["lastTransitionTime"]) == ("gone", "Unknown", NOW)


def test_an_external_etcd_has_no_witness(tmp_path: Path) -> None:
    builder = healthy(3).marked("m2")
    snapshot, machines = seen(builder, tmp_path, m3=answers(builder, None))
    assert machines.asked == ["m3"] and snapshot["workload"]["etcd"] is None


def test_without_an_api_nobody_is_asked_beyond_the_candidates(tmp_path: Path) -> None:
    builder = healthy(3)
    nodes = dict.fromkeys(("m1", "m2", "m3"), answers(builder, api=False))
    snapshot, machines = seen(builder, tmp_path, **nodes)
    assert snapshot["workload"]["reachable"] is False
    assert machines.asked == ["m3", "m2", "m1"] * 2
    assert snapshot["workload"]["witnesses"] == []


GATE = [{"name": "g", "apiVersion": "v1", "kind": "ConfigMap", "objectName": "c", "expression": "data.ready == 'yes'"}]


def test_gates_are_evaluated_on_what_the_node_read(tmp_path: Path) -> None:
    builder = healthy(1).annotate("kubeadm.control-plane/readiness-gates", json.dumps(GATE))
    read = [{"found": True, "object": {"data": {"ready": "yes", "password": "hunter2"}}, "message": ""}]
    snapshot, machines = seen(builder, tmp_path, m1=answers(builder, wanted=read))
    assert machines.calls[0][1]["objects"] == [{"apiVersion": "v1", "kind": "ConfigMap", "name": "c"}]
    assert snapshot["readinessGates"] == [{"name": "g", "status": "True", "message": ""}]
    assert "hunter2" not in json.dumps(snapshot)
    silent, _machines = seen(builder, tmp_path, m1=dead)
    assert silent["readinessGates"][0]["status"] == "Unknown"
    assert "timed out" in silent["readinessGates"][0]["message"]


def test_a_witness_reads_no_objects(tmp_path: Path) -> None:
    builder = healthy(3).sick_member("m2").annotate("kubeadm.control-plane/readiness-gates", json.dumps(GATE))
    _snapshot, machines = seen(builder, tmp_path)
    assert "objects" not in machines.calls[-1][1]


def test_the_window_is_told_by_the_clock_of_the_cluster(tmp_path: Path) -> None:
    text = '{"schedule": "0 12 * * *", "duration": "1h"}'
    builder = healthy(1).annotate("kubeadm.control-plane/maintenance-window", text)
    machines = Machines({"m1": answers(builder)})
    snapshot = observe(objects_of(builder, tmp_path), machines, "2026-01-31T11:59:55Z")
    assert snapshot["now"] == NOW and snapshot["observedAt"] == "2026-01-31T11:59:55Z"
    assert snapshot["maintenance"]["open"] is True


def test_workers_are_counted_by_version(tmp_path: Path) -> None:
    builder = healthy(1)
    counts = {"v1.20.2": 1, "v1.19.7": 1, "": 3, "{{ x }}": "many"}
    snapshot, _machines = seen(builder, tmp_path, m1=answers(builder, workerVersions=counts))
    assert snapshot["workload"]["workerVersions"] == {"v1.19.7": 1, "v1.20.2": 1}


def test_the_policy_is_the_callers(tmp_path: Path) -> None:
    builder = healthy(1)
    policy = {"replace": "ask", "approved": True}
    found = observe(objects_of(builder, tmp_path), Machines({"m1": answers(builder)}), NOW, policy=policy)
    assert found["policy"] == policy


def with_journal(tmp_path: Path, moment: str, end: bool = True) -> dict[str, t.Any]:
    """The snapshot of a cluster whose journal has a step of that time."""
    builder = healthy(1)
    objects = objects_of(builder, tmp_path)
    journal = Journal(str(tmp_path), "default", "prod", clock=lambda: moment)
    journal.outcome(journal.intent("join", "m1", "r"), "succeeded")
    if not end:
        journal.intent("remove", "m9", "r")
    return observe(objects, Machines({"m1": answers(builder)}), NOW)


def test_the_last_action_is_the_journals_newest_step(tmp_path: Path) -> None:
    found = with_journal(tmp_path / "ended", at(60))["lastAction"]
    assert found == {"at": at(60), "action": "join", "target": "m1", "outcome": "succeeded"}
    assert with_journal(tmp_path / "open", at(60), end=False)["lastAction"] == {
        "at": at(60),
        "action": "remove",
        "target": "m9",
        "outcome": None,
    }


def test_an_observation_comes_after_the_action_it_knows_of(tmp_path: Path) -> None:
    """Another controller's clock may be a little ahead; far ahead, nobody knows what came first."""
    little = with_journal(tmp_path / "a", at(-20))
    assert little["observedAt"] == at(-20) and check_snapshot(little) == []
    far = with_journal(tmp_path / "b", at(-31))
    assert far["observedAt"] == NOW
    assert [problem.path for problem in check_snapshot(far)] == ["observedAt"]


def test_before_any_machine_nothing_is_known(tmp_path: Path) -> None:
    builder = cluster(3).bare()
    snapshot = observe(objects_of(builder, tmp_path), Machines({}), NOW)
    assert check_snapshot(snapshot) == []
    assert (snapshot["workload"]["witnesses"], snapshot["workload"]["workerVersions"]) == ([], {})


@pytest.mark.parametrize(
    ("reachable", "message"), [(True, ""), (False, "1 of 3 endpoints: https://etcd-2:2379 is silent")]
)
def test_an_external_etcd_is_told_without_members(tmp_path: Path, reachable: bool, message: str) -> None:
    """Whether every endpoint serves, and what is wrong; no second machine is asked about it."""
    builder = external(healthy(3))

    def newest(arguments: dict[str, t.Any]) -> dict[str, t.Any]:
        observation = t.cast(Object, answers(builder, None)(arguments))
        return {**observation, "externalEtcd": {"reachable": reachable, "message": message}}

    snapshot, machines = seen(builder, tmp_path, m3=newest)
    assert snapshot["workload"]["etcd"] == {"reachable": reachable, "message": message}
    assert machines.asked == (["m3"] if reachable else ["m3", "m3"])


@pytest.mark.parametrize(("wanted", "reachable"), [(("a", "b"), True), (("a", "b", "c"), False), (("d",), False)])
def test_an_endpoint_that_was_taken_out_of_the_spec_holds_up_nothing(
    tmp_path: Path, wanted: tuple[str, ...], reachable: bool
) -> None:
    """The machines that there are still have it; they are replaced by ones that don't, which must not wait for it."""
    builder = external(healthy(3))
    used = builder.spec["kubeadmConfigSpec"]["clusterConfiguration"]["etcd"]["external"]
    used["endpoints"] = [f"https://etcd-{each}:2379" for each in wanted]
    endpoints = [{"url": f"https://etcd-{each}:2379", "healthy": each != "c"} for each in ("a", "b", "c")]
    said = {"reachable": False, "message": "1 of 3 endpoints: https://etcd-c:2379 is silent", "endpoints": endpoints}

    def newest(arguments: dict[str, t.Any]) -> dict[str, t.Any]:
        return {**t.cast(Object, answers(builder, None)(arguments)), "externalEtcd": said}

    snapshot, _machines = seen(builder, tmp_path, m3=newest)
    assert snapshot["workload"]["etcd"] == {"reachable": reachable, "message": "" if reachable else said["message"]}


def test_flags_are_compared_with_what_the_machine_was_made_from(tmp_path: Path) -> None:
    """Each machine's own KubeadmConfig, not the spec that may have been changed since."""
    builder = healthy(3)
    flags = [
        {"node": "m1", "component": "kube-apiserver", "flags": {"v": "2"}},
        {"node": "m2", "component": "kube-apiserver", "flags": {"v": "4", "profiling": "false"}},
        {"node": "stranger", "component": "kube-apiserver", "flags": {"v": "9"}},
    ]
    snapshot, _machines = seen(builder, tmp_path, m3=answers(builder, staticPodFlags=flags))
    found = [(each["node"], each["flag"], each["kind"]) for each in snapshot["workload"]["staticPodDrift"]]
    assert found == [("m2", "profiling", "added"), ("m2", "v", "changed")]


def ends(builder: Builder, end: str, **more: t.Any) -> Node:
    """A machine whose API server's certificate ends then."""
    told = answers(builder, **more)
    return lambda arguments: {**(told(arguments) or {}), "machine": {"certificates": {"apiserver.crt": end}}}


def test_when_the_certificates_of_machines_end_that_do_not_answer(tmp_path: Path) -> None:
    builder = healthy(3)
    nodes = {name: ends(builder, at(60), api=False) for name in ("m1", "m2")}
    snapshot, _machines = seen(builder, tmp_path, m3=dead, **nodes)
    told = {name: {"apiserver.crt": at(60)} for name in ("m1", "m2")}
    assert snapshot["workload"]["machineCertificates"] == told and snapshot["workload"]["reachable"] is False


def test_a_machine_whose_certificates_should_have_ended_is_asked_itself(tmp_path: Path) -> None:
    """By the record, or by what its member answers; they may have been renewed."""
    builder = healthy(3)
    builder.entry("m1")["kubeadmConfig"]["metadata"]["annotations"] = {
        "machine.cluster.x-k8s.io/certificates-expiry": at(60)
    }
    later = at(-60)
    snapshot, machines = seen(builder, tmp_path, m1=ends(builder, later))
    assert machines.asked == ["m3", "m1"]
    assert snapshot["workload"]["machineCertificates"]["m1"] == {"apiserver.crt": later}

    builder = healthy(3).sick_member("m2")
    builder.workload["etcd"]["statuses"][member_id("m2")]["message"] = (
        "certificate verify failed: certificate has expired"
    )
    snapshot, machines = seen(builder, tmp_path / "second", m2=ends(builder, at(60)))
    assert machines.asked == ["m3", "m3", "m1", "m2"]
    assert snapshot["workload"]["machineCertificates"]["m2"] == {"apiserver.crt": at(60)}
