# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A state's hash: prediction and reality agree on it after every step; what decisions don't read is not in it; what they read is."""

from __future__ import annotations

import copy
import json
from typing import Any, Callable

import pytest
from builders import Builder, at, cluster, healthy, member_id
from reality import carry_out
from rules import external, in_progress, outdate, seen, surge, upgrade, witness

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decide import decide
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.plan.steps import plan
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.snapshot.spec_hash import (
    spec_parts,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.snapshot.state_fingerprint import (
    difference,
    fingerprint,
    state_of,
)

Object = dict[str, Any]


def stray(builder: Builder) -> Builder:
    """A member that belongs to no machine, and long enough so."""
    return seen(builder.member("gone", healthy=False), 900, "gone")


def orphans(builder: Builder) -> Builder:
    """Machines that nobody controls."""
    for entry in builder.snapshot["machines"]:
        entry["machine"]["metadata"]["ownerReferences"] = []
    return builder


def bare_domains(count: int) -> Builder:
    """A new cluster whose provider has three failure domains."""
    builder = cluster(count).bare()
    domains = [{"name": each, "controlPlane": True} for each in "abc"]
    builder.snapshot["infrastructureCluster"]["spec"]["failureDomains"] = domains
    return builder


SITUATIONS: dict[str, Callable[[], Builder]] = {
    "create": lambda: bare_domains(3),
    "create five": lambda: cluster(5).bare(),
    "scale up": lambda: healthy(3, replicas=5),
    "scale down": lambda: healthy(5, replicas=3),
    "roll out": lambda: upgrade(healthy(3)),
    "roll out in domains": lambda: outdate(
        cluster(3).domains("a", "b", "c").machine("m1", domain="a").machine("m2", domain="b").machine("m3", domain="c"),
        "m1",
        "m2",
        "m3",
    ),
    "roll out without surge": lambda: surge(upgrade(healthy(3)), 0),
    "scale up and roll out": lambda: upgrade(healthy(3, replicas=5)),
    "scale down and roll out": lambda: upgrade(healthy(5, replicas=3)),
    "failed joiner": lambda: healthy(2, replicas=3).machine("m3", "Failed"),
    "failed first": lambda: cluster(3).machine("x", "Failed"),
    "begun, never started": lambda: healthy(2, replicas=3).machine("m3", ""),
    "running": lambda: healthy(1, replicas=3).machine("m2", "Running", age=5),
    "deleting": lambda: healthy(3).deleting("m3"),
    "remediation": lambda: witness(healthy(3).sick_member("m3").marked("m3"), "m2"),
    "remediation of the leader": lambda: healthy(5).leads("m3").marked("m3"),
    "replacement owed": lambda: in_progress(healthy(2, replicas=3), "m9"),
    "stray": lambda: stray(healthy(3)),
    "adoption": lambda: orphans(healthy(3)),
    "external": lambda: external(cluster(2).bare()),
    "external, roll out": lambda: upgrade(external(healthy(2))),
}


def new_names() -> Callable[[str], str]:
    """Names in an order that is not the machines'."""
    left = [f"prod-{each}" for each in ("zz", "kk", "aa", "mm", "bb", "ww", "cc", "yy", "dd", "ee")]
    return lambda domain: left.pop(0)


@pytest.mark.parametrize("situation", SITUATIONS)
def test_prediction_and_reality_agree_after_every_step(situation: str) -> None:
    builder = SITUATIONS[situation]()
    if situation == "external":
        for facts in builder.snapshot["certificates"].values():
            facts.update(present=True)
    steps = plan(builder.build(), names=new_names())
    assert len(steps) > 1, steps[0]["blockedOn"]
    for step in steps:
        snapshot = builder.build()
        decision = decide(snapshot)
        expected = [each for each in steps if each["expects"] == fingerprint(state_of(snapshot))]
        assert [each["step"] for each in expected] == [step["step"]], json.dumps(state_of(snapshot), indent=1)
        if step["action"] in ("none", "wait", "blocked", "postponed"):
            break
        assert (decision["action"], decision["target"] and decision["target"]["machine"]) == (
            step["action"],
            step["target"] and step["target"]["machine"],
        )
        carry_out(builder, step)
    assert step["action"] == "none"


@pytest.mark.parametrize("situation", SITUATIONS)
def test_the_status_that_a_pass_writes_does_not_change_the_state(situation: str) -> None:
    builder = SITUATIONS[situation]()
    before = fingerprint(state_of(builder.build()))
    decision = decide(builder.build())
    builder.snapshot["controlPlane"]["status"].update(decision["status"]["controlPlane"])
    for key, value in (decision["annotations"].get("controlPlane") or {}).items():
        if value is None:
            builder.snapshot["controlPlane"]["metadata"]["annotations"].pop(key, None)
    assert fingerprint(state_of(builder.build())) == before


def test_a_mark_that_this_pass_takes_away_is_no_mark() -> None:
    """The machine is healthy again: its owner's mark goes with the status, and the state is the same before and after."""
    builder = healthy(3).stored("OwnerRemediated", "False", 900, "m2").stored("HealthCheckSucceeded", "True", 60, "m2")
    assert decide(builder.build())["removedConditions"] == {"machines": {"m2": ["OwnerRemediated"]}}
    assert fingerprint(state_of(builder.build())) == fingerprint(state_of(healthy(3).build()))


def changes_of_no_meaning() -> dict[str, Callable[[Builder], Any]]:
    def machine(builder: Builder) -> Object:
        found: Object = builder.entry("m2")["machine"]
        return found

    def shuffle(builder: Builder) -> None:
        builder.snapshot["machines"].reverse()
        builder.workload["nodes"].reverse()
        builder.workload["etcd"]["members"].reverse()

    def renumber(builder: Builder) -> None:
        etcd = builder.workload["etcd"]
        text = json.dumps(etcd).replace(member_id("m3"), "00000000deadbeef")
        builder.snapshot["workload"]["etcd"] = json.loads(text)

    return {
        "time": lambda b: b.snapshot.update(now=at(-3)),
        "observedAt": lambda b: b.snapshot.update(observedAt=at(0)),
        "last action": lambda b: b.snapshot.update(
            lastAction={"at": at(60), "action": "join", "target": "m3", "outcome": "succeeded"}
        ),
        "resource version": lambda b: machine(b)["metadata"].update(resourceVersion="77", generation=3, uid="x"),
        "order": shuffle,
        "another leader": lambda b: b.leads("m2"),
        "member IDs": renumber,
        "addresses": lambda b: machine(b)["status"].update(addresses=[{"type": "InternalIP", "address": "10.9.9.9"}]),
        "provider ID": lambda b: machine(b)["spec"].update(providerID="nspawn:///other"),
        "machine ID": lambda b: b.entry("m2")["infrastructureMachine"]["status"].pop("machineID"),
        "Node not Ready": lambda b: b.node("m2", ready="False"),
        "what hosts say": lambda b: b.workload.update(message="hello"),
        "asked elsewhere": lambda b: b.workload.update(via="m2"),
        "prepared machine": lambda b: b.snapshot["preparedMachines"].append(
            {"kind": "NspawnMachine", "metadata": {"name": "ahead"}, "spec": {}, "status": {}}
        ),
        "a label": lambda b: machine(b)["metadata"].update(labels={"team": "x"}),
        "consent": lambda b: b.snapshot.update(policy={"replace": "ask", "approved": True}),
    }


@pytest.mark.parametrize("name", changes_of_no_meaning())
def test_what_decides_nothing_is_not_part_of_it(name: str) -> None:
    builder = healthy(3)
    before = state_of(builder.build())
    changes_of_no_meaning()[name](builder)
    assert difference(before, state_of(builder.build())) == []
    assert fingerprint(before) == fingerprint(state_of(builder.build()))


def _alarm(builder: Builder) -> None:
    builder.workload["etcd"]["alarms"] = [{"memberID": member_id("m2"), "alarm": "NOSPACE"}]


def _worker(builder: Builder) -> None:
    builder.workload.update(workerNodes=["w1"], workerVersions={"v1.19.1": 1})


CHANGES: dict[str, tuple[Callable[[Builder], Any], str, str, str]] = {
    "paused": (lambda b: b.snapshot["cluster"]["spec"].update(paused=True), "paused", "false", "true"),
    "deleting": (lambda b: b.deleting(), "deleting", "false", "true"),
    "machine deleting": (lambda b: b.deleting("m2"), "machines.m2.deleting", "false", "true"),
    "another machine": (lambda b: b.machine("m4"), "machines.m4", "not there", "there"),
    "member": (lambda b: b.sick_member("m2"), "machines.m2.member.healthy", "true", "false"),
    "no member": (lambda b: b.without_member("m2"), "machines.m2.member.state", "voter", "none"),
    "learner": (lambda b: b.member("m2", learner=True), "machines.m2.member.state", "voter", "learner"),
    "component": (
        lambda b: b.pod("m2", "kube-scheduler", phase="Failed"),
        "machines.m2.notHealthy.SchedulerPodHealthy",
        "not there",
        "False",
    ),
    "marks": (lambda b: b.marked("m2"), "machines.m2.marks", "none", "HealthCheckSucceeded, OwnerRemediated"),
    "annotation": (
        lambda b: b.annotate("cluster.x-k8s.io/delete-machine", "", "m2"),
        "machines.m2.marks",
        "none",
        "cluster.x-k8s.io/delete-machine",
    ),
    "version": (
        lambda b: b.entry("m2")["machine"]["spec"].update(version="v1.20.1"),
        "machines.m2.version",
        "v1.20.2",
        "v1.20.1",
    ),
    "outdated": (lambda b: outdate(b, "m2"), "machines.m2.outdated", "none", "KubeadmConfigDiffers"),
    "lists": (lambda b: b.workload["etcd"].update(memberListAgrees=False), "etcd.listsAgree", "true", "false"),
    "lists unknown": (
        lambda b: b.workload["etcd"].update(memberListAgrees=None),
        "etcd.listsAgree",
        "true",
        "not known",
    ),
    "alarm": (_alarm, "etcd.alarms", "none", "NOSPACE on m2"),
    "stray": (lambda b: b.member("gone"), "etcd.strayMembers", "none", "gone (voter, healthy)"),
    "unmanaged Node": (lambda b: b.node("foreign"), "unmanagedNodes", "none", "foreign"),
    "workers": (_worker, "workers.exist", "false", "true"),
    "endpoint": (lambda b: b.endpoint(False), "endpoint.answers", "true", "false"),
    "clocks": (lambda b: b.workload.update(clockSkewSeconds=45), "clocksApart", "false", "true"),
    "authority": (
        lambda b: b.snapshot["certificates"]["ca"].update(notAfter=at(5)),
        "certificates.ca",
        "present",
        "expired",
    ),
    "infrastructure": (
        lambda b: b.entry("m2")["infrastructureMachine"]["status"].update(state="dead"),
        "machines.m2.infrastructure",
        "ready",
        "gone",
    ),
    "rollout": (
        lambda b: upgrade(b).snapshot["controlPlane"]["status"].update(rollout={"replicas": 5}),
        "records.rollout.replicas",
        "not there",
        "5",
    ),
    "remediation": (
        lambda b: in_progress(b.marked("m2"), "m2"),
        "records.remediation.machine",
        "not there",
        "m2",
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_decisions_read_is_part_of_it_and_is_named(name: str) -> None:
    change, path, expected, observed = CHANGES[name]
    builder = healthy(3).endpoint(True)
    before = state_of(builder.build())
    change(builder)
    after = state_of(builder.build())
    assert fingerprint(before) != fingerprint(after)
    assert {"path": path, "expected": expected, "observed": observed} in difference(before, after)


def test_the_endpoint_that_a_user_vouches_for_counts_as_silent() -> None:
    """It can't be asked from here, and nothing is decided by that; predicted is that nothing answers there."""
    builder = cluster(3).endpoint(None)
    builder.snapshot["cluster"]["metadata"]["annotations"]["kubeadm.control-plane/endpoint-is-unused"] = "true"
    assert state_of(builder.build())["endpoint"]["answers"] is False
    assert state_of(cluster(3).endpoint(None).build())["endpoint"]["answers"] is None


def test_a_state_is_small_plain_json() -> None:
    state = state_of(healthy(5).build())
    assert json.loads(json.dumps(state)) == state
    assert len(json.dumps(state)) < 4000


def test_host_texts_are_cut() -> None:
    builder = healthy(3).node("n" * 100_000)
    state = state_of(builder.build())
    assert len(json.dumps(state)) < 4000
    assert all(len(each["observed"]) < 300 for each in difference(state_of(healthy(3).build()), state))


def test_the_hash_does_not_depend_on_the_order_of_keys() -> None:
    assert fingerprint({"a": 1, "b": [1, 2]}) == fingerprint({"b": [1, 2], "a": 1})
    assert fingerprint({"b": [1, 2]}) != fingerprint({"b": [2, 1]})


SPEC_CHANGES: dict[str, tuple[Callable[[Object], Any], str]] = {
    "replicas": (lambda s: s["controlPlane"]["spec"].update(replicas=5), "KubeadmControlPlane.spec.replicas"),
    "config": (
        lambda s: s["controlPlane"]["spec"]["kubeadmConfigSpec"].update(preKubeadmCommands=["true"]),
        "KubeadmControlPlane.spec.kubeadmConfigSpec",
    ),
    "template": (
        lambda s: s["machineTemplate"]["spec"]["template"]["spec"].update(cpu=2),
        "NspawnMachineTemplate.spec.template",
    ),
    "domains": (
        lambda s: s["infrastructureCluster"]["spec"].update(failureDomains=[{"name": "x"}]),
        "NspawnCluster.spec.failureDomains",
    ),
    "wish": (
        lambda s: s["controlPlane"]["metadata"]["annotations"].update({"kubeadm.control-plane/min-ready-seconds": "9"}),
        "KubeadmControlPlane.metadata.annotations.kubeadm.control-plane/min-ready-seconds",
    ),
    "paused": (lambda s: s["cluster"]["spec"].update(paused=True), "Cluster.spec.paused"),
}


@pytest.mark.parametrize("name", SPEC_CHANGES)
def test_every_wish_is_part_of_the_spec_hash(name: str) -> None:
    change, path = SPEC_CHANGES[name]
    snapshot = healthy(3).build()
    before = copy.deepcopy(snapshot)
    change(snapshot)
    assert spec_parts(snapshot) != spec_parts(before)
    parts, old = spec_parts(snapshot), spec_parts(before)
    assert [key for key in {**old, **parts} if old.get(key) != parts.get(key)] == [path]


def test_what_a_run_fills_in_is_not_part_of_the_spec_parts() -> None:
    builder = bare_domains(3)
    before = spec_parts(builder.build())
    for step in plan(builder.build(), names=new_names())[:-1]:
        carry_out(builder, step)
        assert spec_parts(builder.build()) == before
    builder.snapshot["controlPlane"]["metadata"].update(generation=9, resourceVersion="12")
    for note in (
        "controlplane.cluster.x-k8s.io/remediation-in-progress",
        "kubeadm.control-plane/etcd-restore",
        "kubeadm.control-plane/original-uid",
        "kubeadm.control-plane/changed-in-place",
        "kubeadm.control-plane/from-manifest",
    ):
        builder.snapshot["controlPlane"]["metadata"]["annotations"][note] = "{}"
        assert spec_parts(builder.build()) == before


def test_the_spec_parts_are_of_what_is_meant() -> None:
    """Not of null fields, of what stores write or of the order of keys; an empty list is not the same as none."""

    def parts(**spec: Any) -> Object:
        return spec_parts({"controlPlane": {"kind": "K", "metadata": {}, "spec": spec}})

    assert parts(x=1, y=None, z={"a": 1, "generation": 1}) == parts(z={"generation": 2, "a": 1}, x=1)
    assert parts(taints=[]) != parts()
    assert parts(z=[2, 1]) != parts(z=[1, 2])
    assert parts(x=1) != parts(x="1")
