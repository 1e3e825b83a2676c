# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Images that hosts lack and can't pull (peers.md fault 75): nothing is changed while too few hosts have them."""

from __future__ import annotations

import typing as t

import pytest
from builders import Builder, cluster, healthy

from ansible_collections.kubeadm.control_plane.plugins.module_utils.decision.decide import decide

IMAGE = {
    "check": "ImagePull",
    "message": "images are not there (k8s.gcr.io/etcd:3.4.13-0), and k8s.gcr.io can't be reached from here",
    "fix": "Load them.",
}
SWAP = {"check": "Swap", "message": "swap is on", "fix": "swapoff -a"}


def pool(builder: Builder, **hosts: list[dict[str, str]]) -> Builder:
    """What hosts lack."""
    builder.snapshot["hosts"] = [{"name": name, "missing": missing} for name, missing in hosts.items()]
    return builder


def result(decision: dict[str, t.Any]) -> str:
    """What the check says."""
    [found] = [each["result"] for each in decision["preflight"] if each["check"] == "ImagesAvailable"]
    return str(found)


def fresh(replicas: int) -> Builder:
    """A control plane of which there is nothing yet."""
    return cluster(replicas).endpoint(False)


@pytest.mark.parametrize("builder", [fresh(3), healthy(1, replicas=3)], ids=["init", "join"])
def test_too_few_hosts_with_their_images_stop_everything(builder: Builder) -> None:
    decision = decide(pool(builder, cp1=[], cp2=[IMAGE], cp3=[SWAP], cp4=[IMAGE, SWAP]).build())
    assert (decision["action"], result(decision)) == ("blocked", "fail")
    [reason] = [each for each in decision["blockedOn"] if each["reason"] == "ImagesMissing"]
    assert (
        "1 of the free ones has their images. cp2: images are not there (k8s.gcr.io/etcd:3.4.13-0)" in reason["message"]
    )
    assert "cp3" not in reason["message"] and "cp4" not in reason["message"], "other things keep them from being used"
    assert reason["fix"] == "Load them. Or take the host out of the pool. Nothing was changed."


@pytest.mark.parametrize(
    ("builder", "action"), [(fresh(1), "initialize"), (healthy(1, replicas=3), "join")], ids=["init", "join"]
)
def test_enough_hosts_have_them(builder: Builder, action: str) -> None:
    decision = decide(pool(builder, cp1=[IMAGE], cp2=[], cp3=[]).build())
    assert (decision["action"], result(decision)) == (action, "pass")


def test_where_no_host_was_looked_at_nothing_is_said_of_them() -> None:
    decision = decide(healthy(1, replicas=3).build())
    assert (decision["action"], result(decision)) == ("join", "skip")


def test_hosts_that_lack_something_else_are_the_claims_business() -> None:
    decision = decide(pool(healthy(1, replicas=3), cp1=[SWAP], cp2=[SWAP, IMAGE]).build())
    assert (decision["action"], result(decision)) == ("join", "pass")


@pytest.mark.parametrize(
    ("surge", "free", "action"), [(1, [], "join"), (1, [IMAGE], "blocked"), (0, [], "remove"), (0, [IMAGE], "blocked")]
)
def test_a_rollout_does_not_begin_without_a_host_for_its_first_machine(
    surge: int, free: list[dict[str, str]], action: str
) -> None:
    """Without surge nothing is taken away for a machine that can't be made."""
    builder = healthy(3).wants(version="v1.20.3")
    builder.spec["rollout"] = {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge}}}
    assert decide(pool(builder, cp9=free).build())["action"] == action


def test_the_removal_that_ends_a_replacement_is_not_held_back() -> None:
    builder = healthy(4, replicas=3).wants(version="v1.20.3")
    builder.entry("m4")["machine"]["spec"]["version"] = "v1.20.3"
    builder.snapshot["controlPlane"]["status"]["rollout"] = {"replicas": 3}
    assert decide(pool(builder, cp9=[IMAGE]).build())["action"] == "remove"
