# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a rotation of certificate authorities may ask for, and its plan."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.kubeadm.certificate_files import AUTHORITIES
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.advice import AUTHORITY_ENDED
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator import catalogue
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.planner_types import (
    ClusterFacts,
    NodeFacts,
    RefusedAction,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.rotate_certificate_authorities import (
    node_layout,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.rotate_certificate_authorities import (
    plan as rotate,
)

NODES = (*(NodeFacts(f"cp-{number}", True) for number in (1, 2, 3)), NodeFacts("worker-1", False))
FACTS = ClusterFacts("prod", "v1.20.2", NODES)


@pytest.mark.parametrize(
    ("spec", "path", "rule"),
    [
        ({"authorities": ["everything"]}, "x.authorities", "is none of the authorities"),
        ({"authorities": []}, "x.authorities", "must be a list of at least one"),
        ({"authorities": "ca"}, "x.authorities", "must be a list of at least one"),
        ({"authorities": ["ca", "ca"]}, "x.authorities", "names one twice"),
        ({"authority": ["ca"]}, "x.authority", "there is no such field"),
        ({"tokensTimeoutSeconds": 0}, "x.tokensTimeoutSeconds", "must be a whole number"),
        ({"tokensTimeoutSeconds": True}, "x.tokensTimeoutSeconds", "must be a whole number"),
        ({"restartWorkloads": "Some"}, "x.restartWorkloads", "must be one of None, Addons, All"),
        ({"acceptOutage": "no"}, "x.acceptOutage", "must be true or false"),
        ({"acceptOutage": 1}, "x.acceptOutage", "must be true or false"),
        ({"acceptOutage": None}, "x.acceptOutage", "must be true or false"),
    ],
)
def test_wrong_wishes(spec: dict[str, t.Any], path: str, rule: str) -> None:
    [error] = rotate.validate(spec, "x")
    assert error.path == path
    assert rule in error.rule
    assert error.fix


@pytest.mark.parametrize(
    "spec",
    [{}, {"authorities": ["etcd"], "tokensTimeoutSeconds": 60, "restartWorkloads": "All", "acceptOutage": True}],
)
def test_right_wishes(spec: dict[str, t.Any]) -> None:
    assert rotate.validate(spec, "x") == []


def test_each_stage_on_every_node_before_the_next() -> None:
    groups = rotate.plan({}, FACTS)
    assert [each.name for each in groups] == [
        "prepare",
        *(f"trust-{each}" for each in ("control-plane", "workers", "publish", "prove")),
        *(f"issue-{each}" for each in ("control-plane", "workers", "publish", "prove")),
        "renew-tokens",
        "restart-controller-managers",
        "replace-tokens",
        *(f"drop-{each}" for each in ("control-plane", "workers", "publish", "prove")),
        "finish",
    ]
    for group in groups:
        assert (group.policy, group.max_unavailable) == ("Serial", 1)
        if group.name.endswith("prove"):
            assert group.nodes == ("cp-1", "cp-2", "cp-3", "worker-1")


def test_workers_matter_to_the_cluster_ca_alone() -> None:
    groups = rotate.plan({"authorities": ["etcd", "frontProxy", "serviceAccount"]}, FACTS)
    assert {name for each in groups for name in each.nodes} == {"cp-1", "cp-2", "cp-3"}
    assert not [each for each in rotate.plan({"authorities": ["etcd"]}, FACTS) if "tokens" in each.name]


def test_every_command_is_one_that_there_is() -> None:
    for group in rotate.plan({"restartWorkloads": "All"}, FACTS):
        for descriptor in group.commands:
            assert catalogue.descriptor_errors(descriptor, "x") == []
        assert catalogue.describe(group.commands, FACTS.nodes[0])


def test_external_etcd_is_its_owners() -> None:
    external = dataclasses.replace(FACTS, external_etcd=True)
    [prepare, *_others] = rotate.plan({}, external)
    assert prepare.commands[1] == {
        "createCertificateAuthorities": {"authorities": ["ca", "frontProxy", "serviceAccount"]}
    }
    with pytest.raises(RefusedAction, match="its certificate authority is its owner's"):
        rotate.plan({"authorities": ["etcd"]}, external)


def beside(*nodes: NodeFacts, **more: t.Any) -> ClusterFacts:
    """The cluster with these Nodes, too."""
    return dataclasses.replace(FACTS, nodes=(*NODES, *nodes), **more)


ASLEEP, UNKNOWN = NodeFacts("worker-2", False, ready=False), NodeFacts("worker-3", False, reachable=False)
OFF = NodeFacts("worker-4", False, ready=False, machine="pool-1")
SILENT = NodeFacts("worker-5", False, reachable=False, machine="pool-2")


@pytest.mark.parametrize(
    ("facts", "rule"),
    [
        (dataclasses.replace(FACTS, nodes=NODES[3:]), "no control plane Node"),
        (dataclasses.replace(FACTS, api_answers=False), "no API server answers"),
        (beside(ASLEEP), r"not Ready \(found: 'worker-2'\)\. Bring them back\. .* kubectl delete node worker-2\."),
        (
            beside(OFF),
            r"'worker-4'\)\. Bring them back\. Where a worker .*: kubectl delete node worker-4\. Once the rotation is over, have .*=pool-1\)\.",
        ),
        (beside(NodeFacts("cp-4", True, ready=False)), r"not Ready \(found: 'cp-4'\)\. Bring them back\. Then begin"),
        (
            beside(NodeFacts("cp-4", True, ready=False, machine="prod-4")),
            r"Bring them back\. Where a machine is gone for good, have it replaced \(playbook remediate with .*=prod-4\)\. Then begin",
        ),
        (
            beside(UNKNOWN),
            "worker-3 can't be reached .the store has no Machine of it, and the inventory group prod_workers",
        ),
        (beside(SILENT, extra={"unreachable": {"worker-5": "no route"}}), r"worker-5 can't be reached \(no route\)"),
    ],
)
@pytest.mark.parametrize("authorities", [["ca"], ["serviceAccount"], list(AUTHORITIES)])
def test_refused_before_anything_is_begun(facts: ClusterFacts, rule: str, authorities: list[str]) -> None:
    """And nobody is told to delete the Node of a worker that is well, but whose inventory was not given.

    Of one that is gone the Node is deleted, with a Machine, too: amid a rotation that was given up no worker is removed by reconcile.
    """
    with pytest.raises(RefusedAction, match=rule) as refused:
        rotate.plan({"authorities": authorities}, facts)
    assert ("kubectl delete node" in str(refused.value)) is bool(
        {ASLEEP.name, OFF.name} & {each.name for each in facts.nodes}
    )


@pytest.mark.parametrize("authorities", [["etcd"], ["frontProxy"], ["etcd", "frontProxy"]])
def test_a_worker_that_has_nothing_of_it_holds_nothing_up(authorities: list[str]) -> None:
    facts = beside(ASLEEP, UNKNOWN, SILENT)
    assert rotate.plan({"authorities": authorities}, facts) == rotate.plan({"authorities": authorities}, FACTS)
    with pytest.raises(RefusedAction, match="cp-4"):
        rotate.plan({"authorities": authorities}, beside(NodeFacts("cp-4", True, ready=False)))


@pytest.mark.parametrize("answers", [True, False])
@pytest.mark.parametrize(("authority", "name"), [("ca", "ca"), ("etcd", "etcd-ca"), ("frontProxy", "front-proxy-ca")])
def test_an_authority_that_has_ended_is_not_rotated(authority: str, name: str, answers: bool) -> None:
    """No run of it could succeed. The remedy is not a renewal alone, which is refused for the same reason."""
    now = "2026-11-21T19:00:00Z"
    ended = {"cp-1/ca": "2027-01-01T00:00:00Z", "cp-1/apiserver": now, f"cp-2/{name}": now}
    facts = dataclasses.replace(FACTS, certificates=ended, extra={"now": now}, api_answers=answers)
    with pytest.raises(RefusedAction, match=f"the certificate authority {name} of cp-2 has ended") as refused:
        rotate.plan({"authorities": [authority]}, facts)
    assert refused.value.error.fix == AUTHORITY_ENDED
    if answers:
        assert rotate.plan({"authorities": ["serviceAccount"]}, facts)


@pytest.mark.parametrize("authorities", [["ca"], ["etcd"], ["frontProxy"], ["serviceAccount"], list(AUTHORITIES)])
def test_one_control_plane_node_asks_for_consent_to_its_outage(authorities: list[str]) -> None:
    """It has no other that answers while it restarts; with others, there is no outage and nothing to consent to."""
    single = dataclasses.replace(FACTS, nodes=(NODES[0], NODES[3]))
    for refused in ({}, {"acceptOutage": False}):
        with pytest.raises(RefusedAction, match="cp-1 is the only control plane Node") as said:
            rotate.plan({"authorities": authorities, **refused}, single)
        assert "acceptOutage: true" in str(said.value)
    assert rotate.plan({"authorities": authorities, "acceptOutage": True}, single)
    assert rotate.plan({"authorities": authorities}, FACTS)


def test_two_etcd_members_ask_for_it_where_they_restart() -> None:
    """Neither is a quorum without the other. Of two API servers one answers, and an external etcd is not restarted."""
    two = dataclasses.replace(FACTS, nodes=(*NODES[:2], NODES[3]))
    for authorities in ({}, {"authorities": ["ca", "etcd"]}):
        with pytest.raises(RefusedAction, match="cp-1 and cp-2 are the only control plane Nodes: of two etcd members"):
            rotate.plan(authorities, two)
        assert rotate.plan({**authorities, "acceptOutage": True}, two)
    assert rotate.plan({"authorities": ["ca", "frontProxy", "serviceAccount"]}, two)
    assert rotate.plan({}, dataclasses.replace(two, external_etcd=True))


def test_a_name_that_a_node_gave_is_clipped_where_it_is_refused() -> None:
    kubeconfig = {"counts": {"certificate-authority-data": 1}, "user_files": ["/" + "x" * 900_000]}
    problem = node_layout.kubeconfig_problem("/etc/kubernetes/kubelet.conf", kubeconfig)
    assert problem.endswith("…, which no rotation replaces") and len(problem) < 400
