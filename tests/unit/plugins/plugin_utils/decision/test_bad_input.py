# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What check_snapshot lets through never makes a decision fail, however odd: it is refused by path, or decided."""

from __future__ import annotations

import json
from typing import Any

import pytest
from builders import healthy, member_id
from decisions import Change, changed
from hypothesis import given, settings
from hypothesis import strategies as st
from random_snapshots import snapshots, with_an_odd_field
from rules import dead, upgrade, witness

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decide import decide
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decision_text import describe
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.plan.steps import plan
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.snapshot.typed_snapshot import (
    check_snapshot,
)

ODDITIES: list[tuple[str, Change]] = [
    ("version", lambda b: b.wants(version="latest")),
    ("version, beside outdated machines", lambda b: upgrade(b, "newest").wants(replicas=5)),
    ("no version", lambda b: b.spec.pop("version")),
    ("replicas as text", lambda b: b.wants(replicas="3")),
    ("replicas as truth", lambda b: b.wants(replicas=True)),
    ("replicas as a fraction", lambda b: b.wants(replicas=2.5)),
    ("replicas beyond all measure", lambda b: b.wants(replicas=10**12 + 1)),
    ("strategy", lambda b: upgrade(b).wants(rollout={"strategy": None})),
    ("maxSurge", lambda b: upgrade(b).wants(rollout={"strategy": {"rollingUpdate": {"maxSurge": "25%"}}})),
    ("rollout after", lambda b: b.wants(rollout={"after": "tomorrow"})),
    ("days", lambda b: b.wants(rollout={"before": {"certificatesExpiryDays": "soon"}})),
    ("remediation", lambda b: b.marked("m2").wants(remediation={"maxRetry": "many", "retryPeriodSeconds": None})),
    ("no machine template", lambda b: b.spec.pop("machineTemplate")),
    ("no config", lambda b: b.spec.pop("kubeadmConfigSpec")),
    ("machine version", lambda b: b.entry("m2")["machine"]["spec"].update(version="newest")),
    ("expiry", lambda b: b.annotate("machine.cluster.x-k8s.io/certificates-expiry", "never", "m2")),
    ("an alarm of nobody", lambda b: b.workload["etcd"]["alarms"].append({"memberID": "ff", "alarm": "NOSPACE"})),
    ("a status without health", lambda b: b.workload["etcd"]["statuses"].update({member_id("m2"): {}})),
    ("rollout record", lambda b: b.snapshot["controlPlane"]["status"].update(rollout={"replicas": "x"})),
    ("rollout record that is a list", lambda b: upgrade(b).snapshot["controlPlane"]["status"].update(rollout=["x"])),
    ("failure domains", lambda b: b.snapshot["infrastructureCluster"]["status"].update(failureDomains=["a", "b"])),
    ("failure domains of the cluster", lambda b: b.snapshot["cluster"]["status"].update(failureDomains=[{}, "b"])),
    (
        "a failure domain without a name",
        lambda b: b.snapshot["infrastructureCluster"]["status"].update(failureDomains=[{"controlPlane": True}]),
    ),
    ("etcd version", lambda b: witness(dead(b, "m2"), "m3")),
]


@pytest.mark.parametrize(("what", "change"), ODDITIES, ids=[case[0] for case in ODDITIES])
def test_oddities(what: str, change: Change) -> None:
    snapshot = changed(healthy(3), change).build()
    if check_snapshot(snapshot):
        return
    for step in plan(snapshot, limit=12):
        json.dumps(step)
        assert describe(step)


@settings(max_examples=250)
@given(snapshots(), st.data())
def test_one_odd_field(snapshot: dict[str, Any], data: st.DataObject) -> None:
    with_an_odd_field(data.draw, snapshot)
    if check_snapshot(snapshot) == []:
        assert describe(decide(snapshot))
