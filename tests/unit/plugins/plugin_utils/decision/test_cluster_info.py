# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What joining machines are told where the API is: corrected before a join, and foreseen as corrected after it.

The fault: docs/faults.md, "`cluster-info` names a machine that is gone".
"""

from __future__ import annotations

import json
import typing as t

import pytest
from builders import NOW, Builder, healthy

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decide import decide
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.plan.document import make_plan
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.observe.parse import parse

RIGHT, WRONG = "https://10.0.0.100:6443", "https://10.9.9.9:6443"


def naming(builder: Builder, server: str) -> Builder:
    """Cluster-info names this server."""
    builder.workload["addons"] = {**builder.workload.get("addons", {}), "bootstrap": {"clusterInfoServer": server}}
    return builder


def needs(decision: dict[str, t.Any]) -> list[str]:
    """What the cluster must have before the step."""
    return [each["name"] for each in decision["prerequisites"]]


@pytest.mark.parametrize(("server", "needed"), [(WRONG, ["clusterInfo"]), (RIGHT, []), ("", [])])
def test_a_join_needs_it_right(server: str, needed: list[str]) -> None:
    decision = decide(naming(healthy(1, replicas=3), server).build())
    assert (decision["action"], needs(decision)) == ("join", needed)
    if needed:
        assert RIGHT in decision["prerequisites"][0]["message"] and WRONG in decision["prerequisites"][0]["message"]


def test_only_the_first_of_several_joins_does() -> None:
    steps = make_plan(naming(healthy(1, replicas=3), WRONG).build(), NOW)["steps"]
    assert [(each["action"], needs(each)) for each in steps] == [("join", ["clusterInfo"]), ("join", [])]


def test_a_removal_corrects_it_by_itself() -> None:
    builder = naming(healthy(3), WRONG).annotate("cluster.x-k8s.io/remediate-machine", "", "m2")
    steps = make_plan(builder.build(), NOW)["steps"]
    assert [(each["action"], needs(each)) for each in steps] == [("remove", []), ("join", [])]


def test_another_version_needs_it_beside_the_rest() -> None:
    builder = naming(healthy(3), WRONG).wants(version="v1.21.1")
    assert needs(decide(builder.build())) == [
        "clusterInfo",
        "kubeletClientBinding",
        "kubeadmConfig",
        "kubeletConfigMap",
    ]


@pytest.mark.parametrize(
    ("own", "server"),
    [
        ("lb.example.com", "https://lb.example.com:6443"),
        ("lb.example.com:8443", "https://lb.example.com:8443"),
        ("[fd00::1]:6443", "https://[fd00::1]:6443"),
    ],
)
def test_the_users_own_endpoint_is_the_right_one(own: str, server: str) -> None:
    builder = healthy(1, replicas=3)
    builder.spec["kubeadmConfigSpec"]["clusterConfiguration"]["controlPlaneEndpoint"] = own
    for entry in builder.snapshot["machines"]:
        entry["kubeadmConfig"]["spec"]["clusterConfiguration"]["controlPlaneEndpoint"] = own
    assert needs(decide(naming(builder, server).build())) == []
    assert needs(decide(naming(builder, RIGHT).build())) == ["clusterInfo"]


@pytest.mark.parametrize(
    ("text", "server"),
    [
        (json.dumps({"clusters": [{"name": "", "cluster": {"server": RIGHT}}]}), RIGHT),
        (json.dumps({"clusters": []}), ""),
        (json.dumps({"clusters": [{"cluster": {"server": ["x"]}}]}), ""),
        ("{", ""),
        ("", ""),
    ],
)
def test_it_is_read_from_what_the_machine_hands_over(text: str, server: str) -> None:
    objects = {"bootstrap": {"clusterInfo": True, "kubeconfig": text}}
    found = parse({"api": {"answers": True}, "objects": objects}, "m1")
    assert found["addons"]["bootstrap"]["clusterInfoServer"] == server
