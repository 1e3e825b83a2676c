# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Volumes of a drained Node: which are waited for, and how long."""

from __future__ import annotations

import pytest
from drained_node import ATTACHMENTS, CLAIM, CLAIMS, DAEMONS, NAME, NODES, OWN_VOLUME, Lab


@pytest.mark.parametrize("skip_drain", [False, True])
def test_volumes_of_an_unreachable_node_are_not_waited_for(lab: Lab, skip_drain: bool) -> None:
    """No kubelet unmounts them, and without an end of its machine its pods come back nowhere."""
    lab.volume("data")
    wanted = {"skip_drain": skip_drain}
    lab.drain(unreachable=False, **wanted)
    assert (
        lab.drain(unreachable=False, **wanted).volumes == lab.look(unreachable=False, **wanted).volumes == ("pv-data",)
    )
    condition = {"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown"}
    lab.workload.patch(f"{NODES}/{NAME}/status", {"status": {"conditions": [condition]}})
    assert lab.look(**wanted).volumes == ()
    report = lab.drain(**wanted)
    assert (report.state, report.volumes) == ("Drained", ()) and "its volumes are not waited for" in report.message


def test_attached_volumes_are_waited_for_within_their_own_bound(lab: Lab) -> None:
    lab.volume("data")
    lab.volume("other", attached=False)
    lab.drain(volumes_timeout=30)
    first = lab.drain(volumes_timeout=30)
    assert (first.state, first.volumes) == ("Running", ("pv-data",))
    assert "pv-data (still attached)" in first.message
    lab.seconds += 30
    assert lab.drain(volumes_timeout=30).state == "TimedOut"
    assert lab.drain(wait_for_volumes=False).state == "Drained"
    assert lab.drain(volumes_timeout=100, volumes_started_at=first.volumes_started_at).state == "Running"
    assert lab.drain(volumes_timeout=100, volumes_started_at="2026-01-15T08:00:00Z").state == "TimedOut"
    lab.workload.delete(f"{ATTACHMENTS}/data")
    assert lab.drain().state == "Drained"


def test_volumes_of_pods_that_stay_are_not_waited_for(lab: Lab) -> None:
    """They are as long attached as the Node is there: a DaemonSet's pod has one by a claim, one that is its own, and one that is not bound."""
    template = {"metadata": {"labels": {"app": "agent"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"selector": {"matchLabels": {"app": "agent"}}, "template": template}
    lab.workload.put(DAEMONS, {"metadata": {"name": "agent"}, "spec": spec})
    owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "agent", "uid": "u", "controller": True}
    lab.pod(
        "agent-1",
        metadata={"ownerReferences": [owner]},
        volumes=[
            {"name": "a", "persistentVolumeClaim": {"claimName": "shared"}},
            {"name": "b", **OWN_VOLUME},
            {"name": "c", "persistentVolumeClaim": {"claimName": "none"}},
            {"name": "d", "emptyDir": {}},
        ],
    )
    for claim, volume in (("shared", "pv-one"), ("agent-1-b", "pv-two"), ("web", "pv-three")):
        lab.workload.put(CLAIMS, {"metadata": {"name": claim}, "spec": {**CLAIM, "volumeName": volume}})
    for name in ("one", "two", "three"):
        lab.volume(name)
    lab.drain()
    assert lab.drain().volumes == lab.look().volumes == ("pv-three",)
    lab.workload.delete(f"{ATTACHMENTS}/three")
    assert lab.drain().state == "Drained"
    lab.workload.delete(f"{DAEMONS}/agent")
    for claim in ("shared", "agent-1-b", "web"):
        lab.workload.delete(f"{CLAIMS}/{claim}")
