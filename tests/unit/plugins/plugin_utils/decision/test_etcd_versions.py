# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Several versions of etcd: the upgrade that made them goes on, and nothing is scaled beside it.

The fault: docs/faults.md, "etcd of several versions after an interrupted upgrade".
"""

from __future__ import annotations

import pytest
from builders import Builder, healthy
from rules import check, etcd_version, external, in_progress, outdate

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decide import decide


def mixed(builder: Builder) -> Builder:
    """The first machine's etcd is one minor version older than the others'."""
    return etcd_version(etcd_version(builder, "3.5.9"), "3.4.23", "m1")


def brings(builder: Builder, tag: str) -> Builder:
    """New machines bring that etcd, or the one of their Kubernetes version."""
    if tag:
        builder.spec["kubeadmConfigSpec"] = {"clusterConfiguration": {"etcd": {"local": {"imageTag": tag}}}}
    return builder


@pytest.mark.parametrize(("count", "wanted"), [(3, 5), (5, 3)])
def test_nothing_is_scaled(count: int, wanted: int) -> None:
    decision = decide(brings(mixed(healthy(count, replicas=wanted)), "3.5.9-0").build())
    [why] = decision["blockedOn"]
    assert (decision["action"], why["reason"]) == ("blocked", "EtcdVersionsDiffer")
    assert "3.4 (m1) and 3.5 (m2, m3" in why["message"] and "have m1 replaced" in why["fix"]
    assert check(decision, "EtcdVersionsAgree") == "fail"


@pytest.mark.parametrize(("tag", "replaced"), [("", False), ("3.5.21-0", False), ("3.6.4-0", True)])
def test_no_machine_is_replaced_by_one_with_the_older_etcd(tag: str, replaced: bool) -> None:
    """One machine was upgraded by hand: what is made in place of the others would have their etcd again."""
    builder = etcd_version(etcd_version(healthy(3, replicas=5), "3.5.21"), "3.6.4", "m1")
    [why] = [
        each for each in decide(brings(builder, tag).build())["blockedOn"] if each["reason"] == "EtcdVersionsDiffer"
    ]
    assert ("remediate" in why["fix"]) == replaced
    assert ("set spec.version to the Kubernetes version of m1. Where it is that already" in why["fix"]) != replaced
    assert ("set this imageTag to the tag of the etcd image there" in why["fix"]) != replaced


@pytest.mark.parametrize(("count", "wanted", "action"), [(3, 5, "join"), (5, 3, "remove")])
def test_patch_levels_may_differ(count: int, wanted: int, action: str) -> None:
    builder = etcd_version(etcd_version(healthy(count, replicas=wanted), "3.5.9"), "3.5.10", "m2")
    decision = decide(builder.build())
    assert decision["action"] == action and check(decision, "EtcdVersionsAgree") == "pass"


def test_the_rollout_that_made_them_goes_on() -> None:
    builder = outdate(mixed(healthy(4, replicas=3)), "m1")
    builder.snapshot["controlPlane"]["status"]["rollout"] = {"replicas": 3}
    decision = decide(builder.build())
    assert (decision["action"], decision["target"]["machine"]) == ("remove", "m1")
    assert check(decision, "EtcdVersionsAgree") == "skip"


def test_a_machine_that_was_remediated_is_replaced() -> None:
    builder = in_progress(mixed(healthy(2, replicas=3)), "gone")
    assert decide(builder.build())["action"] == "join"


def test_nothing_to_scale_is_no_trouble() -> None:
    assert decide(mixed(healthy(3)).build())["action"] == "none"


@pytest.mark.parametrize("said", [None, "", "unknown", "3"])
def test_what_a_member_does_not_tell_is_no_other_version(said: object) -> None:
    builder = etcd_version(etcd_version(healthy(3, replicas=5), "3.5.9"), said, "m1")  # type: ignore[arg-type]
    assert decide(builder.build())["action"] == "join"


def test_an_external_etcd_is_not_judged() -> None:
    decision = decide(external(healthy(3, replicas=5)).build())
    assert decision["action"] == "join" and check(decision, "EtcdVersionsAgree") == "skip"
