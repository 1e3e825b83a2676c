# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan of a renewal of certificates, with and without an API that answers."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.advice import AUTHORITY_ENDED
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator import catalogue
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.planner_types import (
    ClusterFacts,
    GroupPlan,
    NodeFacts,
    RefusedAction,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.renew_certificates.plan import (
    plan,
    validate,
)

NOW, BEFORE, LATER = "2026-11-21T19:00:00Z", "2026-11-21T18:59:59Z", "2027-11-21T19:00:00Z"
NODES = tuple(NodeFacts(name, True) for name in ("cp-a", "cp-b", "cp-c"))
NAMES = ("cp-a", "cp-b", "cp-c")


def cluster(*workers: NodeFacts, **facts: t.Any) -> ClusterFacts:
    """Three control plane Nodes and these workers."""
    return ClusterFacts("prod", facts.pop("version", "v1.20.2"), (*NODES, *workers), **{"extra": {"now": NOW}, **facts})


def verbs(group: GroupPlan) -> list[str]:
    """The commands of a group, with what they restart."""
    return [
        f"{name} {parameters['component']}" if "component" in parameters else name
        for each in group.commands
        for name, parameters in each.items()
    ]


def shape(groups: t.Sequence[GroupPlan]) -> list[tuple[str, tuple[str, ...]]]:
    """Names and Nodes of the groups."""
    return [(each.name, each.nodes) for each in groups]


def test_files_first_then_one_component_at_a_time() -> None:
    """All certificates on every control plane Node; then each component restarted, with a gate after it; the kubeconfig last."""
    groups = plan({}, cluster(NodeFacts("w", False)))
    assert shape(groups) == [("renew-cp", NAMES), ("restart-cp", NAMES), ("renew-kubeconfig", ("cp-a",))]
    assert groups[0].commands == (
        {"kubeadmRenewCertificates": {"names": ["all"]}},
        {"renewKubeletClientCertificate": {}},
    )
    assert verbs(groups[1]) == [
        step
        for component in ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
        for step in (f"restartComponent {component}", "waitHealthy")
    ] + ["recordMachine"]
    assert all(group.policy == "Serial" for group in groups)


def test_without_an_api() -> None:
    """etcd on every Node before anything waits for it: no single member has a quorum. At the end it must all be well."""
    groups = plan({}, cluster(api_answers=False))
    assert shape(groups) == [
        ("renew-cp", NAMES),
        ("restart-etcd", NAMES),
        ("restart-cp", NAMES),
        ("verify-cp", NAMES),
        ("renew-kubeconfig", ("cp-a",)),
    ]
    assert groups[0].commands[0] == {"kubeadmRenewCertificates": {"names": ["all"], "offline": True}}
    assert verbs(groups[1]) == ["restartComponent etcd"]
    assert verbs(groups[3]) == ["waitHealthy", "recordMachine"]
    assert all(
        parameters["offline"] for group in groups[1:3] for each in group.commands for parameters in each.values()
    )


@pytest.mark.parametrize("answers", [True, False])
def test_every_command_is_one_that_the_catalogue_knows(answers: bool) -> None:
    """Whatever a plan asks for can be run."""
    facts = cluster(NodeFacts("w", False), api_answers=answers)
    for group in plan({"workers": "Always"}, facts):
        for each in group.commands:
            assert catalogue.descriptor_errors(each, group.name) == []
            assert catalogue.describe([each], NODES[0])


def test_an_external_etcd() -> None:
    """Its certificates are not kubeadm's, and nothing of it is restarted."""
    groups = plan({}, cluster(external_etcd=True))
    assert "restartComponent etcd" not in verbs(groups[1])
    assert [each.name for each in plan({}, cluster(external_etcd=True, api_answers=False))][1] == "restart-cp"
    with pytest.raises(RefusedAction, match="external etcd"):
        plan({"names": ["etcd-peer"]}, cluster(external_etcd=True))


@pytest.mark.parametrize(
    ("names", "groups", "restarted"),
    [
        (["apiserver"], ["renew-cp", "restart-cp"], ["kube-apiserver"]),
        (["etcd-peer", "scheduler.conf"], ["renew-cp", "restart-cp"], ["etcd", "kube-scheduler"]),
        (["admin.conf"], ["renew-cp", "renew-kubeconfig"], []),
        (["kubelet.conf"], ["renew-cp"], []),
    ],
)
def test_some_certificates(names: list[str], groups: list[str], restarted: list[str]) -> None:
    """Only what reads them is restarted."""
    found = plan({"names": names}, cluster())
    assert [each.name for each in found] == groups
    steps = [step for group in found for step in verbs(group) if step.startswith("restart")]
    assert steps == [f"restartComponent {each}" for each in restarted]


def test_nodes_with_expired_certificates_come_first() -> None:
    """They are down already; the others still hold the quorum."""
    ends = {"cp-a/apiserver": LATER, "cp-b/etcd-peer": BEFORE, "cp-c/apiserver": LATER}
    assert plan({}, cluster(certificates=ends))[1].nodes == ("cp-b", "cp-a", "cp-c")


@pytest.mark.parametrize(
    ("which", "chosen"), [(None, ("w-1",)), ("Expired", ("w-1",)), ("Always", ("w-1", "w-2")), ("Never", ())]
)
def test_workers(which: str | None, chosen: tuple[str, ...]) -> None:
    """A worker's kubelet whose certificate has expired is bootstrapped anew, after the API answers."""
    workers = (NodeFacts("w-1", False), NodeFacts("w-2", False))
    ends = {"w-1/kubelet.conf": BEFORE, "w-2/kubelet.conf": LATER}
    groups = plan({"workers": which} if which else {}, cluster(*workers, certificates=ends))
    found = [each for each in groups if each.name == "bootstrap-w"]
    assert tuple(name for each in found for name in each.nodes) == chosen
    assert not found or verbs(found[0]) == ["bootstrapKubeletAgain", "waitHealthy"]


SOON = "2026-12-01T19:00:00Z"
FRESH = {
    f"{node}/{name}": LATER for node in NAMES for name in ("apiserver", "etcd-peer", "scheduler.conf", "kubelet.conf")
}


@pytest.mark.parametrize(
    ("spec", "ends", "nodes"),
    [
        ({"withinDays": 30}, {}, ()),
        ({"withinDays": 10}, {"cp-b/apiserver": SOON}, ("cp-b",)),
        ({"withinDays": 9}, {"cp-b/apiserver": SOON}, ()),
        ({"withinDays": 30}, {"cp-a/apiserver": SOON, "cp-c/etcd-peer": BEFORE}, ("cp-c", "cp-a")),
        # What wasn't asked for is no reason.
        ({"withinDays": 30, "names": ["scheduler.conf"]}, {"cp-a/apiserver": SOON}, ()),
        # A kubelet renews its own certificate in time; one that has ended, or is named, counts.
        ({"withinDays": 30}, {"cp-a/kubelet.conf": SOON}, ()),
        ({"withinDays": 30}, {"cp-a/kubelet.conf": BEFORE}, ("cp-a",)),
        ({"withinDays": 30, "names": ["kubelet.conf"]}, {"cp-a/kubelet.conf": SOON}, ("cp-a",)),
        # An authority is none of what this renews.
        ({"withinDays": 30}, {"cp-a/ca": SOON}, ()),
        # Where nobody knows what a Node has, it is renewed.
        (
            {"withinDays": 30},
            {"cp-b/apiserver": "", "cp-b/etcd-peer": "", "cp-b/scheduler.conf": "", "cp-b/kubelet.conf": ""},
            ("cp-b",),
        ),
        ({"withinDays": 10**9}, {}, NAMES),
        ({}, {}, NAMES),
    ],
)
@pytest.mark.parametrize("answers", [True, False])
def test_a_threshold_leaves_nodes_alone_whose_certificates_last(
    spec: dict[str, t.Any], ends: dict[str, str], nodes: tuple[str, ...], answers: bool
) -> None:
    """Nothing is renewed or restarted on a Node none of whose certificates ends within these days, so that a schedule is cheap."""
    groups = plan(spec, cluster(certificates={**FRESH, **ends}, api_answers=answers))
    assert {each.nodes for each in groups if each.name != "renew-kubeconfig"} == ({nodes} if nodes else set())
    assert bool(groups) == bool(nodes)


def test_a_threshold_for_workers() -> None:
    """An ended certificate always counts; with Always, one that ends within these days."""
    workers = tuple(NodeFacts(f"w-{number}", False) for number in (1, 2, 3))
    ends = {**FRESH, "w-1/kubelet.conf": BEFORE, "w-2/kubelet.conf": SOON, "w-3/kubelet.conf": LATER}
    facts = cluster(*workers, certificates=ends)
    assert shape(plan({"withinDays": 30}, facts)) == [("bootstrap-w", ("w-1",))]
    assert shape(plan({"withinDays": 30, "workers": "Always"}, facts)) == [("bootstrap-w", ("w-1", "w-2"))]


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({"withinDays": 0}, "spec.renewCertificates.withinDays"),
        ({"withinDays": "30"}, "spec.renewCertificates.withinDays"),
        ({"names": ["apiserver", "ca"]}, "spec.renewCertificates.names"),
        ({"names": []}, "spec.renewCertificates.names"),
        ({"names": "all"}, "spec.renewCertificates.names"),
        ({"workers": "Some"}, "spec.renewCertificates.workers"),
        ({"commands": ["all"]}, "spec.renewCertificates.commands"),
    ],
)
def test_what_is_wrong_with_a_spec(spec: dict[str, t.Any], path: str) -> None:
    """Each mistake with its field's path; a CA is never renewed this way."""
    assert [each.path for each in validate(spec, "spec.renewCertificates")] == [path]


def test_refused() -> None:
    """No control plane, and a file that this version doesn't have."""
    with pytest.raises(RefusedAction, match="no control plane Node"):
        plan({}, ClusterFacts("prod", "v1.20.2", (NodeFacts("w", False),)))
    with pytest.raises(RefusedAction, match="makes no super-admin"):
        plan({"names": ["super-admin.conf"]}, cluster())
    with pytest.raises(RefusedAction, match="the certificate authority etcd-ca of cp-b has ended") as refused:
        plan({}, cluster(certificates={"cp-a/ca": LATER, "cp-b/etcd-ca": BEFORE}))
    assert refused.value.error.fix == AUTHORITY_ENDED, "a rotation would be refused, too"
    assert plan({"names": ["super-admin.conf"]}, cluster(version="v1.30.0"))[0].name == "renew-cp"
